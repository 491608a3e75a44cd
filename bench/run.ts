// `npm run bench`: the cost of calls beside Y, the least that a `node:http` server does for the same answer, in one
// run of about six minutes. `--against NAME=URL[,PID]` adds another gateway's endpoint for the node's chains to the
// table; `--only TEXT` takes the cases whose name contains the text, and may be repeated; `--json` prints the cases'
// ratios to Y as JSON.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ask } from "../test/support/ask.ts";
import { startGatewayProcess } from "../test/support/gateway-process.ts";
import { until } from "../test/support/processes.ts";
import { type Case, casesFor, membersOf } from "./cases.ts";
import { BUSY_BLOCKS, QUIET_BLOCKS } from "./chains.ts";
import {
  assertApart,
  measure,
  middleRun,
  pin,
  startLoad,
  startServer,
  stopAll,
  type Target,
} from "./measure.ts";
import type { OpenLoad, OpenLoadSeen } from "./open-load.ts";
import { memory } from "./process-cost.ts";
import { printCases, printLatency, type Row } from "./report.ts";

const CONNECTIONS = 64;
const ROUNDS = 3;
const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 2.5);
/** After 1 s, V8 still compiles on other threads, and a new process would pay for that. */
const WARM_UP_SECONDS = 3;
const OPEN = { perSecond: 500, seconds: 8 * SECONDS, connections: CONNECTIONS };
/** One core runs the measured servers; the other core runs the load and the node. */
const [MEASURED_CORE, OTHER_CORE] = [0, 1];

const { values: options } = parseArgs({
  options: {
    against: { type: "string", multiple: true, default: [] },
    only: { type: "string", multiple: true, default: [""] },
    json: { type: "boolean", default: false },
  },
});
process.on("exit", stopAll);
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => process.exit(1));
const folder = mkdtempSync(join(tmpdir(), "headgate-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const tell = (line: string): void => void process.stderr.write(`${line}\n`);

const node = await startServer("node");
pin(node.pid, OTHER_CORE);
pin(process.pid, OTHER_CORE);
const networkOver = (chain: string, upstream: { readonly batch?: number } = {}) => ({
  ...{ family: "evm", chainId: 1, upstreams: [{ url: `${node.url}/${chain}`, ...upstream }] },
  ...{ window: { blocks: QUIET_BLOCKS + 10 }, limits: { logs: { blocks: 10_000 } } },
});
const running = await startGatewayProcess({
  log: { level: "info" },
  // With a lower limit the gateway would refuse most of 64 batches of 100, and refusals are cheap.
  keys: [{ name: "test", key: "test-key", concurrentCalls: 64 * 100 }],
  networks: {
    quiet: networkOver("quiet"),
    busy: networkOver("busy"),
    growing: networkOver("growing"),
    alone: { ...networkOver("quiet", { batch: 1 }), window: { blocks: 10 } },
  },
});
process.on("exit", () => running.process.kill("SIGKILL"));
const pid = running.process.pid ?? 0;
const gatewayAt = (network: string): Target => ({
  ...{ url: running.endpoint(network), pid, nodePid: node.pid },
});
// While the gateway still stores blocks, the first cases would pay for that.
await until("all blocks are stored", async () => {
  const metrics = await (await fetch(running.metricsUrl)).text();
  const stored = metrics.matchAll(/^headgate_window_blocks\{.*network="(\w+)".*\} (\d+)$/gm);
  const blocks = Object.fromEntries(
    [...stored].map(([, network, count]) => [network, Number(count)]),
  );
  return blocks["quiet"] > QUIET_BLOCKS && blocks["busy"] > BUSY_BLOCKS && blocks["growing"] > 8;
});
pin(pid, MEASURED_CORE);
assertApart(pid);

const worker = startLoad();
const cases = casesFor(await transactionsOf("busy", BUSY_BLOCKS - 1));
const rows: Row[] = [];
for (const one of cases) {
  if (isWanted(one.name)) rows.push(await compare(one));
}
if (options.json) {
  process.stdout.write(`${JSON.stringify(rows.map(ratioOf))}\n`);
  await running.stop();
  process.exit();
}
printCases(rows);
if (isWanted("receipts while heads come")) await receiptsWhileHeadsCome();
const { all, own, file } = memory(pid);
const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MB`;
process.stdout.write(
  `\nThe gateway's memory after all this: ${megabytes(all)} resident, of them ${megabytes(own)} its own and ${megabytes(file)} of files.\n`,
);
await running.stop();
process.exit();

function isWanted(name: string): boolean {
  return options.only.some((text) => name.includes(text));
}

function ratioOf({ case: { name, usualTimesY }, y, gateway }: Row) {
  return { name, timesY: (gateway.cpuMicros ?? 0) / (y.cpuMicros ?? 0), usualTimesY };
}

/** Measures in turn, so that a slower machine slows down all: Y, gateway, Y, gateway. */
async function compare(one: Case): Promise<Row> {
  const yardstick = await startYardstick(one);
  pin(yardstick.pid, MEASURED_CORE);
  const targets = [yardstick, gatewayAt(one.network), ...othersFor(one)];
  for (const target of targets) await run(one, target, WARM_UP_SECONDS);
  const runs = targets.map((): Awaited<ReturnType<typeof run>>[] => []);
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [index, target] of targets.entries())
      runs[index]?.push(await run(one, target, SECONDS));
  yardstick.stop();
  const [y, gateway, ...others] = runs.map(middleRun);
  if (!y || !gateway) throw new Error(`nothing was measured of ${one.name}`);
  return {
    ...{ case: one, y, gateway, members: membersOf(one.bodies[0] ?? "") },
    others: others.map((measured, index) => ({ name: againstNames()[index] ?? "", measured })),
  };
}

