// Wordings of a node that could not answer: it is syncing, ran out of time, or cannot reach other nodes or servers.
import { type Dialect, withMeaning } from "./dialect.ts";

const syncing = { kind: "failed", reason: "the node is syncing" } as const;
const outOfTime = { kind: "failed", reason: "the node ran out of time", isReported: true } as const;
const behindIt = { kind: "failed", reason: "the provider has no node behind it" } as const;
const alone = { kind: "failed", reason: "the node has lost its peers" } as const;
const inside = {
  kind: "failed",
  reason: "the node had an internal error",
  isReported: true,
} as const;

export const FAILING_NODES: readonly Dialect[] = [
  {
    of: ["besu", "conflux-rust", "erigon", "providers"],
    words:
      /^initial sync is still in progress|\bcatch[ -]up mode|^(the )?node is (not (yet )?(fully )?synced|(still )?syncing|not in sync|catching up)|^syncing in progress/i,
    means: syncing,
  },
  {
    // The node's own time limit; another node may allow more time.
    of: ["geth", "erigon", "reth"],
    words:
      /^execution (aborted|timeout|timed out)\b|\bcontext (deadline exceeded|cancell?(ed|ation))/i,
    means: outOfTime,
  },
  {
    of: ["geth", "besu", "nethermind", "Alchemy", "dRPC", "proxyd", "Goldsky"],
    words:
      /^(the )?(request|call|operation|timeout|gateway|upstream|backend|node|connection|method|trace) ?(has )?(timed out|time-?out|expired)\b|\brequest was cancell?ed due to enabled timeout|^timeout\b/i,
    means: outOfTime,
  },
  {
    of: ["proxyd", "Goldsky", "nethermind"],
    code: [-32015, -32017],
    words: /^(gateway|node|upstream node)( has)? time(out|d out)$|^timeout\b/i,
    means: outOfTime,
  },
  {
    of: ["proxyd", "dRPC", "Headgate"],
    words:
      /^backend (offline|returned an invalid response|is currently not healthy|request failed)|^no (available |healthy )?(backends?|upstreams?|servers?|nodes?)( is| are)? (available|could answer|to process)\b|^can't route your request|^(all )?upstreams? (request )?(failed|error|unavailable|connect error)|^relay attempts exhausted/i,
    means: behindIt,
  },
  {
    of: ["QuickNode", "Alchemy", "dRPC", "Cloudflare", "InfStones"],
    words:
      /^network error|\b(service|server) (is )?(temporarily |currently )?unavailable|\btemporarily un?available|^temporary internal error|^unable to complete request at this time|^cannot fulfill request|^bad gateway|^(dial tcp|connection (refused|reset)|connect ECONN|unexpected EOF)/i,
    means: inside,
  },
  {
    of: ["JSON-RPC 2.0", "nethermind", "besu", "reth", "erigon", "InfStones"],
    code: [-32603, -32000, -2101],
    words:
      /^internal (json-rpc |server |blocking task |eth |rpc )?error\b|^server error\b|^method handler crashed|^unexpected error$/i,
    means: inside,
  },
  {
    of: ["conflux-rust"],
    code: [-32066, -32074, -32075, -32076],
    means: alone,
  },
  {
    of: ["gateways"],
    code: [500, 502, 503, 504, 520, 521, 522, 523, 524],
    means: inside,
  },
];

/** Refusals of the gateway's key, plan, address or origin: no caller is at fault. */
export const REFUSED_ACCOUNTS = withMeaning(
  { kind: "failed", reason: "the node refuses our account" },
  [
    {
      of: ["Blast", "besu", "Wetez", "InfStones", "Goldsky"],
      code: [401, 403, -32099, -40100, -2011, -2012, -2013, -2014, -2021, -32606],
      words: /\b(un)?auth|\bforbidden\b|\binvalid\b|\bnot (allowed|in whitelist)|\bheader\b/i,
    },
    {
      of: ["Ankr", "Alchemy", "Infura", "QuickNode", "Tenderly", "GetBlock", "Headgate"],
      code: [-32000, -32001, -32002, -32600, -32603, -32016],
      words:
        /^unauthorized\b|^must be authenticated|\bauthenticate your request|\b(invalid|unknown|missing|wrong|expired|inactive|disabled|unauthori[sz]ed|no) (api|access|project|app|auth)[ -]?(key|token|id)\b|^(api|access) (key|token) (is |not )|\b(project id|api key) settings|\bproject id is required/i,
    },
    {
      of: ["Ankr", "dRPC", "Alchemy"],
      code: [-32052, -32600, -32000, 4, 35],
      words:
        /^(message: )?api key is not allowed|^token is invalid|\bis not enabled for this app\b|^unspecified origin not on whitelist|^chain is not available on free/i,
    },
  ],
);
