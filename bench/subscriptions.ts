// The cost of ten thousand subscriptions: a thousand sockets with ten each, while a mainnet-sized block comes each
// second; the delay between the store and the notifications, and the gateway's processor time. Takes about two
// minutes.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { BlockTables } from "../src/chain/block-tables.ts";
import { startGatewayProcess } from "../test/support/gateway-process.ts";
import { Random } from "../test/support/generated-chain/random.ts";
import { startGeneratedNode } from "../test/support/generated-chain/serve.ts";
import { GeneratedChain } from "../test/support/generated-chain.ts";
import { until } from "../test/support/processes.ts";
import { cpuSeconds, memory } from "./process-cost.ts";
import type { PushesSeen, PushLoad } from "./push-load.ts";

const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 30);
const SOCKETS = 1_000;
const SUBSCRIPTIONS = 10;
/** One log subscription in so many matches logs in each block. */
const ONE_MATCHES_OF = 100;
const BLOCK_EVERY_MS = 1_000;
const QUIET_SECONDS = 10;

const print = (line = ""): void => void process.stdout.write(`${line}\n`);
const tell = (line: string): void => void process.stderr.write(`${line}\n`);
const now = (): number => performance.timeOrigin + performance.now();

const load = fork(new URL("push-load.ts", import.meta.url).pathname);
const shape = { transactions: [200, 200], logs: [400, 400], addresses: 100, topics: 3000 } as const;
const chain = new GeneratedChain({
  ...{ ...shape, busy: 2 ** 31, seed: 5 },
  blockSeconds: BLOCK_EVERY_MS / 1000,
});
chain.extend(16);
const data = await mkdtemp(join(tmpdir(), "headgate-bench-"));
const node = await startGeneratedNode(chain);
const many = SOCKETS * SUBSCRIPTIONS * 2;
const running = await startGatewayProcess({
  data,
  log: { level: "info" },
  limits: {
    connections: 2 * SOCKETS,
    connectionsPerAddress: 2 * SOCKETS,
    webSocket: { connections: 2 * SOCKETS, subscriptions: many, messages: many },
  },
  networks: {
    bench: { family: "evm", chainId: 1, upstreams: [{ url: node.url }], window: { blocks: 1000 } },
  },
});
const pid = running.process.pid ?? 0;
process.on("exit", () => {
  load.kill("SIGKILL");
  running.process.kill("SIGKILL");
});
const store = new BlockTables({ path: join(data, "bench"), readOnly: true });
const headNow = (): number => {
  store.refresh();
  return store.head?.number ?? 0;
};
await until("the head is followed", async () => headNow() === chain.head.number);

/** The time at which the gateway stored each block, by block number. */
const storedAt = new Map<number, number>();
let seen = headNow();
const looking = setInterval(() => {
  const head = headNow();
  for (; seen < head; seen += 1) storedAt.set(seen + 1, now());
}, 1);
const growing = setInterval(() => chain.extend(1), BLOCK_EVERY_MS);

/** The gateway's processor time over so many seconds, in cores. */
async function shareOver(seconds: number): Promise<number> {
  const before = cpuSeconds(pid);
  const startedAt = now();
  await pause(seconds * 1000);
  return (cpuSeconds(pid) - before) / ((now() - startedAt) / 1000);
}

tell(`following for ${QUIET_SECONDS} s without subscriptions, after ${QUIET_SECONDS} s to warm up`);
await pause(QUIET_SECONDS * 1000);
const quiet = await shareOver(QUIET_SECONDS);
const memoryBefore = memory(pid);

tell(`opening ${SOCKETS} sockets with ${SUBSCRIPTIONS} subscriptions each`);
const silent = new Random(11);
const addressAt = (index: number): string =>
  index % ONE_MATCHES_OF === 0
    ? (chain.words.addresses[(index / ONE_MATCHES_OF) % shape.addresses] ?? "")
    : silent.hex(20);
