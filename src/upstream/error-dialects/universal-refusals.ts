// Refusals that any node would repeat, worded like refusals by busy, limited or failing nodes. These rows precede the
// others, so that no node is blamed for them.
import { withMeaning } from "./dialect.ts";

export const UNIVERSAL_REFUSALS = withMeaning({ kind: "refused" }, [
  {
    of: ["Infura", "geth", "nethermind", "Alchemy", "1RPC", "Cloudflare"],
    words:
      /\b(more|larger|greater|bigger) than [\d,.]+k? ?(results|logs|blocks|max|MB)|\brounds in logs query\b|\bquery must be smaller\b|\bcontains \d+ filters\b|\bquery (timeout exceeded|exceeds (max|limit))|\b(response|result)( set)?( size)?( is)? (too (large|big)|exceeded|should not)|\btoo many (results|logs|addresses|topics)|\bless number of address/i,
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
    // The call's own fault, in the words of the machine that ran it or of the parser that read it.
    of: ["geth", "reth", "erigon", "nethermind", "besu", "parsers of parameters"],
    words:
      /^((err|error|evm error|execution (failed|error)|vm execution error|call failed|failed to trace|tracing failed|internal error): )?(out ?of ?gas|stack ?(under|over)flow|stack limit|(invalid|bad) ?(opcode|jump|instruction|argument|params?|parameters?|input|address|hex|type|length|signature|topic)|write protection|static ?(call )?state ?change|contract address collision|create collision|max(imum)? (call depth|code size|initcode size)|call depth|gas (uint64 overflow|required exceeds)|return data out of bounds|contract creation code|opcode .{1,40} (not|undefined)|nonce |missing (value|required|parameter|argument|field)|json: |hex (string|number)|cannot unmarshal|too many arguments|unknown (field|variant|member)|deserializ|supplied gas|err: max fee|tracer not found|genesis is not traceable|method handler expects|error parsing|parse error)/i,
  },
  {
    of: ["jsonrpsee", "1RPC", "proxyd"],
    words:
      /^(json rpc )?(request|response) is too (large|big)|^too many rpc calls in batch|^batch (too large|size)|^number of requests exceeds max batch/i,
  },
]);
