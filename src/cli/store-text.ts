// The text that `headgate store` prints. The help of the program needs its help without opening a store. Pure.

import type { BlockTables } from "../chain/block-tables.ts";
import type { KeptSegment } from "../chain/kept-segments.ts";
import type { ProofLevel } from "../chain/stored-block.ts";

export const STORE_HELP = `  headgate store show [--network NAME] [--json]
        tells what is stored: blocks, their proofs, and who told what is kept of old logs
  headgate store forget --network NAME (--upstream NAME | --blocks FROM-TO | --all)
        forgets what nodes told of logs of old blocks, also while a gateway runs`;

type StoreView = {
  readonly head: number | undefined;
  readonly tail: number | undefined;
  /** From tail to head. */
  readonly blocks: number;
  /** The size of the store on disk. */
  readonly bytes: number;
  /** How many blocks are proven, by how far. */
  readonly proofs: Readonly<Record<ProofLevel, number>>;
  /** Logs of older blocks as upstreams told them. Those that an earlier version stored have no upstream. */
  readonly segments: readonly KeptBy[];
};

type KeptBy = { readonly upstreams: string; readonly segments: number; readonly bytes: number };

type Readable = Pick<BlockTables, "head" | "tail" | "bytes" | "hashAt" | "outline">;

export function describeStore(store: Readable, kept: readonly KeptSegment[]): StoreView {
  const { tail, bytes } = store;
  const head = store.head?.number;
  const proofs = { full: 0, partial: 0, none: 0 };
  let blocks = 0;
  for (let number = tail ?? 0; number <= (head ?? -1); number += 1) {
    const hash = store.hashAt(number);
    const outline = hash === undefined ? undefined : store.outline(hash);
    if (!outline) continue;
    blocks += 1;
    proofs[outline.proof] += 1;
  }
  return { head, tail, blocks, bytes, proofs, segments: byUpstream(kept) };
}

function byUpstream(segments: readonly KeptSegment[]): KeptBy[] {
  const kept = new Map<string, { segments: number; bytes: number }>();
  for (const { upstreams, bytes } of segments) {
    const name = upstreams.join(", ") || "?";
    const sum = kept.get(name) ?? { segments: 0, bytes: 0 };
    kept.set(name, { segments: sum.segments + 1, bytes: sum.bytes + bytes });
  }
  return [...kept].map(([upstreams, sum]) => ({ upstreams, ...sum }));
}

export function storeText({ network, ...view }: StoreView & { readonly network: string }): string {
  const { head, tail, blocks, bytes, proofs, segments } = view;
  const range = head === undefined ? "no blocks" : `${blocks} blocks, ${tail} to ${head}`;
  const { full, partial, none } = proofs;
  return [
    `${network}: ${range}, ${megabytes(bytes)}`,
    `  proof: full ${full}, partial ${partial}, none ${none}`,
    ...segments.map(
      (kept) =>
        `  old logs told by ${kept.upstreams}: ${kept.segments} segments, ${megabytes(kept.bytes)}`,
    ),
  ].join("\n");
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(1)} MB`;
