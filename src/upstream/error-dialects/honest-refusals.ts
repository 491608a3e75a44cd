// Noes that any node would repeat, in words which resemble those of busy, poor or failing nodes. They
// stand before those in the table, so that nobody is blamed for them.
import { allMean } from "./dialect.ts";

export const HONEST_REFUSALS = allMean({ kind: "refused" }, [
  {
    of: ["Infura", "geth", "nethermind", "Alchemy", "1RPC", "Cloudflare"],
    words:
      /\bmore than [\d,.]+k? (results|logs|blocks)|\bquery (timeout exceeded|exceeds (max|limit))|\b(response|result)( set)?( size)?( is)? (too (large|big)|exceeded|should not)|\btoo many (results|logs|addresses|topics)|\bless number of address/i,
  },
  {
    of: ["BNB Smart Chain"], // of a range that is too wide; others say so when asked too often
    method: /_getLogs$/,
    code: -32005,
    words: /^limit exceeded\.?$/i,
  },
  {
    of: ["dRPC", "QuickNode", "LlamaRPC", "BlockPI", "Alchemy", "GetBlock", "besu"],
    words:
      /\b(block|blocks|getlogs|max|requested) (distance |block )?range\b|\branges? (is |are )?(too|over|exceeds|limit)|\b(eth_getlogs|eth_newfilter|cfx_getlogs)\b.{0,60}\b(limited to|up to a)|\bmax_gap\b|\bblocks? distance\b/i,
  },
  {
    of: ["publicnode"],
    words: /^please specify an address in your request/i,
  },
  {
    // Of a transaction. Nodes give these many codes, -32004 to -32010 among them.
    of: ["geth", "besu", "reth", "nethermind", "QuickNode"],
    words:
      /\bnonce\b|\balready (known|imported|exists?)|\bknown transaction|\bunderpriced|\binsufficient (funds|balance)|\bupfront cost|\bgas (price|limit|fee)|\bintrinsic gas|\bfee cap\b|\bgas too (low|high)|\bout of gas|\bin-flight transaction|\bsender account not authorized|\bexceeds? (the )?(block|configured) (gas|cap)|\btransaction (cost|type)\b|\btx fee\b/i,
  },
  {
    // The node is right, and so would the next one be: these are not about methods or load.
    of: ["geth", "reth", "besu", "anvil"],
    words:
      /^(filter|logs filter|subscription|transaction|receipt|account) not found|^transaction type not supported|^rlp: |^invalid (sender|signature|opcode|jump)/i,
  },
  {
    of: ["jsonrpsee", "1RPC", "proxyd"],
    words:
      /^(json rpc )?(request|response) is too (large|big)|^too many rpc calls in batch|^batch (too large|size)|^number of requests exceeds max batch/i,
  },
]);
