// The interface of the writer of a store, and how a block is ingested: fetched from one node, parsed, proven against its
// own hashes, and cut into the parts that the store holds. Ingesting a block is slow and decides nothing, so it runs in
// this thread or in the writer thread (thread/writer-thread.ts).

import { findAmbiguity } from "../jsonrpc/ambiguity.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Turns, Work } from "../lib/turns.ts";
import {
  type BlockPart,
  type NetworkRules,
  type Proof,
  proveInSteps,
} from "../proofs/prove-block.ts";
import { type BlockRecord, cutRecord } from "./block-record.ts";
import type { BlockStore, ChainUpdate } from "./block-store.ts";
import type {
  AskedUpstream,
  BlockLimits,
  ChainDialect,
  Fetched,
  FetchedBlock,
  ReceiptTerms,
  Reference,
} from "./dialect.ts";
import type { ProofLevel, ProofLevels } from "./stored-block.ts";

/** As `BlockStore`, for blocks that the `IngestBlock` beside it ingested, which may have left their parts in another thread. */
export type StoreWriting = Omit<BlockStore, "apply" | "startAt" | "below" | "keep"> & {
  apply(update: Pick<ChainUpdate, "removed"> & { added: readonly IngestedBlock[] }): Promise<void>;
  startAt(block: IngestedBlock): Promise<void>;
  /** As `BlocksBelow`. */
  readonly below: {
    add(blocks: readonly IngestedBlock[]): Promise<boolean>;
    finish(): Promise<number>;
  };
  keep(block: IngestedBlock, isCanonical: boolean): Promise<void>;
};

/** The parts of a block that decisions need; the store's side has the other parts. */
export type IngestedBlock = Pick<BlockRecord, "hash" | "outline">;

export type IngestTerms = {
  readonly limits: BlockLimits;
  /** undefined on a network without proofs. */
  readonly rules: NetworkRules | undefined;
  readonly receipts: ReceiptTerms;
};

/** The proof of a block; undefined on a network without proofs. */
export type ProvenSoFar = Extract<Proof, { kind: "proven" }> | undefined;

export type IngestOutcome<Block = IngestedBlock> =
  | Exclude<Fetched, { kind: "fetched" }>
  | { readonly kind: "ingested"; readonly block: Block; readonly proof: ProvenSoFar }
  /** The block does not match its own hashes, or is not the block that was asked for. */
  | {
      readonly kind: "refuted";
      readonly part: string;
      readonly reason: string;
      readonly number: string;
      readonly hash: string;
    };

/** Ingests a block of a node. Never rejects. The signal ends only the calls to the node. */
export type IngestBlock<Block = IngestedBlock> = (
  reference: Reference,
  node: AskedUpstream,
  terms: IngestTerms & { readonly signal: Signal },
) => Promise<IngestOutcome<Block>>;

export const ingestHere =
  ({
    dialect,
    turns,
  }: {
    readonly dialect: Pick<ChainDialect, "fetchBlock">;
    readonly turns: Pick<Turns, "do">;
  }): IngestBlock<BlockRecord> =>
  async (reference, node, { limits, rules, receipts, signal }) => {
    const answer = await dialect.fetchBlock(reference, node, { limits, receipts, turns, signal });
    if (answer.kind !== "fetched") return answer;
    // A block may be huge, so other work has its turn in between.
    return turns.do(judge(reference, answer.fetched, rules));
  };

export function levelOf(proof: ProvenSoFar): ProofLevel {
  if (proof === undefined) return "none";
  if (proof.unproven.includes("header hash")) return "none";
  return proof.unproven.length === 0 && proof.odd.length === 0 ? "full" : "partial";
}

/** The parts that a block's receipts are proven by. */
const OF_RECEIPTS: ReadonlySet<BlockPart | "places"> = new Set(["receipts root", "logs bloom"]);

/** The proof of the block without its receipts. */
const withoutReceipts = (proof: ProvenSoFar): ProvenSoFar =>
  proof && {
    ...proof,
    unproven: proof.unproven.filter((part) => !OF_RECEIPTS.has(part)),
    odd: proof.odd.filter(({ part }) => !OF_RECEIPTS.has(part)),
  };

const levelsOf = (proof: ProvenSoFar): ProofLevels => ({
  proof: levelOf(proof),
  blockProof: levelOf(withoutReceipts(proof)),
});

function* judge(
  reference: Reference,
  fetched: FetchedBlock,
  rules: NetworkRules | undefined,
): Work<IngestOutcome<BlockRecord>> {
  const { number, hash } = fetched.block;
  const refuted = (part: string, reason: string) =>
    ({ kind: "refuted", part, reason, number, hash }) as const;
  // For a height without a block, some nodes give the block before it.
  if ("number" in reference && Number(number) < reference.number) return { kind: "unknown" };
  if (!isTheOneAskedFor(reference, fetched))
    return refuted("identity", "another block than asked for");
  // The proof covers the parsed block, but the node's bytes are stored and served: both must mean the same.
  const ambiguity = yield* ambiguityOf(fetched);
  if (ambiguity !== undefined) return refuted("shape", ambiguity);
  const { block, receipts, uncles } = fetched;
  const parts = { block, ...(receipts ? { receipts } : {}), ...(uncles ? { uncles } : {}) };
  const proven = rules && (yield* proveInSteps(parts, rules));
  if (proven?.kind === "failed") return refuted(proven.part, proven.reason);
  // Nothing is told of receipts that the node does not hold, so nothing of them is unproven.
  const proof = receipts ? proven : withoutReceipts(proven);
  const record = yield* cutRecord(fetched.json, fetched, levelsOf(proof));
  if (!record) return refuted("shape", "not a block in the form of nodes");
  return { kind: "ingested", block: record, proof };
}

const isTheOneAskedFor = (reference: Reference, { block }: FetchedBlock): boolean =>
  "hash" in reference
    ? block.hash.toLowerCase() === reference.hash.toLowerCase()
    : Number(block.number) === reference.number;

function* ambiguityOf({ json, spans }: FetchedBlock): Work<string | undefined> {
  const { block, receipts, uncles } = json;
  const unclear = [
    ...[spans?.transactions.isClear ? undefined : block],
    ...[spans?.receipts?.isClear ? undefined : receipts, uncles],
  ];
  for (const text of unclear) {
    const found = text && (yield* findAmbiguity(text));
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Holds ingested blocks in the writer thread until they are stored. The other thread names them by number. */
export class HeldBlocks {
  /** Oldest first. */
  readonly #records = new Map<number, BlockRecord>();
  #bytes = 0;
  readonly #most: number;

  /** @param options.bytes Above this total the oldest blocks are forgotten; one block is held however large it is. */
  constructor(options: { readonly bytes: number }) {
    this.#most = options.bytes;
  }

  hold(id: number, record: BlockRecord): void {
    this.#records.set(id, record);
    this.#bytes += bytesOf(record);
    for (const oldest of this.#records.keys()) {
      if (this.#bytes <= this.#most || oldest === id) return;
      this.forget(oldest);
    }
  }

  forget(id: number): void {
    const record = this.#records.get(id);
    if (!record) return;
    this.#records.delete(id);
    this.#bytes -= bytesOf(record);
  }

  /** Returns the block and holds it no longer. @throws When the block was forgotten, or an earlier thread held it. */
  release(id: number): BlockRecord {
    const record = this.#records.get(id);
    if (!record) throw new Error("a block that was prepared no longer exists");
    this.forget(id);
    return record;
  }
}

const bytesOf = ({ outline: { transactionBytes, receiptBytes } }: BlockRecord): number =>
  transactionBytes + receiptBytes;
