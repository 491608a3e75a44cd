// `npm run bench:budget`: the cost of each step of a stored receipt and of a forwarded call, in microseconds of
// processor time, beside its budget, their sum, and the cost of the whole call. Each step is the gateway's own code.
import { EventEmitter } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Call } from "../src/calls/call.ts";
import { type Caller, RequestScope } from "../src/calls/caller.ts";
import { BodyAnswerer } from "../src/calls/life-of-a-call.ts";
import type { RpcResponse } from "../src/calls/response.ts";
import type { CallMessage } from "../src/jsonrpc/plain-call.ts";
import { readRequest } from "../src/jsonrpc/request.ts";
import { systemClock as clock } from "../src/lib/clock.ts";
import { checkParams, type Method } from "../src/methods/method.ts";
import { paidBody } from "../src/server/body.ts";
import { Decompression } from "../src/server/decompression.ts";
import { routeOf } from "../src/server/endpoint.ts";
import { respond } from "../src/server/respond.ts";
import { type Candidate, rank } from "../src/upstream/asking/node-order.ts";
import { HttpConnection } from "../src/upstream/connection/http-connection.ts";
import { readReply, requestJson } from "../src/upstream/reply.ts";
import { ask } from "../test/support/ask.ts";
import { startGatewayProcess } from "../test/support/gateway-process.ts";
import { until } from "../test/support/processes.ts";
import { openParts } from "./call-parts.ts";
import { casesFor } from "./cases.ts";
import { BUSY_BLOCKS, QUIET_BLOCKS } from "./chains.ts";
import { measure, startLoad, startServer, stopAll, type Target } from "./measure.ts";

const KEY = "bench-key";
const folder = mkdtempSync(join(tmpdir(), "headgate-budget-"));
process.on("exit", () => {
  stopAll();
  rmSync(folder, { recursive: true, force: true });
});

/** The cost of one warm step, in microseconds, over many runs: Linux counts a thread's time in ticks of milliseconds. */
async function micros(step: () => unknown, times = 400_000): Promise<number> {
  const repeat = async (): Promise<void> => {
    for (let at = 0; at < times; at += 1) {
      const done = step();
      if (done instanceof Promise) await done;
    }
  };
  await repeat();
  const before = process.threadCpuUsage();
  await repeat();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / times;
}

type Step = { readonly name: string; readonly budget: number; readonly micros: number };

const print = (line: string): void => void process.stdout.write(`${line}\n`);

function printBudget(title: string, steps: readonly Step[], whole: number): void {
  print(`\n| ${title} | µs | budget |\n|---|---:|---:|`);
  const row = (name: string, cost: number, budget: number | string): void =>
    print(`| ${name} | ${cost.toFixed(2)} | ${budget} |`);
  for (const { name, micros: cost, budget } of steps) row(name, cost, budget);
  const sumOf = (what: "micros" | "budget"): number =>
    steps.reduce((sum, step) => sum + step[what], 0);
  row("sum", sumOf("micros"), sumOf("budget"));
  row("the whole, measured from outside", whole, "");
}

const parts = await openParts({ folder, key: KEY });
const { grant, memory, turns, network, metrics, costs, log } = parts;
const newScope = (): RequestScope =>
  new RequestScope({ deadlineMs: 1_000 }, { clock, memory, turns });
const callerOf = (scope: RequestScope): Caller => ({
  ...{ network, grant, requestId: "1", scope },
  client: () => undefined,
});
const callOf = (method: string, params: readonly unknown[]): Buffer =>
  Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
const answerer = new BodyAnswerer(
  { batch: 100, batchResponseBytes: 2 ** 25 },
  { clock, metrics, costs, memory, log, turns },
);
const answerNow = (body: Buffer): RpcResponse => {
  const answer = answerer.answer(body, callerOf(newScope()));
  if (answer instanceof Promise) throw new Error("it waits");
  return answer;
};

/** A request as node:http emits it: its headers, then the bytes in one piece. */
class IncomingBytes extends EventEmitter {
  readonly headers: Readonly<Record<string, string>>;
  constructor(body: Buffer) {
    super();
    this.headers = { "content-length": String(body.length), "content-type": "application/json" };
  }
}

async function readBody(body: Buffer): Promise<void> {
  const request = new IncomingBytes(body);
  const incoming = { request: request as unknown as IncomingMessage, scope: newScope() };
  const options = { bytes: 2 ** 22, holder: grant.meter.memory, grant, network: "busy" };
  const read = paidBody(incoming, options, { memory, clock, decompression: new Decompression() });
  request.emit("data", body);
  request.emit("end");
  request.emit("close");
  await read;
  incoming.scope.end(true);
}

