// The cost of ten thousand open filters: polled every four seconds, beside a server that only answers; and their cost
// for each new block while no caller polls them. Takes about two minutes.
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism, loadavg } from "node:os";
import { setTimeout as pause } from "node:timers/promises";
import { ask, type Envelope, post } from "../test/support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../test/support/gateway-process.ts";
import { Random } from "../test/support/generated-chain/random.ts";
import { startGeneratedNode } from "../test/support/generated-chain/serve.ts";
import { GeneratedChain } from "../test/support/generated-chain.ts";
import { until } from "../test/support/processes.ts";
import { startServer, stopAll, type Target } from "./measure.ts";
import type { Latency, PollLoad, PollsSeen } from "./poll-load.ts";
import { cpuSeconds, machineCpuSeconds, memory } from "./process-cost.ts";

const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 24);
const FILTERS = 10_000;
/** One filter in so many matches logs in each block. */
const ONE_MATCHES_OF = 100;
const POLLED_EVERY_MS = 4_000;
const BLOCK_EVERY_MS = 1_000;
const CONNECTIONS = 64;
const BATCH = 100;
const ROUND_BLOCKS = 20;
/** The order of the rounds, which spreads the effect of warming up over both kinds. */
const TURNS = ["none", "many", "many", "none", "none", "many"] as const;

process.on("exit", stopAll);
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => process.exit(1));

const print = (line = ""): void => void process.stdout.write(`${line}\n`);
const tell = (line: string): void => void process.stderr.write(`${line}\n`);
const load = fork(new URL("poll-load.ts", import.meta.url).pathname);
endAtExit(load);
tell(`the machine's load before: ${loadavg()[0]?.toFixed(2)}`);

// Mainnet-sized blocks; nearly every block has logs of each emitting address.
const shape = {
  transactions: [200, 200],
  logs: [400, 400],
  addresses: FILTERS / ONE_MATCHES_OF,
  topics: 3000,
  busy: 2 ** 31,
} as const;
const silent = new Random(7);
const silentAddresses = Array.from({ length: FILTERS }, () => silent.hex(20));

await pollsOfAllFilters();
await newBlocks();
tell(`the machine's load after: ${loadavg()[0]?.toFixed(2)}`);
process.exit();

