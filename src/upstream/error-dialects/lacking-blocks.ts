// A block that this node does not know: it may be behind, and another one further.
import type { Dialect } from "./dialect.ts";

const means = { kind: "refused", lacks: "block" } as const;

export const LACKING_BLOCKS: readonly Dialect[] = [
  {
    of: ["geth", "erigon", "reth", "Alchemy", "Infura", "QuickNode"],
    words:
      /^(header|block)( for hash)? not found|^unknown (block|header)\b|^header range not found/i,
    means,
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
    means,
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
    means,
    samples: [
      [-32000, "block range extends beyond current head block"],
      [-32602, "block range extends beyond current head block: requested 200, head 100"],
    ],
  },
  {
    of: ["geth"],
    words: /\bis not currently canonical|^pending (block|state) is not available/i,
    means,
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
    means,
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
    means,
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
    means,
    samples: [
      [-32019, "block is out of range"],
      [-32000, "cannot query unfinalized data"],
      [-32000, "height 900 must be less than or equal to the current blockchain height 800"],
      [-32000, "requested from block 900 after last accepted block 800"],
      [-32603, "upstream does not have the requested block yet"],
    ],
  },
];
