// Blocks, history and state that an upstream does not have, and another one may.
import type { Dialect } from "./dialect.ts";

const noBlock = { kind: "refused", lacks: "block" } as const;

export const LACKING_BLOCKS: readonly Dialect[] = [
  {
    of: ["geth", "erigon", "reth", "Alchemy", "Infura", "QuickNode"],
    words:
      /^(header|block)( for hash)? not found|^unknown (block|header)\b|^header range not found/i,
    means: noBlock,
    samples: [
      [-32000, "header not found"],
      [-32000, "header for hash not found"],
      [-32000, "unknown block"],
      [-32001, "block not found: 0xffff"],
      [-32001, "header range not found, start block 1, end block 2: start block: 1, end block: 2"],
      [-39001, "Unknown block"],
    ],
  },
  {
    of: ["geth", "besu", "nethermind", "Sei"],
    words:
      /\bblocks?\b.{0,80}\b(not found|could not be found|cannot be found)|^(could not|cannot) find block|^\d+ could not be found/i,
    means: noBlock,
    samples: [
      [-32000, "finalized block not found"],
      [-32000, "block #17000000 not found"],
      [-32000, "Parent block not found"],
      [-32001, "Block 0x1111 could not be found"],
      [-32000, "4294967295 could not be found"],
      [-32000, "could not find block for height 826401374464"],
      [
        -32000,
        "One of the blocks specified in filter (fromBlock, toBlock or blockHash) cannot be found.",
      ],
    ],
  },
  {
    of: ["geth", "reth", "erigon"],
    code: [-32000, -32602],
    words: /^block range extends beyond (the )?(current )?head|^request beyond head block/i,
    means: noBlock,
    samples: [
      [-32000, "block range extends beyond current head block"],
      [-32602, "block range extends beyond current head block: requested 200, head 100"],
    ],
  },
  {
    of: ["geth"],
    words: /\bis not currently canonical|^pending (block|state) is not available/i,
    means: noBlock,
    samples: [
      [-32000, "hash 0x1111 is not currently canonical"],
      [-32000, "pending block is not available"],
    ],
  },
  {
    of: ["anvil", "OnFinality", "conflux-rust"],
    code: [-32602, -32016, -32000],
    words:
      /^BlockOutOfRange(Error)?: block height is|^unknown block( number)?\b|^(Invalid params: |Error processing request: ((Filter error|Msg error detail): )?(Invalid params: )?)?expected a numbers with less than largest epoch number/i,
    means: noBlock,
    samples: [
      [-32602, "BlockOutOfRangeError: block height is 0 but requested was 65535"],
      [-32602, "Unknown block number"],
      [-32602, "Invalid params: expected a numbers with less than largest epoch number."],
      [
        -32016,
        "Error processing request: Filter error: Invalid params: expected a numbers with less than largest epoch number.",
      ],
      [
        -32016,
        "Error processing request: Msg error detail: Invalid params: expected a numbers with less than largest epoch number.",
      ],
    ],
  },
  {
    of: ["conflux-rust"],
    words: /\bunable to identify block\b|\bis not executed( yet)?\b/i,
    means: noBlock,
    samples: [
      [-32016, "Error processing request: Filter error: Unable to identify block 0x1111"],
      [
        -32016,
        "Error processing request: Epoch 200 is not executed, the latest state epoch is 100",
      ],
    ],
  },
  {
    of: ["proxyd", "Avalanche", "Cosmos chains", "providers"],
    words:
      /^block is out of range|^cannot query unfinalized data|^(requested )?height \d+ must be less than or equal|\bafter last accepted block\b|^upstream does not have the requested block yet/i,
    means: noBlock,
    samples: [
      [-32019, "block is out of range"],
      [-32000, "cannot query unfinalized data"],
      [-32000, "height 900 must be less than or equal to the current blockchain height 800"],
      [-32000, "requested from block 900 after last accepted block 800"],
      [-32603, "upstream does not have the requested block yet"],
    ],
  },
];

const noState = { kind: "refused", lacks: "state" } as const;

/** State that this node has dropped, never had, or does not give to our plan. */
export const LACKING_STATE: readonly Dialect[] = [
  {
    of: ["dRPC"],
    words: /^no available upstreams\b.{0,200}\blower height \d+ of type STATE/i,
    means: noState,
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
    means: noState,
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
    means: noState,
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
    means: noState,
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
    means: noState,
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
    means: noState,
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
    means: noState,
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

const noHistory = { kind: "refused", lacks: "history" } as const;

/** Blocks, receipts and logs that this node has dropped, or has not indexed. */
export const LACKING_HISTORY: readonly Dialect[] = [
  {
    of: ["EIP-4444", "reth", "nethermind", "geth"],
    code: 4444,
    means: noHistory,
    samples: [
      [4444, "pruned history unavailable"],
      [4444, "Pruned history unavailable"],
    ],
  },
  {
    of: ["geth", "nethermind", "X Layer", "Arc"],
    words:
      /^pruned history unavailable|^transaction indexing is in progress|\bhistory (has been |is |was )?(pruned|expired)/i,
    means: noHistory,
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
    means: noHistory,
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
    means: noHistory,
    samples: [
      [-32000, "receipts for block 5 have been pruned"],
      [-32000, "requested height has been pruned"],
      [-32016, "Error processing request: Filter error: Block 0x11 has been pruned from db"],
    ],
  },
  {
    of: ["conflux-rust"],
    words: /\bepoch is smaller than the earliest epoch stored|\bepoch .{0,40}\bpruned\b/i,
    means: noHistory,
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
    means: noHistory,
    samples: [
      [
        1,
        "no available upstreams to process a request. Cause - Upstream lower height 42810022 of type RECEIPTS is greater than 35662252",
      ],
    ],
  },
];
