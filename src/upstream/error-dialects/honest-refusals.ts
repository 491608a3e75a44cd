// Noes that any node would repeat, in words which resemble those of busy, poor or failing nodes. They
// stand before those in the table, so that nobody is blamed for them.
import type { Dialect } from "./dialect.ts";

const means = { kind: "refused" } as const;

export const HONEST_REFUSALS: readonly Dialect[] = [
  {
    of: ["Infura", "geth", "nethermind", "Alchemy", "1RPC", "Cloudflare"],
    words:
      /\bmore than [\d,.]+k? (results|logs|blocks)|\bquery (timeout exceeded|exceeds (max|limit))|\b(response|result)( set)?( size)?( is)? (too (large|big)|exceeded|should not)|\btoo many (results|logs|addresses|topics)|\bless number of address/i,
    means,
    samples: [
      [
        -32005,
        "query returned more than 10000 results. Try with this block range [0xCB3D, 0x7B737].",
      ],
      [-32005, "query timeout exceeded"],
      [-32000, "query exceeds max results 20000, retry with the range 1-2"],
      [-32000, "response size should not greater than 2097152 bytes"],
      [-32003, "response too large"],
      [-32000, "Please, specify less number of addresses"],
    ],
  },
  {
    of: ["BNB Smart Chain"], // of a range that is too wide; others say so when asked too often
    method: /_getLogs$/,
    code: -32005,
    words: /^limit exceeded\.?$/i,
    means,
    samples: [[-32005, "limit exceeded", 200, "eth_getLogs"]],
  },
  {
    of: ["dRPC", "QuickNode", "LlamaRPC", "BlockPI", "Alchemy", "GetBlock", "besu"],
    words:
      /\b(block|blocks|getlogs|max|requested) (distance |block )?range\b|\branges? (is |are )?(too|over|exceeds|limit)|\b(eth_getlogs|eth_newfilter|cfx_getlogs)\b.{0,60}\b(limited to|up to a)|\bmax_gap\b|\bblocks? distance\b/i,
    means,
    samples: [
      [35, "ranges over 10000 blocks are not supported on freetier", 400],
      [-32614, "eth_getLogs is limited to a 10,000 range", 413],
      [-32603, "eth_getLogs range is too large, max is 1k blocks"],
      [-32602, "eth_getLogs is limited to 1024 block range"],
      [
        -32600,
        "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range.",
      ],
      [-32000, "Block range limit exceeded. See more details at https://docs.blockpi.io/"],
      [-32005, "Requested range exceeds maximum RPC range limit"],
      [
        -32047,
        "Invalid eth_getLogs request. 'fromBlock'-'toBlock' range too large. Max range: 800",
      ],
    ],
  },
  {
    of: ["publicnode"],
    words: /^please specify an address in your request/i,
    means,
    samples: [
      [
        -32701,
        "Please specify an address in your request or, to remove restrictions, order a dedicated full node here: https://www.allnodes.com/eth/host",
      ],
    ],
  },
  {
    // Of a transaction. Nodes give these many codes, -32004 to -32010 among them.
    of: ["geth", "besu", "reth", "nethermind", "QuickNode"],
    words:
      /\bnonce\b|\balready (known|imported|exists?)|\bknown transaction|\bunderpriced|\binsufficient (funds|balance)|\bupfront cost|\bgas (price|limit|fee)|\bintrinsic gas|\bfee cap\b|\bgas too (low|high)|\bout of gas|\bin-flight transaction|\bsender account not authorized|\bexceeds? (the )?(block|configured) (gas|cap)|\btransaction (cost|type)\b|\btx fee\b/i,
    means,
    samples: [
      [-32000, "nonce too low: next nonce 5, tx nonce 4"],
      [-32000, "already known"],
      [-32000, "in-flight transaction limit reached for delegated accounts"],
      [-32004, "Upfront cost exceeds account balance"],
      [-32005, "Transaction gas limit exceeds block gas limit"],
      [-32007, "Sender account not authorized to send transactions"],
      [-32009, "Gas price below configured minimum gas price"],
      [-32010, "Transaction cost exceeds current gas limit. Limit: 30000000, got: 40000000."],
    ],
  },
  {
    // The node is right, and so would the next one be: these are not about methods or load.
    of: ["geth", "reth", "besu", "anvil"],
    words:
      /^(filter|logs filter|subscription|transaction|receipt|account) not found|^transaction type not supported|^rlp: |^invalid (sender|signature|opcode|jump)/i,
    means,
    samples: [
      [-32000, "filter not found"],
      [-32000, "Logs filter not found"],
      [-32000, "transaction not found"],
      [-32000, "transaction type not supported"],
      [-32000, "rlp: value size exceeds available input length"],
    ],
  },
  {
    of: ["jsonrpsee", "1RPC", "proxyd"],
    words:
      /^(json rpc )?(request|response) is too (large|big)|^too many rpc calls in batch|^batch (too large|size)|^number of requests exceeds max batch/i,
    means,
    samples: [
      [-32007, "Request is too big"],
      [-32008, "Response is too big"],
      [-32600, "JSON RPC Request is too large"],
      [-32014, "too many RPC calls in batch request"],
    ],
  },
];
