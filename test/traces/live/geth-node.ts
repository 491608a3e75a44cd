// A node that has the chain of an anvil, and of tracers what geth has: it tells in geth's words what
// ethereumjs saw. Tracers in JavaScript, the prestate and steps are anvil's own.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createTxFromRLP } from "@ethereumjs/tx";
import { hexToBytes } from "@ethereumjs/util";
import { post } from "../../support/ask.ts";
import { textOf } from "../../support/request-text.ts";
import { failure, missing, type NodeCall, result } from "../../support/scripted-node.ts";
import { callFrame } from "../goldens/call-frame.ts";
import type { Json } from "../goldens/golden.ts";
import { common } from "./chain.ts";
import { type FlatConfig, flatOf } from "./geth-flat.ts";
import type { Watched, WatchedChain } from "./watched-chain.ts";

export type GethNode = {
  readonly url: string;
  /** "debug_traceTransaction callTracer", each time. */
  readonly asked: readonly string[];
  close(): Promise<void>;
};

type Tracing = { readonly tracer?: string; readonly tracerConfig?: FlatConfig };

/** @param lacks The tracers that it does not have; "js" stands for all in JavaScript. */
export async function startGethNode(
  chain: WatchedChain,
  lacks: readonly string[] = [],
): Promise<GethNode> {
  const asked: string[] = [];
  const answer = (call: NodeCall, body: string): string | Promise<string> => {
    const { tracer = "steps", tracerConfig } = Object(call.params[1]) as Tracing;
    const name = tracer.startsWith("{") ? "js" : tracer;
    if (call.method.startsWith("trace_")) return missing(call);
    if (!call.method.startsWith("debug_")) return post(chain.url, body).then((one) => one.text());
    asked.push(`${call.method} ${name}`);
    if (lacks.includes(name)) return failure(call, '{"code":-32000,"message":"tracer not found"}');
    const told = toldOf(chain, call, { tracer, ...(tracerConfig && { tracerConfig }) });
    if (told === undefined) return post(chain.url, body).then((one) => one.text());
    return result(call, JSON.stringify(told));
  };
  const server = createServer(async (request, response) => {
    const body = await textOf(request);
    const text = await Promise.resolve(answer(JSON.parse(body) as NodeCall, body)).catch(
      () => undefined,
    );
    if (text === undefined) request.destroy();
    else response.writeHead(200, { "content-type": "application/json" }).end(text);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** undefined of what anvil is to tell. */
function toldOf({ byName }: WatchedChain, call: NodeCall, tracing: Tracing): unknown {
  const [subject] = call.params;
  const all = [...byName.values()];
  if (call.method === "debug_traceTransaction") {
    const watched = all.find(({ hash }) => hash === subject);
    return watched && treeOf(watched, tracing);
  }
  // Each of them is alone in its block.
  const watched = all.find(({ block }) => block["hash"] === subject);
  const told = watched && treeOf(watched, tracing);
  return told && [{ txHash: watched.hash, result: told }];
}

function treeOf({ truth, raw, receipt }: Watched, { tracer, tracerConfig }: Tracing): unknown {
  const transaction = createTxFromRLP(hexToBytes(raw), { common });
  const frame: Json = callFrame({ top: truth.top, transaction, gasUsed: BigInt(receipt.gasUsed) });
  if (tracer === "callTracer") return frame;
  return tracer === "flatCallTracer" ? flatOf(frame, tracerConfig) : undefined;
}
