// Refusals that any node would repeat, worded like refusals by busy, limited or failing nodes. These rows precede the
// others, so that no node is blamed for them.
import { withMeaning } from "./dialect.ts";

export const UNIVERSAL_REFUSALS = withMeaning({ kind: "refused" }, [
  {
    of: ["Infura", "geth", "nethermind", "Alchemy", "1RPC", "Cloudflare"],
    words:
      /\bmore than [\d,.]+k? (results|logs|blocks)|\bquery (timeout exceeded|exceeds (max|limit))|\b(response|result)( set)?( size)?( is)? (too (large|big)|exceeded|should not)|\btoo many (results|logs|addresses|topics)|\bless number of address/i,
  },
  {
    of: ["BNB Smart Chain"], // about too wide a range; other nodes use these words when rate-limited
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
    // Refused transactions. Nodes use many codes for them, such as -32004 to -32010.
    of: ["geth", "besu", "reth", "nethermind", "QuickNode"],
    words:
      /\bnonce\b|\balready (known|imported|exists?)|\bknown transaction|\bunderpriced|\binsufficient (funds|balance)|\bupfront cost|\bgas (price|limit|fee)|\bintrinsic gas|\bfee cap\b|\bgas too (low|high)|\bout of gas|\bin-flight transaction|\bsender account not authorized|\bexceeds? (the )?(block|configured) (gas|cap)|\btransaction (cost|type)\b|\btx fee\b/i,
  },
  {
    // Correct refusals that the next node would repeat; they are not about methods or load.
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