async function pollsOfAllFilters(): Promise<void> {
  const chain = new GeneratedChain({ ...shape, seed: 3, blockSeconds: BLOCK_EVERY_MS / 1000 });
  chain.extend(16);
  const node = await startGeneratedNode(chain);
  const running = await startGateway(node.url);
  const url = running.endpoint("bench");
  const target = { url, pid: running.process.pid ?? 0 };
  await until("the head is followed", () => isAtHead(url, chain));
  const sizes = [memory(target.pid)];

  tell(`opening ${FILTERS} filters`);
  const addresses = silentAddresses.map((address, index) =>
    index % ONE_MATCHES_OF === 0 ? (chain.words.addresses[index / ONE_MATCHES_OF] ?? "") : address,
  );
  const openedAt = performance.now();
  const filters = await openFilters(url, addresses);
  const openedIn = performance.now() - openedAt;
  sizes.push(memory(target.pid));

  tell(`polling them for ${SECONDS} s, after two turns to warm up`);
  const first = chain.head.number + 1;
  const growth = setInterval(() => chain.extend(1), BLOCK_EVERY_MS);
  const polls = { filters, everyMs: POLLED_EVERY_MS, connections: CONNECTIONS };
  const warm = await putOn({ ...polls, url, seconds: (2 * POLLED_EVERY_MS) / 1000 });
  sizes.push(memory(target.pid));
  const calls = node.calls.length;
  const own = await measured(target, { ...polls, seconds: SECONDS });
  const callsASecond = (node.calls.length - calls) / own.seconds;
  sizes.push(memory(target.pid));
  clearInterval(growth);

  // This poll must tell the remaining logs: then the filters have told each log exactly once.
  await until("the head is followed", () => isAtHead(url, chain));
  const rest = await pollOnce(url, filters);
  const told = warm.logs + own.logs + rest;
  let happened = 0;
  for (let number = first; number <= chain.head.number; number += 1)
    happened += chain.block(number)?.logs.length ?? 0;
  const warnings = running.log.filter(({ level = 30 }) => level >= 40);
  await running.stop();
  await node.close();

  tell("the same polls against the yardstick");
  const plain = await startServer("constant");
  await putOn({ ...polls, url: plain.url, seconds: 2 });
  const yardstick = await measured(plain, { ...polls, seconds: Math.min(SECONDS, 10) });

  print(
    `${FILTERS} filters over ${CONNECTIONS} connections, each polled every ${POLLED_EVERY_MS / 1000} s, one in ${ONE_MATCHES_OF} with logs in each block; a block of 200 transactions and 400 logs each second:`,
  );
  print();
  print(
    "| | polls/s | p50 ms | p99 ms | max ms | p99 of the middle turn | CPU of one core | calls to the node a second |",
  );
  print("|---|---:|---:|---:|---:|---:|---:|---:|");
  print(
    rowOf("gateway", own.seconds, own.all, [
      own.middleTurn.p99Ms.toFixed(1),
      percent(own.cpuShare),
      callsASecond.toFixed(1),
    ]),
  );
  print(rowOf("of them with logs", own.seconds, own.telling, ["", "", ""]));
  print(rowOf("of them empty", own.seconds, own.empty, ["", "", ""]));
  print(
    rowOf("constant", yardstick.seconds, yardstick.all, [
      yardstick.middleTurn.p99Ms.toFixed(1),
      percent(yardstick.cpuShare),
      "",
    ]),
  );
  print();
  for (const [name, seen] of [
    ["gateway", own],
    ["constant", yardstick],
  ] as const)
    print(
      `The load for ${name}: polls sent ${seen.late.p50Ms.toFixed(1)} ms late (p50), ${seen.late.p99Ms.toFixed(1)} ms (p99), at ${percent(seen.loadShare)} of a core; others than this bench took ${percent(seen.others)} of one of the machine's ${availableParallelism()} cores; ${seen.failures} of ${seen.planned} failed${seen.firstFailure ? `, the first with ${seen.firstFailure}` : ""}.`,
    );
  print(
    `Opened in ${(openedIn / 1000).toFixed(1)} s. Logs told: ${told}, of ${happened} that matched. Warnings of the gateway: ${warnings.length}${warnings[0] ? `, the first ${JSON.stringify(warnings[0])}` : ""}.`,
  );
  print(
    `Resident (of it its own) before there were filters ${sizes.map(({ all, own: part }) => `${megabytes(all)} (${megabytes(part)})`).join(", ")} after: opening, two turns of polls, ${SECONDS} s of polls.`,
  );
}

/** One gateway follows blocks, with and without filters in turn: two processes would differ more than that. */
async function newBlocks(): Promise<void> {
  const following = await startFollowing();
  const { url } = following;
  const costs = { none: [] as number[], many: [] as number[] };
  tell(`following ${ROUND_BLOCKS} blocks at a time, with ${FILTERS} filters and with none`);
  await end(url, await openSilent(url));
  await following.costOfBlocks(2 * ROUND_BLOCKS); // warms up
  let open: readonly string[] = [];
  for (const name of TURNS) {
    if (name === "many" && open.length === 0) open = await openSilent(url);
    if (name === "none") open = await end(url, open);
    costs[name].push(await following.costOfBlocks(ROUND_BLOCKS));
  }
  const logs = await pollOnce(url, open);
  if (logs > 0) throw new Error(`${logs} logs were told that nobody asked for`);
  await following.close();
  const middle = { none: middleOf(costs.none), many: middleOf(costs.many) };
  print();
  print(`| open filters | CPU ms a new block | each round of ${ROUND_BLOCKS} blocks |`);
  print("|---:|---:|---|");
  for (const [count, name] of [
    [0, "none"],
    [FILTERS, "many"],
  ] as const)
    print(
      `| ${count} | ${middle[name].toFixed(1)} | ${costs[name].map((ms) => ms.toFixed(1)).join(", ")} |`,
    );
  print();
  print(`Ratio: ${(middle.many / middle.none).toFixed(2)}.`);
}

/** Opens filters that match nothing, and polls each once. */
async function openSilent(url: string): Promise<readonly string[]> {
  const filters = await openFilters(url, silentAddresses);
  await pollOnce(url, filters);
  return filters;
}

async function end(url: string, filters: readonly string[]): Promise<readonly string[]> {
  await askAll(url, "eth_uninstallFilter", filters);
  return [];
}

