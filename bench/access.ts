// The cost of the whole access path of a call: the key's hash, scope, limits and usage. It must stay under 5 µs of
// processor time. As a yardstick, the benchmark also measures one SHA-256 of a short text.
import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { KeyBook } from "../src/access/keys/key-book.ts";
import { KeyRing } from "../src/access/keys/key-ring.ts";
import { Meters } from "../src/access/limits/meter.ts";
import { UsageBook } from "../src/access/usage/usage-book.ts";
import { systemClock as clock } from "../src/lib/clock.ts";
import { LmdbState } from "../src/state/lmdb-state.ts";

const MOST_NS = 5000;
const ROUNDS = 400;
const CALLS_A_ROUND = 500;

const log = pino({ level: "silent" });

/** A key with every kind of limit, none of which the benchmark reaches. */
const request = (name: string): object => ({
  name,
  networks: ["eth-mainnet", "conflux"],
  methods: ["eth_*", "net_version"],
  contracts: [`0x${"11".repeat(20)}`],
  rate: { computeUnits: 1e9, burst: 1e9 },
  computeUnits: { perDay: 1e13, perMonth: 1e14 },
  concurrentCalls: 100,
});

const call = {
  message: { method: "eth_call", params: [{ to: `0x${"11".repeat(20)}` }, "latest"] },
  method: {
    name: "eth_call",
    kind: "read" as const,
    contractsOf: (params: readonly unknown[]) => [toOf(params[0])],
  },
};
const toOf = (callObject: unknown): unknown => (callObject as { to: string }).to;

const caller = { network: "eth-mainnet", origin: undefined, address: () => "127.0.0.1" };

const counted = {
  network: "eth-mainnet",
  method: "eth_call",
  computeUnits: 5,
  bytes: 300,
  requestBytes: 120,
  outcome: "ok",
  saved: undefined,
  upstreamCalls: 1,
} as const;

const folder = await mkdtemp(join(tmpdir(), "headgate-bench-"));
const state = new LmdbState({ path: join(folder, "state") });
const book = new KeyBook(
  { keys: [], networks: ["eth-mainnet", "conflux"], openMethods: [], secret: undefined },
  { state, clock },
);

/** The access path of one gateway, for a new key. */
async function openAccess(memberId: string, isAlone: boolean) {
  const meters = new Meters({ memberId, isAlone }, { state, clock });
  const usages = new UsageBook({ member: memberId, keptDays: 400 }, { state, clock, log });
  const made = await book.create(request(memberId));
  if (made.kind !== "made") throw new Error(JSON.stringify(made));
  const keys = new KeyRing(
    { configured: [], secret: undefined },
    { state, meters, usages, clock, log },
  );
  await meters.start();
  await keys.start();
  usages.start();
  const grantOf = () => {
    const grant = keys.find(made.text, clock.wallTime());
    if (!grant) throw new Error("the key is not found");
    return grant;
  };
  const close = async (): Promise<void> => {
    await keys.close();
    await usages.close();
    await meters.close();
  };
  return { grantOf, close };
}

type Access = Awaited<ReturnType<typeof openAccess>>;

/** One call's way through the access path, as the server and the steps of a call take it. */
function pass({ grantOf }: Access): void {
  const { scope, meter, usage } = grantOf();
  if (scope.forbidsRequest(caller) || scope.forbidsCall(call) || meter.begin())
    throw new Error("refused");
  const short = meter.charge(5, clock.now());
  if (short && !(short instanceof Promise)) throw new Error(`refused: ${JSON.stringify(short)}`);
  usage.record(counted);
  meter.end();
}

/** Measures processor time, on which other work of the machine has little effect, and wall-clock time. */
async function measure(name: string, work: () => void): Promise<number> {
  const rounds: number[] = [];
  for (let at = 0; at < 20_000; at++) work(); // V8 compiles the code
  const before = process.threadCpuUsage();
  for (let round = 0; round < ROUNDS; round++) {
    const from = process.hrtime.bigint();
    for (let at = 0; at < CALLS_A_ROUND; at++) work();
    rounds.push(Number(process.hrtime.bigint() - from) / CALLS_A_ROUND);
    await clock.yield(); // lets the gateway write reservations and usage
  }
  const { user, system } = process.threadCpuUsage(before);
  const mean = ((user + system) * 1000) / (ROUNDS * CALLS_A_ROUND);
  const middle = rounds.toSorted((a, b) => a - b)[ROUNDS / 2] ?? 0;
  console.log(`${name.padEnd(42)} processor ${shown(mean)}  clock, p50 ${shown(middle)}`);
  return mean;
}

const shown = (ns: number): string => `${ns.toFixed(0).padStart(6)} ns`;

const alone = await openAccess("alone", true);
const shared = await openAccess("shared", false);
const { scope, meter, usage } = alone.grantOf();
const { meter: reserved } = shared.grantOf();

await measure('one createHash("sha256")', () => {
  createHash("sha256").update("hg_0123456789abcdefghijklmnopq").digest("hex");
});
await measure("the key by its text", () => alone.grantOf());
await measure("scope", () => {
  scope.forbidsRequest(caller);
  scope.forbidsCall(call);
});
await measure("limits, one process", () => meter.charge(5, clock.now()));
await measure("limits, reserved from the shared state", () => reserved.charge(5, clock.now()));
await measure("bill", () => usage.record(counted));
const all = [
  await measure("everything, one process", () => pass(alone)),
  await measure("everything, reserved from the shared state", () => pass(shared)),
];

await alone.close();
await shared.close();
await state.close();
await rm(folder, { recursive: true });
if (Math.max(...all) > MOST_NS) {
  console.error(`more than ${MOST_NS} ns a call`);
  process.exitCode = 1;
}
