// State that this node has dropped, never had, or does not give to our plan.
import type { Dialect } from "./dialect.ts";

const means = { kind: "refused", lacks: "state" } as const;

export const LACKING_STATE: readonly Dialect[] = [
  {
    of: ["dRPC"],
    words: /^no available upstreams\b.{0,200}\blower height \d+ of type STATE/i,
    means,
    samples: [
      [
        1,
        "no available upstreams to process a request. Cause - Upstream lower height 9 of type STATE is greater than 8",
      ],
    ],
  },
  {
    of: ["geth", "nethermind", "Cloudflare", "1RPC"],
    words:
      /^missing trie node|\bhistorical state\b.{0,100}\b(unavailable|not available|not yet available)|^(required )?state .{0,80}\bis (not available|unavailable)|\bstate histories haven't been fully indexed/i,
    means,
    samples: [
      [-32000, "missing trie node b797f6379be0 (path ) state 0x5aaa is not available, not found"],
      [-32000, "required historical state unavailable (reexec=128)"],
      [-32000, "historical state 0x5aaa is not available"],
      [-32000, "state 0x5aaa is not available"],
    ],
  },
  {
    of: ["reth", "geth", "nethermind", "besu"],
    words:
      /^(debug )?state at block #?\d+ is pruned|^no state (found|available) for block|^world state (is )?unavailable|\bis missing from the DB\b|^the requested state has been pruned/i,
    means,
    samples: [
      [-32000, "state at block #1000 is pruned"],
      [-32603, "no state found for block number 49107280"],
      [-32002, "No state available for block 0x11"],
      [-32000, "World state unavailable"],
    ],
  },
  {
    of: ["erigon", "OpenEthereum"],
    words:
      /^old data not available due to pruning|^this request is not supported because your node is running with state pruning/i,
    means,
    samples: [
      [-32000, "old data not available due to pruning: requested block 1"],
      [
        -32000,
        "This request is not supported because your node is running with state pruning. Run with --pruning=archive.",
      ],
    ],
  },
  {
    of: ["reth", "geth", "providers"],
    code: [-32602, -32000],
    words:
      /^distance to target block exceeds maximum proof window|^requested block is too old|^proofs are available only for the 'latest' block/i,
    means,
    samples: [
      [-32602, "distance to target block exceeds maximum proof window"],
      [
        -32000,
        "requested block is too old, block must be within 100000 blocks of the head block number (currently 22237523)",
      ],
    ],
  },
  {
    of: ["conflux-rust"],
    words: /\bstate for epoch .{1,160} does not exist/i,
    means,
    samples: [
      [
        -32016,
        "Error processing request: State for epoch (number=2119943 hash=0xd1) does not exist: out-of-bound StateAvailabilityBoundary { lower_bound: 2160001 }",
      ],
    ],
  },
  {
    // Of one and the same words for old blocks, old logs and traces: no method is missing for that.
    of: ["Chainstack", "publicnode", "Infura"],
    code: [-32002, -32602, -32000, -32701],
    words:
      /^archive(, debug and trace)? requests (are not available on your current plan|require a personal token)|^project id does not have access to archive state/i,
    means,
    samples: [
      [-32002, "Archive, Debug and Trace requests are not available on your current plan.", 403],
      [
        -32602,
        "Archive requests require a personal token. Get one at: https://www.allnodes.com/publicnode",
        403,
      ],
      [-32002, "project ID does not have access to archive state"],
    ],
  },
];