function run({ name, bodies }: Case, target: Target, seconds: number) {
  tell(`${name}: ${target.url}, ${seconds} s`);
  return measure(target, { bodies, seconds, connections: CONNECTIONS }, worker);
}

/** Starts Y for a case, with the gateway's own answer. Throws when that answer has errors: it would measure nothing. */
async function startYardstick(one: Case) {
  const request = one.bodies[0] ?? "";
  const response = await post(running.endpoint(one.network), request);
  const body = await response.text();
  if (body.split('"result":').length - 1 !== membersOf(request))
    throw new Error(`${one.name} does not answer as it should: ${body.slice(0, 300)}`);
  const headers = [...response.headers].filter(([name]) => !isOfTheConnection(name)).flat();
  const path = join(folder, "answer.json");
  writeFileSync(path, JSON.stringify({ headers, body }));
  return await startServer("yardstick", [path]);
}

/** Whether node:http writes the header itself. */
function isOfTheConnection(header: string): boolean {
  return ["connection", "keep-alive", "date", "transfer-encoding"].includes(header);
}

function againstNames(): string[] {
  return options.against.map((text) => text.split("=", 1)[0] ?? "");
}

/** The other gateways of `--against`; `{network}` in a URL becomes the network's name. */
function othersFor({ network }: Case): Target[] {
  return options.against.map((text) => {
    const [url = "", otherPid = "0"] = text.slice(text.indexOf("=") + 1).split(",");
    return { url: url.replace("{network}", network), pid: Number(otherPid), nodePid: node.pid };
  });
}

/** Receipts at planned moments: first without new heads, then with a block of 600 logs each second. */
async function receiptsWhileHeadsCome(): Promise<void> {
  const load = fork(new URL("open-load.ts", import.meta.url).pathname);
  process.on("exit", () => load.kill("SIGKILL"));
  pin(load.pid ?? 0, OTHER_CORE);
  const hashes = await transactionsOf("growing", 8);
  const bodies = hashes.map((hash) =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "eth_getTransactionReceipt", params: [hash] }),
  );
  const putOn = async (seconds: number): Promise<OpenLoadSeen> => {
    const order: OpenLoad = { ...OPEN, seconds, url: running.endpoint("growing"), bodies };
    load.send(order);
    const [seen] = (await once(load, "message")) as [OpenLoadSeen];
    return seen;
  };
  tell("receipts at 500 a second, with and without heads");
  await putOn(WARM_UP_SECONDS);
  const still = await putOn(OPEN.seconds);
  node.send("grow");
  await putOn(WARM_UP_SECONDS);
  const growing = await putOn(OPEN.seconds);
  node.send("rest");
  printLatency([
    ["while no head comes", still],
    ["while a block of 600 logs comes each second", growing],
  ]);
}

async function transactionsOf(network: string, blocks: number): Promise<string[]> {
  const hashes: string[] = [];
  for (let number = 1; number <= blocks; number += 1) {
    const { result } = await ask(running.endpoint(network), "eth_getBlockByNumber", [
      `0x${number.toString(16)}`,
      false,
    ]);
    hashes.push(...(result as { transactions: string[] }).transactions);
  }
  return hashes;
}

function post(url: string, body: string): Promise<Response> {
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", "accept-encoding": "identity" },
    body,
  });
}
