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
      /^block is out of range$|^cannot query unfinalized data|^(requested )?height \d+ must be less than or equal|\bafter last accepted block\b|^upstream does not have the requested block yet/i,
  },
  {
    of: ["Substrate chains", "Kaia", "Sonic", "nodes that say where their head is"],
    words:
      /^expect block number from id\b|\bblock height passed is invalid\b|^invalid block ?(height|hash)\b|\bfind finalize ?block\b|\b(greater|higher|larger|newer) than (the )?(latest|current|head|highest|best)\b|\b(exceeds|beyond|above) (the )?(latest|current|chain|best) ?(chain )?(block|head|height)|^request beyond head block/i,
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
    code: [-32602, -32000, -32603],
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
  {
    of: ["Kava", "Cronos", "Evmos", "Sei", "0g", "THORChain", "other Cosmos chains"],
    words:
      /\bfailed to load state\b|\bno commit info found\b|\bversion does not exist\b|\bversion has either been pruned\b|\b(module|store) does not exist (on|at) height\b|\bnode state is pruned\b|\bcannot query with height\b/i,
  },
  {
    of: ["op-geth", "celo", "other rollups"],
    words:
      /\bno historical rpc\b|\bhistorical (backend|rpc|node)\b.{0,30}\b(error|failed|unavailable)|\bpre-?(bedrock|gingerbread|regenesis|nitro|merge)\b.{0,60}\b(request|state|block|not)/i,
  },
  {
    of: ["geth", "Avalanche", "bsc", "erigon", "databases of nodes"],
    words:
      /^(leveldb|pebble|badger|rocksdb|mdbx|boltdb|freezer)\b.{0,60}\bnot ?found|^empty reader set|^unexpected (state )?root\b|\btrie (does not|is not|not)\b|\bmissing (state|account trie|storage trie)\b|\b(state ?root|root ?hash|snapshot) (is )?(missing|not found|unknown)\b|\b(load|find|open|before the) snapshot\b|\b(recreat|regenerat|reexecut)(e|ing)\b.{0,60}\bstate\b|\bstate (recreation|regeneration)\b/i,
  },
  {
    of: ["Moonbeam", "Moonriver", "other Substrate chains"],
    words:
      /\bstate already discarded\b|\bUnknown ?Block\b|\bmetadata is not found\b|\bheader was not found in the database\b/i,
  },
  {
    of: ["Filecoin"],
    words:
      /\btipset (state|height)\b|\b(load|loading) (state tree|messages for tipset)\b|\blookbacks? of more than\b/i,
  },
  {
    of: ["Arbitrum", "Avalanche", "Conflux", "nodes that tell their oldest block"],
    words:
      /\b(lowest|earliest|oldest|first)( \w{1,20}){0,3} (blocks?|height|version|state|slot)\b|\b(blocks?|height|epoch|version|slot)\b.{0,60}\b((lowest|earliest|oldest) (available|stored|known)|too old|too far (back|behind|in the past)|out[ -]of[ -](the )?(node's )?(bounds|history|available)|(lower|less|older) than (the )?(base|lowest|earliest|minimum|first)|no longer (available|stored|kept|supported)|not within (the )?(recent|available|retained)|outside (of )?(the )?(available|retained|retention|history|recent))|^unsupported block number|^no such version\b|\bonly( the)? (last|recent|latest|newest) \d+ blocks\b|\bheight is not available\b|^max height of block allowed/i,
  },
  {
    of: ["Tron", "nodes of the newest state alone"],
    code: [-32602, -32600, -32000, -32603, -32001, -32004],
    words:
      /\bjust support tag as latest|\bonly\b.{0,40}\b(latest|recent|newest|current)\b.{0,40}\b(block|blocks|state|height|tag)\b.{0,40}\b(supported|available|allowed)|\bonly (support|serve|keep|store)s?\b.{0,40}\b(latest|recent|newest)\b/i,
  },
  {
    of: ["Chainstack", "Alchemy", "QuickNode", "Fantom", "providers without archives"],
    code: [-32000, -32001, -32002, -32004, -32005, -32600, -32602, -32603, -32701, 35, 403],
    words:
      /\barchiv(e|al)\b.{0,100}\b(not|required?|requires|only|unavailable|disabled|upgrade|needs?|plan)\b|\b(not|requires?|needs?|only|without|maintain|use|upgrade)\b.{0,80}\barchiv(e|al)\b/i,
  },
  {
    of: ["nodes that name the state"],
    code: [-32000, -32001, -32002, -32004, -32005, -32016, -32600, -32602, -32603, -32801, -39001],
    words:
      /\b(state|world state|state root|trie|trie node|historical (data|state|query|queries|requests?))s?\b.{0,80}\b(pruned|purged|discarded|unavailable|not (yet )?(available|supported|found|stored|present|kept)|missing|does(n't| not) exist|deleted|expired|no longer)\b|\b(no|missing|pruned|unavailable|unable to|failed to|cannot|could not|couldn't|can't|not)\b.{0,30}\b(historical |archived? |world |account )?state (for|at|of|in|data|root|trie|db|database)\b|\b(unable to|failed to|cannot|could not|couldn't|can't) (read|load|get|fetch|find|open|retrieve|access) (the )?(historical |world |account |block )?state\b|\bhistorical (blocks?|calls?|queries|requests?|data)\b.{0,40}\bnot (supported|available|allowed)|^(old|ancient) (block|state)\b/i,
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
  {
    of: ["Avalanche", "Hedera", "Moonbeam", "Sonic", "zkSync", "nodes that name the data"],
    words:
      /\b(bod(y|ies)|receipts?|headers?|logs?|block data|transactions?)\b (data )?(is |are |was |were )?(not (found|available|indexed|stored)|missing|unavailable) (for|of|at|in)\b.{0,30}\b(block|height|number|hash|epoch)|^(block )?(receipts?|bod(y|ies)|block data|history) (is |are )?(not available|unavailable|missing)|^no (receipts?|logs?|block|tx|transactions?) (data|snapshot)\b|^no transactions snapshot|\bno data (at|for|of) (the )?(block|height)|\bdata (for|of|at) (the )?(block|height)\b.{0,60}\b(unavailable|not available|missing)|^(the )?requested data is not available|\bdata (is )?not available (for|at) (the )?(requested )?(block|height)/i,
  },
  {
    of: ["nodes that prune"],
    words: /\bpruned\b|\bpruning\b/i,
  },
]);