/** Uses results, so that V8 removes no code whose result is not used. */
let takenSoFar = 0;
function taken(length: number): ServerResponse {
  takenSoFar += length;
  return nowhere;
}

/** A response that drops its bytes: the step of the server contains the cost of the system. */
const nowhere = {
  writeHead: (_status: number, headers: readonly string[]) => taken(headers.length),
  end: (text: string) => taken(text.length),
  cork: () => undefined,
  write: () => true,
} as unknown as ServerResponse;

/** The steps that every call passes, whatever its method. */
async function commonSteps(body: Buffer, answer: RpcResponse): Promise<readonly Step[]> {
  const { message } = readRequest(body, 100) as { readonly message: CallMessage };
  const options = {
    requestId: "1-abc",
    allowOrigin: "*",
    acceptEncoding: undefined,
    isPage: false,
  };
  const call = new Call(message, callerOf(newScope()), { clock, costs });
  const { method } = call;
  const admit = (): void => {
    const { key = "" } = routeOf(`/busy/v1/${KEY}`) as { readonly key?: string };
    const found = parts.keys.find(key, clock.wallTime());
    found?.scope.forbidsRequest({ network: "busy", origin: undefined, address: () => undefined });
    found?.scope.forbidsCall(call);
    found?.meter.begin();
    void found?.meter.charge(3, clock.now());
    found?.meter.end();
  };
  const ended = {
    network: "busy",
    method: message.method,
    outcome: "ok",
    computeUnits: 3,
  } as const;
  const count = (): void => {
    metrics.requestStarted();
    metrics.callEnded({ ...ended, seconds: 0.0001 });
    metrics.callSaved("busy", "store");
    const { bytes } = answer;
    grant.usage.record({
      ...ended,
      bytes,
      requestBytes: body.length,
      saved: "store",
      upstreamCalls: 0,
    });
    metrics.requestEnded({ status: 200, seconds: 0.0001, bytesIn: body.length, bytesOut: bytes });
  };
  const sent = { ...options, close: false };
  const written = { turns, onBroken: () => undefined };
  return [
    { name: "body, taken and counted", budget: 2, micros: await micros(() => readBody(body)) },
    { name: "request, read", budget: 2, micros: await micros(() => readRequest(body, 100)) },
    { name: "path, key and limits", budget: 2, micros: await micros(admit) },
    {
      ...{ name: "parameters", budget: 1 },
      micros: await micros(() => checkParams(method as Method, message.params)),
    },
    {
      ...{ name: "headers and one text", budget: 3 },
      micros: await micros(() => respond(nowhere, answer, sent, written)),
    },
    { name: "counting", budget: 1, micros: await micros(count) },
  ];
}

const bigBlock = answerNow(callOf("eth_getBlockByNumber", ["0x14", false]));
const { transactions } = JSON.parse(bigBlock.pieces.join("")).result as { transactions: string[] };
const hashes = transactions;
let next = 0;
const nextHash = (): string => hashes[next++ % hashes.length] ?? "";

async function receiptSteps(server: number): Promise<readonly Step[]> {
  const body = callOf("eth_getTransactionReceipt", [nextHash()]);
  const { message } = readRequest(body, 100) as { readonly message: CallMessage };
  const caller = callerOf(newScope());
  const lookUp = (): unknown => {
    const call = new Call(message, caller, { clock, costs });
    return call.method?.answer({ transactionHash: nextHash() }, call);
  };
  return [
    { name: "server, as Y has it", budget: 28, micros: server },
    ...(await commonSteps(body, answerNow(body))),
    { name: "lookup", budget: 6, micros: await micros(lookUp) },
  ];
}