/** A gateway over a chain that grows by a block with each request for its head, up to a given count. */
async function startFollowing() {
  let left = 0;
  // With a block time of zero, the gateway asks for the head as often as it ever does.
  const chain = new GeneratedChain({ ...shape, seed: 4, blockSeconds: 0 });
  chain.extend(16);
  const node = await startGeneratedNode(chain, ({ method, params: [at] }) => {
    if (left === 0 || method !== "eth_getBlockByNumber" || at !== "latest") return;
    left -= 1;
    chain.extend(1);
  });
  const running = await startGateway(node.url);
  const url = running.endpoint("bench");
  await until("the head is followed", () => isAtHead(url, chain));
  const pid = running.process.pid ?? 0;
  return {
    url,
    /** The gateway's processor time for one block, in milliseconds. */
    costOfBlocks: async (count: number): Promise<number> => {
      const before = cpuSeconds(pid);
      left = count;
      const isFetched = async (): Promise<boolean> =>
        left === 0 &&
        node.calls.at(-1)?.method === "eth_getBlockByNumber" &&
        node.calls.some(({ params: [at] }) => at === chain.head.hash);
      await until("the blocks are fetched", isFetched, 60_000);
      await pause(100); // time to store the last block
      const after = cpuSeconds(pid);
      await until("the blocks are followed", () => isAtHead(url, chain));
      return ((after - before) * 1000) / count;
    },
    close: async (): Promise<void> => {
      await running.stop();
      await node.close();
    },
  };
}

async function startGateway(nodeUrl: string): Promise<RunningGateway> {
  const running = await startGatewayProcess({
    log: { level: "info" },
    limits: { filters: 2 * FILTERS },
    networks: {
      bench: { family: "evm", chainId: 1, upstreams: [{ url: nodeUrl }], window: { blocks: 1000 } },
    },
  });
  endAtExit(running.process);
  return running;
}

async function isAtHead(url: string, { head }: GeneratedChain): Promise<boolean> {
  return Number((await ask(url, "eth_blockNumber")).result) === head.number;
}

async function openFilters(url: string, addresses: readonly string[]): Promise<string[]> {
  const results = await askAll(
    url,
    "eth_newFilter",
    addresses.map((address) => ({ address })),
  );
  return results.map(String);
}

/** @returns The number of logs in the answers. */
async function pollOnce(url: string, filters: readonly string[]): Promise<number> {
  const results = await askAll(url, "eth_getFilterChanges", filters);
  return results.reduce<number>((sum, logs) => sum + (logs as unknown[]).length, 0);
}

/** Makes one call for each argument, in batches. */
async function askAll(
  url: string,
  method: string,
  params: readonly unknown[],
): Promise<readonly unknown[]> {
  const results: unknown[] = [];
  for (let from = 0; from < params.length; from += BATCH) {
    const calls = params
      .slice(from, from + BATCH)
      .map((param, index) => ({ jsonrpc: "2.0", id: from + index, method, params: [param] }));
    const answers = (await (await post(url, JSON.stringify(calls))).json()) as Envelope[];
    for (const { id, result, error } of answers) {
      if (error) throw new Error(`${method}: ${JSON.stringify(error)}`);
      results[Number(id)] = result;
    }
  }
  return results;
}

async function putOn(polls: PollLoad): Promise<PollsSeen> {
  load.send(polls);
  const [seen] = (await once(load, "message")) as [PollsSeen];
  return seen;
}

async function measured({ url, pid }: Target, polls: Omit<PollLoad, "url">) {
  const pids = [pid, load.pid ?? 0, process.pid];
  const before = [machineCpuSeconds(), ...pids.map(cpuSeconds)];
  const seen = await putOn({ ...polls, url });
  const used = [machineCpuSeconds(), ...pids.map(cpuSeconds)].map(
    (seconds, index) => (seconds - (before[index] ?? 0)) / seen.seconds,
  );
  const [machine = 0, cpuShare = 0, ownLoad = 0, own = 0] = used;
  const others = machine - cpuShare - ownLoad - own;
  const planned = Math.floor((polls.seconds * 1000 * polls.filters.length) / polls.everyMs);
  return { ...seen, cpuShare, others, planned };
}

function rowOf(name: string, seconds: number, of: Latency, rest: readonly string[]): string {
  const ms = [of.p50Ms, of.p99Ms, of.maxMs].map((value) => value.toFixed(1));
  return `| ${[name, (of.count / seconds).toFixed(0), ...ms, ...rest].join(" | ")} |`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(0)} %`;
}

function megabytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(0)} MB`;
}

function middleOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function endAtExit(child: ChildProcess): void {
  process.on("exit", () => child.kill("SIGKILL"));
}
