// Puts generated blocks into a store, and measures the processor time of following them.
import { mkdirSync } from "node:fs";
import { BlockStore } from "../src/chain/block-store.ts";
import { ambiguityIn } from "../src/jsonrpc/ambiguity.ts";
import { proveBlock, recordOf } from "../test/support/at-once.ts";
import type { GeneratedBlock, GeneratedChain } from "../test/support/generated-chain.ts";

const WRITTEN_AT_ONCE = 64;
const UNBOUNDED = 2 ** 40;

export type Filled = {
  readonly blocks: number;
  readonly bytesPerBlock: number;
  /** The size of the node's JSON: the block and its receipts. */
  readonly rawBytesPerBlock: number;
  /** The time to read, prove, cut and store a block, by the wall clock and in processor time, in milliseconds. */
  readonly ms: number;
  readonly cpuMs: number;
};

/** Parses, proves, cuts and stores blocks as the follower does. The time to generate them does not count. */
export async function fillStore(
  path: string,
  {
    chain,
    blocks,
    atOnce = WRITTEN_AT_ONCE,
  }: { chain: GeneratedChain; blocks: number; atOnce?: number },
): Promise<Filled> {
  mkdirSync(path, { recursive: true });
  const store = new BlockStore({ path, windowBlocks: UNBOUNDED, bytes: UNBOUNDED });
  await store.prepareFor(1);
  let ms = 0;
  let cpuMs = 0;
  let raw = 0;
  let next = chain.head.number;
  for (let left = blocks; left > 0; left -= atOnce) {
    const count = Math.min(left, atOnce);
    chain.extend(left === blocks ? count - 1 : count);
    const some = Array.from({ length: count }, (_, index) => jsonOf(chain.block(next + index)));
    next += count;
    chain.forget();
    const startedAt = performance.now();
    const before = process.cpuUsage();
    await store.apply({ removed: 0, added: some.map(takeIn) });
    const used = process.cpuUsage(before);
    ms += performance.now() - startedAt;
    cpuMs += (used.user + used.system) / 1000;
    raw += some.reduce((sum, { block, receipts }) => sum + block.length + receipts.length, 0);
  }
  const bytesPerBlock = store.tables.bytes / blocks;
  await store.close();
  return {
    blocks,
    bytesPerBlock,
    rawBytesPerBlock: raw / blocks,
    ms: ms / blocks,
    cpuMs: cpuMs / blocks,
  };
}

const jsonOf = (generated: GeneratedBlock | undefined) => ({
  block: Buffer.from(generated?.blockJson ?? ""),
  receipts: Buffer.from(generated?.receiptsJson ?? ""),
});

function takeIn(json: ReturnType<typeof jsonOf>) {
  const ambiguity = ambiguityIn(json.block) ?? ambiguityIn(json.receipts);
  const parsed = {
    block: JSON.parse(json.block.toString()),
    receipts: JSON.parse(json.receipts.toString()),
  };
  const proof = proveBlock(parsed, { chainId: 1 });
  const record = recordOf(json, parsed, "full");
  if (ambiguity || proof.kind !== "proven" || proof.unproven.length > 0 || !record)
    throw new Error(`a generated block is not proven: ${JSON.stringify(proof)}`);
  return record;
}
