// The parts that a call passes, created in this process as `gateway.ts` creates them: over a store of full blocks, with
// one key without limits.
import { createHash } from "node:crypto";
import { join } from "node:path";
import { pino } from "pino";
import { KeyRing } from "../src/access/keys/key-ring.ts";
import { Costs, Meters } from "../src/access/limits/meter.ts";
import { UsageBook } from "../src/access/usage/usage-book.ts";
import type { CallableNetwork } from "../src/calls/caller.ts";
import { BlockStore } from "../src/chain/block-store.ts";
import { ChainView, type ViewParts } from "../src/chain/chain-view.ts";
import { systemClock as clock } from "../src/lib/clock.ts";
import { MemoryBudget } from "../src/lib/memory-budget.ts";
import { Turns } from "../src/lib/turns.ts";
import { catalogueFor } from "../src/methods/catalogue.ts";
import { Metrics } from "../src/observe/metrics.ts";
import { LmdbState } from "../src/state/lmdb-state.ts";
import { GeneratedChain } from "../test/support/generated-chain.ts";
import { BUSY_BLOCKS } from "./chains.ts";
import { fillStore } from "./fill-store.ts";

export async function openParts({
  folder,
  key,
}: {
  readonly folder: string;
  readonly key: string;
}) {
  const log = pino({ level: "silent" });
  const state = new LmdbState({ path: join(folder, "state") });
  const meters = new Meters({ memberId: "bench", isAlone: true }, { state, clock });
  const usages = new UsageBook({ member: "bench", keptDays: 400 }, { state, clock, log });
  const hash = `sha256:${createHash("sha256").update(key).digest("hex")}`;
  const configured = [{ name: "bench", hash, computeUnits: {}, limits: { logs: {} } }];
  const keys = new KeyRing(
    { configured, secret: undefined },
    { ...{ state, meters, usages }, clock, log },
  );
  const grant = keys.find(key, clock.wallTime());
  if (!grant) throw new Error("the key is not found");
  const path = join(folder, "store");
  const chain = new GeneratedChain({ seed: 12, transactions: [15, 15], logs: [100, 100] });
  await fillStore(path, { chain, blocks: BUSY_BLOCKS });
  const unbounded = 2 ** 40;
  const store = new BlockStore({ path, windowBlocks: unbounded, bytes: unbounded });
  const memory = new MemoryBudget({ bytes: 2 ** 30 }, { onRefused: () => undefined });
  const turns = new Turns({ clock });
  const { number, hash: head } = chain.head;
  const viewParts = { store: store.tables, turns } as unknown as ViewParts;
  const view = (): ChainView =>
    new ChainView({ head: { number, hash: head }, isShared: false }, viewParts);
  const facts = { name: "busy", family: "evm", chainId: 1, limits: { upstreamCalls: 200 } };
  const catalogue = catalogueFor({ family: "evm", allow: ["eth_*"], groups: [], deny: [] });
  const network = { facts, catalogue, chain: { view } } as unknown as CallableNetwork;
  return { log, keys, grant, memory, turns, network, metrics: new Metrics(), costs: new Costs({}) };
}