const subscriptions = Array.from({ length: SOCKETS }, (_, socket) => [
  ["newHeads"],
  ...Array.from({ length: SUBSCRIPTIONS - 1 }, (_other, index) => [
    "logs",
    { address: addressAt(socket * (SUBSCRIPTIONS - 1) + index) },
  ]),
]);
const openedAt = now();
const url = running.endpoint("bench").replace("http:", "ws:");
load.send({ url, sockets: SOCKETS, subscriptions } satisfies PushLoad);
await once(load, "message");
const openedInMs = now() - openedAt;
await pause(5_000); // all subscriptions reach the head
const memoryOpen = memory(pid);

tell(`pushing for ${SECONDS} s`);
const firstBlock = headNow() + 2;
const share = await shareOver(SECONDS);
const memoryAfter = memory(pid);
clearInterval(growing);
const lastBlock = headNow() - 1;
await pause(3_000);
clearInterval(looking);
load.send("end");
const [pushes] = (await once(load, "message")) as [PushesSeen];

const latencies = (of: PushesSeen["heads"]): number[] =>
  of
    .filter(([number]) => number >= firstBlock && number <= lastBlock)
    .map(([number, atMs]) => atMs - (storedAt.get(number) ?? Number.NaN))
    .toSorted((a, b) => a - b);
const rowOf = (name: string, ms: readonly number[], wanted: number): string => {
  const at = (part: number): string =>
    (ms[Math.min(ms.length - 1, Math.floor(ms.length * part))] ?? 0).toFixed(1);
  return `| ${[name, ms.length, wanted, at(0.5), at(0.99), at(1)].join(" | ")} |`;
};
const blocks = Math.max(0, lastBlock - firstBlock + 1);
const asked = subscriptions.flat().map(([, criteria]) => criteria);
const perAddress = new Map<string, number>();
for (const criteria of asked) {
  const { address = "" } = (criteria ?? {}) as { address?: string };
  perAddress.set(address, (perAddress.get(address) ?? 0) + 1);
}
let wantedLogs = 0;
for (let number = firstBlock; number <= lastBlock; number += 1)
  for (const { json } of chain.block(number)?.logs ?? [])
    wantedLogs += perAddress.get((JSON.parse(json) as { address: string }).address) ?? 0;
const warnings = running.log.filter(({ level = 30 }) => level >= 40);
const megabytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MB`;
const percent = (part: number): string => `${(part * 100).toFixed(0)} %`;

print(
  `${SOCKETS} sockets with ${SUBSCRIPTIONS} subscriptions each (newHeads, and logs of which one in ${ONE_MATCHES_OF} matches), ${blocks} blocks of 200 transactions and 400 logs, one each second; opened in ${(openedInMs / 1000).toFixed(1)} s:`,
);
print();
print("| told | notifications | wanted | p50 ms after the head is stored | p99 ms | max ms |");
print("|---|---:|---:|---:|---:|---:|");
print(rowOf("heads", latencies(pushes.heads), blocks * SOCKETS));
print(rowOf("logs", latencies(pushes.logs), wantedLogs));
print();
print(
  `CPU of the gateway: ${percent(share)} of a core, ${percent(quiet)} without subscriptions; of the clients ${percent(pushes.cpuSeconds / (SECONDS + 8))}.`,
);
print(
  `Resident (of it its own): ${[memoryBefore, memoryOpen, memoryAfter].map(({ all, own }) => `${megabytes(all)} (${megabytes(own)})`).join(", ")}: before, when all were open, after.`,
);
print(
  `Warnings of the gateway: ${warnings.length}${warnings[0] ? `, the first ${JSON.stringify(warnings[0])}` : ""}. Failures: ${pushes.failures.length}${pushes.failures[0] ? `, the first ${pushes.failures[0]}` : ""}.`,
);
await store.close();
await running.stop();
await node.close();
await rm(data, { recursive: true, force: true });
process.exit();
