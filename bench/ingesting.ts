// The rate at which the writer thread fetches, proves and stores mainnet-sized blocks, alone and with a second thread
// that ingests blocks; the node answers at once, from memory. Takes about a minute.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import type { AskedUpstream } from "../src/chain/dialect.ts";
import { blockDialect } from "../src/chain/fetch-block.ts";
import { ThreadStore } from "../src/chain/thread/thread-store.ts";
import { WriterThread } from "../src/chain/thread/writer-thread.ts";
import type { IngestedBlock } from "../src/chain/writing.ts";
import { systemClock } from "../src/lib/clock.ts";
import type { Reply } from "../src/upstream/reply.ts";
import { GeneratedChain } from "../test/support/generated-chain.ts";

const BLOCKS = Number(process.env["BENCH_BLOCKS"] ?? 400);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 4);
/** The backfill fetches so many blocks at once, and writes so many together. */
const AT_ONCE = 4;
const WRITTEN_AT_ONCE = 16;
/** `busyShare` 1: the writer thread never counts as busy, so that it stays alone; 0: it always does. */
const THREADS = [
  { threads: 1, busyShare: 1 },
  { threads: 2, busyShare: 0 },
];

const chain = new GeneratedChain({
  ...{ seed: 1, transactions: [200, 200], logs: [400, 400], addresses: 300, topics: 3000 },
});
const bodies = Array.from({ length: BLOCKS }, (_, number) => {
  if (number > 0) chain.extend(1);
  const { hash, blockJson, receiptsJson } = chain.head;
  chain.forget();
  return { hash, block: Buffer.from(blockJson), receipts: Buffer.from(receiptsJson) };
});
const byHash = new Map(bodies.map((body) => [body.hash, body]));

/** A node that returns a copy in memory of its own, like a reply that comes over a connection. */
const node: AskedUpstream = {
  name: "memory",
  isMissing: () => false,
  ask: async (method, paramsJson): Promise<Reply> => {
    const [reference] = JSON.parse(paramsJson) as [string];
    const body = byHash.get(reference) ?? bodies[Number(reference)];
    if (!body) return { kind: "missing" } as Reply;
    const json = method === "eth_getBlockReceipts" ? body.receipts : body.block;
    return { kind: "result", json: Buffer.from(Uint8Array.from(json).buffer) };
  },
};

async function fill(busyShare: number): Promise<{ perSecond: number; cpuMs: number }> {
  const path = mkdtempSync(join(tmpdir(), "headgate-ingesting-"));
  const log = pino({ level: "silent" });
  const parts = { onEnd: () => undefined, silenceMs: () => 10_000, clock: systemClock, log };
  const thread = new WriterThread({ busyShare, spareCores: 0 }, parts);
  const store = new ThreadStore(
    { path, windowBlocks: 1e9, bytes: 2 ** 40 },
    { thread, dialect: blockDialect, run: (write) => write(), onBegunAgain: () => undefined },
  );
  thread.start();
  await store.prepareFor(1);
  const terms = {
    limits: { bytes: 1e9, transactions: 1e9, logs: 1e9 },
    rules: { chainId: 1 },
    receipts: "needed",
    signal: new AbortController().signal,
  } as const;
  const ingest = async (number: number): Promise<IngestedBlock> => {
    const ingested = await store.ingest({ number }, node, terms);
    if (ingested.kind !== "ingested") throw new Error(JSON.stringify(ingested));
    return ingested.block;
  };
  let next = BLOCKS - 1;
  await store.startAt(await ingest(next));
  const ahead: Promise<IngestedBlock>[] = [];
  const fillSome = async (count: number): Promise<void> => {
    let added = Promise.resolve(true);
    for (let left = count; left > 0; left -= WRITTEN_AT_ONCE) {
      const blocks: IngestedBlock[] = [];
      while (blocks.length < Math.min(left, WRITTEN_AT_ONCE)) {
        while (ahead.length < AT_ONCE && next > 0) {
          next -= 1;
          ahead.push(ingest(next));
        }
        const block = await ahead.shift();
        if (block) blocks.push(block);
      }
      if (!(await added)) throw new Error("blocks are not linked");
      added = store.below.add(blocks);
    }
    await added;
    await store.below.finish();
  };
  await fillSome(BLOCKS / 4); // warms up
  const measured = BLOCKS - BLOCKS / 4 - AT_ONCE * 2;
  const before = process.cpuUsage();
  const startedAt = performance.now();
  await fillSome(measured);
  const seconds = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(before);
  await Promise.all(ahead);
  await store.close();
  await thread.close();
  rmSync(path, { recursive: true });
  return { perSecond: measured / seconds, cpuMs: (user + system) / 1000 / measured };
}

for (let round = 0; round < ROUNDS; round += 1)
  for (const { threads, busyShare } of THREADS) {
    const { perSecond, cpuMs } = await fill(busyShare);
    process.stdout.write(
      `threads that take blocks: ${threads}; ${perSecond.toFixed(1)} blocks a second, ${cpuMs.toFixed(1)} ms of CPU each\n`,
    );
  }
process.exit();
