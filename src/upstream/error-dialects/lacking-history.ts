// Blocks, receipts and logs that this node has dropped, or has not indexed.
import type { Dialect } from "./dialect.ts";

const means = { kind: "refused", lacks: "history" } as const;

export const LACKING_HISTORY: readonly Dialect[] = [
  {
    of: ["EIP-4444", "reth", "nethermind", "geth"],
    code: 4444,
    means,
    samples: [
      [4444, "pruned history unavailable"],
      [4444, "Pruned history unavailable"],
    ],
  },
  {
    of: ["geth", "nethermind", "X Layer", "Arc"],
    words:
      /^pruned history unavailable|^transaction indexing is in progress|\bhistory (has been |is |was )?(pruned|expired)/i,
    means,
    samples: [
      [-32000, "pruned history unavailable: requested 1, earliest available 2"],
      [-32000, "transaction indexing is in progress"],
      [-32000, "block history has been pruned"],
    ],
  },
  {
    of: ["nethermind"],
    code: [-32602, -32000, -32001],
    words: /^receipts for block .{1,100} are neither stored nor reproducible/i,
    means,
    samples: [
      [
        -32602,
        "Receipts for block 5 (0x11) are neither stored nor reproducible from state history.",
      ],
    ],
  },
  {
    of: ["besu", "erigon", "reth", "Sei"],
    words:
      /\b(receipts?|blocks?|logs?|bod(y|ies)|transactions?|height)\b.{0,60}\b(is|are|was|were|has been|have been|been) (already )?pruned\b/i,
    means,
    samples: [
      [-32000, "receipts for block 5 have been pruned"],
      [-32000, "requested height has been pruned"],
      [-32016, "Error processing request: Filter error: Block 0x11 has been pruned from db"],
    ],
  },
  {
    of: ["conflux-rust"],
    words: /\bepoch is smaller than the earliest epoch stored|\bepoch .{0,40}\bpruned\b/i,
    means,
    samples: [
      [
        -32016,
        "Error processing request: Filter error: Epoch is smaller than the earliest epoch stored (epoch: 1, min: 2)",
      ],
    ],
  },
  {
    of: ["dRPC"],
    words: /^no available upstreams\b.{0,200}\blower height \d+ of type (?!STATE)/i,
    means,
    samples: [
      [
        1,
        "no available upstreams to process a request. Cause - Upstream lower height 42810022 of type RECEIPTS is greater than 35662252",
      ],
    ],
  },
];
