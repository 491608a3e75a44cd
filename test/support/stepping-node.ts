// A node with one transaction of any number of steps, in geth's format: for measurements and limits.
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { textOf } from "./request-text.ts";

export type SteppingNode = {
  readonly url: string;
  readonly transaction: string;
  /** The size of the steps' JSON so far. */
  readonly sentBytes: number;
  close(): Promise<void>;
};

const TRANSACTION = `0x${"ab".repeat(32)}`;
const BLOCK = `0x${"cd".repeat(32)}`;
const SENDER = `0x${"22".repeat(20)}`;
const CONTRACT = `0x${"11".repeat(20)}`;
const CODE = "0x600150600056"; // PUSH1 1, POP, PUSH1 0, JUMP: an endless loop

const transaction = {
  ...{ hash: TRANSACTION, blockHash: BLOCK, blockNumber: "0x1", transactionIndex: "0x0" },
  ...{ from: SENDER, to: CONTRACT, input: "0x", value: "0x0", gas: "0x7fffffff" },
};
const frame = {
  ...{ type: "CALL", from: SENDER, to: CONTRACT, value: "0x0", input: "0x", output: "0x" },
  ...{ gas: "0x7fffffff", gasUsed: "0x5300" },
};
const answers: Readonly<Record<string, unknown>> = {
  eth_chainId: "0x1",
  eth_getTransactionByHash: transaction,
  eth_getBlockByHash: { hash: BLOCK, number: "0x1", withdrawalsRoot: BLOCK },
};
const tracers: Readonly<Record<string, unknown>> = {
  callTracer: frame,
  prestateTracer: { [CONTRACT]: { balance: "0x0", code: CODE } },
};

/** @param steps Four of them are one round of a loop; each has eight words of stack, and memory. */
export async function startSteppingNode(steps: number, memoryWords = 12): Promise<SteppingNode> {
  let sentBytes = 0;
  const server = createServer(async (request, response) => {
    const { id, method, params } = JSON.parse(await textOf(request)) as Call;
    const say = (member: string): unknown =>
      response.end(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${member}}`);
    const tracer = (params[1] as { tracer?: string } | undefined)?.tracer;
    const told = method === "debug_traceTransaction" && tracer ? tracers[tracer] : answers[method];
    if (told) return say(`"result":${JSON.stringify(told)}`);
    if (method !== "debug_traceTransaction" || tracer)
      return say('"error":{"code":-32601,"message":"the method does not exist"}');
    response.write(`{"jsonrpc":"2.0","id":${id},"result":{"failed":false,"structLogs":[`);
    for (const text of stepsJson(steps, memoryWords)) {
      sentBytes += text.length;
      if (!(await written(response, text))) return undefined;
    }
    return response.end("]}}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    transaction: TRANSACTION,
    get sentBytes() {
      return sentBytes;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

type Call = { readonly id: unknown; readonly method: string; readonly params: readonly unknown[] };

const ROUND = [
  { pc: 0, op: "PUSH1", gasCost: 3, pushed: [] },
  { pc: 2, op: "POP", gasCost: 2, pushed: ["0x1"] },
  { pc: 3, op: "PUSH1", gasCost: 3, pushed: [] },
  { pc: 5, op: "JUMP", gasCost: 8, pushed: ["0x0"] },
];
const STACK = Array.from({ length: 8 }, (_, index) => `0x${(index * 99_991).toString(16)}`);
const AT_ONCE = 64;

/** The elements of structLogs, several at a time. */
function* stepsJson(steps: number, memoryWords: number): Generator<string> {
  const memory = Array.from({ length: memoryWords }, (_, index) =>
    (index * 7919).toString(16).padStart(64, "0"),
  );
  const rounds = ROUND.map(({ pushed, ...step }) => {
    const { pc, op, gasCost } = step;
    const state = JSON.stringify({ stack: [...STACK, ...pushed], memory }).slice(1);
    return {
      gasCost,
      before: `{"pc":${pc},"op":"${op}","gas":`,
      behind: `,"gasCost":${gasCost},"depth":1,${state}`,
    };
  });
  let gas = 2_000_000_000;
  let text = "";
  for (let index = 0; index < steps; index += 1) {
    const { gasCost, before, behind } = rounds[index % rounds.length] as (typeof rounds)[number];
    text += `${index > 0 ? "," : ""}${before}${gas}${behind}`;
    gas -= gasCost;
    if (index % AT_ONCE > 0) continue;
    yield text;
    text = "";
  }
  yield text;
}

/** false when the connection is closed. */
async function written(response: ServerResponse, text: string): Promise<boolean> {
  if (response.destroyed) return false;
  if (response.write(text)) return true;
  const left = new AbortController();
  const ended = once(response, "close", { signal: left.signal }).catch(() => undefined);
  await Promise.race([
    once(response, "drain", { signal: left.signal }).catch(() => undefined),
    ended,
  ]);
  left.abort();
  return !response.destroyed;
}