async function forwardedSteps(server: number, nodeUrl: string): Promise<readonly Step[]> {
  const params = [{ to: `0x${"11".repeat(20)}`, data: "0x70a08231" }, "latest"];
  const body = callOf("eth_call", params);
  const paramsJson = JSON.stringify(params);
  const bounds = { connections: 4, timeoutMs: 5_000, responseBytes: 2 ** 24 };
  const connection = new HttpConnection(
    { url: `${nodeUrl}/quiet`, headers: {}, ...bounds },
    { clock },
  );
  const { signal } = new AbortController();
  const send = () => connection.send({ json: requestJson(1, "eth_call", paramsJson) }, signal);
  const exchange = await send();
  const reply = readReply(exchange, 1, { method: "eth_call" });
  if (reply.kind !== "result") throw new Error(`the node says: ${JSON.stringify(reply)}`);
  const pieces = ['{"jsonrpc":"2.0","id":1,"result":', reply.json, "}"];
  const bytes = pieces.join("").length;
  const order = await micros(() => rank(candidates));
  const client = await micros(send, 10_000);
  await connection.close();
  return [
    { name: "server, as Y has it", budget: 26, micros: server },
    ...(await commonSteps(body, { status: 200, pieces, bytes })),
    { name: "order of three nodes", budget: 1, micros: order },
    { name: "HTTP client", budget: 30, micros: client },
    {
      name: "reply, read",
      budget: 2,
      micros: await micros(() => readReply(exchange, 1, { method: "eth_call" })),
    },
  ];
}

const candidates = ["a", "b", "c"].map(
  (name, at): Candidate => ({
    ...{ name, breaker: "closed", waitMs: 0, isLacking: false, lag: 0, errorRate: 0 },
    ...{ meanMs: 10 + at, inFlight: at, weight: 1, price: 0, isUntried: false },
  }),
);

function post(url: string, body: string): Promise<Response> {
  const headers = { "content-type": "application/json", "accept-encoding": "identity" };
  return fetch(url, { method: "POST", headers, body });
}

/** Measures the gateway as a process, and beside it a server that does nothing else. */
async function outside(nodeUrl: string) {
  const over = (chain: string) => ({
    ...{ family: "evm", chainId: 1, upstreams: [{ url: `${nodeUrl}/${chain}` }] },
    window: { blocks: QUIET_BLOCKS + 10 },
  });
  const networks = { quiet: over("quiet"), busy: over("busy") };
  const running = await startGatewayProcess({ log: { level: "info" }, networks });
  process.on("exit", () => running.process.kill("SIGKILL"));
  const blockOf = (number: number) =>
    ask(running.endpoint("busy"), "eth_getBlockByNumber", [`0x${number.toString(16)}`, false]);
  const isStored = async (name: string): Promise<boolean> => {
    const body = callOf("eth_getBlockByNumber", ["0x1", false]).toString();
    const response = await post(running.endpoint(name), body);
    return response.headers.get("x-headgate-source") === "store";
  };
  // The backfill must be over, or its cost would count as that of the calls.
  await until("all blocks are stored", async () => (await isStored("busy")) && isStored("quiet"));
  const blocks = await Promise.all(
    Array.from({ length: BUSY_BLOCKS - 1 }, (_, at) => blockOf(at + 1)),
  );
  const all = blocks.flatMap(({ result }) => (result as { transactions: string[] }).transactions);
  const load = startLoad();
  const costOf = async (target: Target, bodies: readonly string[]): Promise<number> => {
    const order = { bodies, connections: 64 };
    await measure(target, { ...order, seconds: 3 }, load);
    return (await measure(target, { ...order, seconds: 3 }, load)).cpuMicros ?? 0;
  };
  return async (name: string) => {
    const chosen = casesFor(all).find((each) => each.name === name);
    if (!chosen) throw new Error(`no case ${name}`);
    const url = running.endpoint(chosen.network);
    const response = await post(url, chosen.bodies[0] ?? "");
    const told = [...response.headers].filter(
      ([header]) => !/^(connection|keep-alive|date)$/.test(header),
    );
    const path = join(folder, "answer.json");
    writeFileSync(path, JSON.stringify({ headers: told.flat(), body: await response.text() }));
    const yardstick = await startServer("yardstick", [path]);
    const y = await costOf(yardstick, chosen.bodies);
    yardstick.stop();
    return { y, whole: await costOf({ url, pid: running.process.pid ?? 0 }, chosen.bodies) };
  };
}

const node = await startServer("node");
const costOutside = await outside(node.url);
const receipt = await costOutside("receipt from the store");
printBudget("a stored receipt", await receiptSteps(receipt.y), receipt.whole);
const forwarded = await costOutside("forwarded call");
printBudget("a forwarded call", await forwardedSteps(forwarded.y, node.url), forwarded.whole);
const batch = Buffer.from(
  `[${hashes.map((hash) => callOf("eth_getTransactionReceipt", [hash])).join(",")}]`,
);
const answerBatch = () => answerer.answer(batch, callerOf(newScope()));
const member = (await micros(answerBatch, 1_000)) / hashes.length;
print(`\nA member of a batch of receipts, from its text to its answer: ${member.toFixed(2)} µs.`);
process.exit(takenSoFar > 0 ? 0 : 1);
