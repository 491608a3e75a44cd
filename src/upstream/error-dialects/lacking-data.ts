// Wordings of an upstream that lacks blocks, history or state, which another upstream may have.
import { withMeaning } from "./dialect.ts";

export const LACKING_BLOCKS = withMeaning({ kind: "refused", lacks: "block" }, [
  {
    of: ["geth", "erigon", "reth", "Alchemy", "Infura", "QuickNode"],
    words:
      /^(header|block)( for hash)? not found|^unknown (block|header)\b|^header range not found/i,
  },
  {
    of: ["geth", "besu", "nethermind", "Sei"],
    words:
      /\bblocks?\b.{0,80}\b(not found|could not be found|cannot be found)|^(could not|cannot) find block|^\d+ could not be found/i,
  },
  {
    of: ["geth", "reth", "erigon"],
    code: [-32000, -32602],
    words: /^block range extends beyond (the )?(current )?head|^request beyond head block/i,
  },
  {
    of: ["geth"],
    words: /\bis not currently canonical|^pending (block|state) is not available/i,
  },
  {
    of: ["anvil", "OnFinality", "conflux-rust"],
    code: [-32602, -32016, -32000],
    words:
      /^BlockOutOfRange(Error)?: block height is|^unknown block( number)?\b|^(Invalid params: |Error processing request: ((Filter error|Msg error detail): )?(Invalid params: )?)?expected a numbers with less than largest epoch number/i,
  },
  {
    of: ["conflux-rust"],
    words: /\bunable to identify block\b|\bis not executed( yet)?\b/i,
  },
  {
    of: ["proxyd", "Avalanche", "Cosmos chains", "providers"],
    words:
      /^block is out of range|^cannot query unfinalized data|^(requested )?height \d+ must be less than or equal|\bafter last accepted block\b|^upstream does not have the requested block yet/i,
  },
]);

/** State that the node has dropped, never had, or withholds from the gateway's plan. */
export const LACKING_STATE = withMeaning({ kind: "refused", lacks: "state" }, [
  {
    of: ["dRPC"],
    words: /^no available upstreams\b.{0,200}\blower height \d+ of type STATE/i,
  },
  {
    of: ["geth", "nethermind", "Cloudflare", "1RPC"],
    words:
      /^missing trie node|\bhistorical state\b.{0,100}\b(unavailable|not available|not yet available)|^(required )?state .{0,80}\bis (not available|unavailable)|\bstate histories haven't been fully indexed/i,
  },
  {
    of: ["reth", "geth", "nethermind", "besu"],
    words:
      /^(debug )?state at block #?\d+ is pruned|^no state (found|available) for block|^world state (is )?unavailable|\bis missing from the DB\b|^the requested state has been pruned/i,
  },
  {
    of: ["erigon", "OpenEthereum"],
    words:
      /^old data not available due to pruning|^this request is not supported because your node is running with state pruning/i,
  },
  {
    of: ["reth", "geth", "providers"],
    code: [-32602, -32000],
    words:
      /^distance to target block exceeds maximum proof window|^requested block is too old|^proofs are available only for the 'latest' block/i,
  },
  {
    of: ["conflux-rust"],
    words: /\bstate for epoch .{1,160} does not exist/i,
  },
  {
    // The same words are used for old blocks, old logs and traces: they do not mean that a method is missing.
    of: ["Chainstack", "publicnode", "Infura"],
    code: [-32002, -32602, -32000, -32701],
    words:
      /^archive(, debug and trace)? requests (are not available on your current plan|require a personal token)|^project id does not have access to archive state/i,
  },
]);

/** Blocks, receipts and logs that the node has dropped or not indexed. */
export const LACKING_HISTORY = withMeaning({ kind: "refused", lacks: "history" }, [
  {
    of: ["EIP-4444", "reth", "nethermind", "geth"],
    code: 4444,
  },
  {
    of: ["geth", "nethermind", "X Layer", "Arc"],
    words:
      /^pruned history unavailable|^transaction indexing is in progress|\bhistory (has been |is |was )?(pruned|expired)/i,
  },
  {
    of: ["nethermind"],
    code: [-32602, -32000, -32001],
    words: /^receipts for block .{1,100} are neither stored nor reproducible/i,
  },
  {
    of: ["besu", "erigon", "reth", "Sei"],
    words:
      /\b(receipts?|blocks?|logs?|bod(y|ies)|transactions?|height)\b.{0,60}\b(is|are|was|were|has been|have been|been) (already )?pruned\b/i,
  },
  {
    of: ["conflux-rust"],
    words: /\bepoch is smaller than the earliest epoch stored|\bepoch .{0,40}\bpruned\b/i,
  },
  {
    of: ["dRPC"],
    words: /^no available upstreams\b.{0,200}\blower height \d+ of type (?!STATE)/i,
  },
]);
