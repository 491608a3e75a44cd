// A node in front of another one that does not have all of its methods.
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { post } from "../../support/ask.ts";
import { textOf } from "../../support/request-text.ts";
import { missing, type NodeCall } from "../../support/scripted-node.ts";

export type LackingNode = {
  readonly url: string;
  /** What was asked of it and passed on. */
  readonly asked: ReadonlySet<string>;
  close(): Promise<void>;
};

export async function startLackingNode(url: string, lacks: RegExp): Promise<LackingNode> {
  const asked = new Set<string>();
  const server = createServer(async (request, response) => {
    const body = await textOf(request);
    const call = JSON.parse(body) as NodeCall;
    const isMissing = lacks.test(String(call.method));
    if (!isMissing) asked.add(whatOf(call));
    const answer = isMissing ? missing(call) : post(url, body).then((one) => one.text());
    const text = await Promise.resolve(answer).catch(() => undefined);
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

/** "debug_traceTransaction callTracer", where a tracer is named. */
function whatOf({ method, params }: NodeCall): string {
  const { tracer } = Object(params[1]) as { tracer?: unknown };
  return [method, tracer].filter(Boolean).join(" ");
}
