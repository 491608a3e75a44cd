// A node that could not do it: still syncing, out of time, or with trouble behind it.
import type { Dialect } from "./dialect.ts";

const syncing = { kind: "failed", reason: "the node is syncing" } as const;
const outOfTime = { kind: "failed", reason: "the node ran out of time", isReported: true } as const;
const behindIt = { kind: "failed", reason: "the node has nobody behind it" } as const;
const alone = { kind: "failed", reason: "the node has lost its peers" } as const;
const inside = { kind: "failed", reason: "the node failed inside", isReported: true } as const;

export const FAILING_NODES: readonly Dialect[] = [
  {
    of: ["besu", "conflux-rust", "erigon", "providers"],
    words:
      /^initial sync is still in progress|\bcatch[ -]up mode|^(the )?node is (not (yet )?(fully )?synced|(still )?syncing|not in sync|catching up)|^syncing in progress/i,
    means: syncing,
    samples: [
      [-32008, "Initial sync is still in progress"],
      [-32077, "Request rejected due to still in the catch up mode."],
      [-32000, "node is syncing"],
    ],
  },
  {
    // A limit of this node; another may have a longer one.
    of: ["geth", "erigon", "reth"],
    words:
      /^execution (aborted|timeout|timed out)\b|\bcontext (deadline exceeded|cancell?(ed|ation))/i,
    means: outOfTime,
    samples: [
      [-32000, "execution aborted (timeout = 5s)"],
      [-32000, "execution timeout"],
      [-32000, "context deadline exceeded"],
    ],
  },
  {
    of: ["geth", "besu", "nethermind", "Alchemy", "dRPC", "proxyd", "Goldsky"],
    words:
      /^(the )?(request|call|operation|timeout|gateway|upstream|backend|node|connection|method|trace) ?(has )?(timed out|time-?out|expired)\b|\brequest was cancell?ed due to enabled timeout|^timeout\b/i,
    means: outOfTime,
    samples: [
      [-32002, "request timed out"],
      [-32603, "Timeout expired"],
      [-32016, "eth_call request was canceled due to enabled timeout."],
      [-32000, "Request timed out. Client should retry."],
      [30, "Request timeout on the free tier, please upgrade your tier to the paid one", 408],
    ],
  },
  {
    of: ["proxyd", "Goldsky", "nethermind"],
    code: [-32015, -32017],
    words: /^(gateway|node|upstream node)( has)? time(out|d out)$|^timeout\b/i,
    means: outOfTime,
    samples: [
      [-32017, "Timeout"],
      [-32015, "gateway timeout", 504],
      [-32015, "Upstream node timed out"],
    ],
  },
  {
    of: ["proxyd", "dRPC", "Headgate"],
    words:
      /^backend (offline|returned an invalid response|is currently not healthy|request failed)|^no (available |healthy )?(backends?|upstreams?|servers?|nodes?)( is| are)? (available|could answer|to process)\b|^can't route your request|^(all )?upstreams? (request )?(failed|error|unavailable|connect error)|^relay attempts exhausted/i,
    means: behindIt,
    samples: [
      [-32010, "backend offline", 503],
      [-32011, "no backends available for method", 503],
      [-32013, "backend returned an invalid response"],
      [-32018, "backend is currently not healthy to serve traffic"],
      [1, "no available upstreams to process a request"],
      [
        12,
        "Can't route your request to suitable provider, if you specified certain providers revise the list",
        400,
      ],
      [-32603, "no upstream could answer", 502],
      [-32603, "backend request failed"],
    ],
  },
  {
    of: ["QuickNode", "Alchemy", "dRPC", "Cloudflare", "InfStones"],
    words:
      /^network error|\b(service|server) (is )?(temporarily |currently )?unavailable|\btemporarily un?available|^temporary internal error|^unable to complete request at this time|^cannot fulfill request|^bad gateway|^(dial tcp|connection (refused|reset)|connect ECONN|unexpected EOF)/i,
    means: inside,
    samples: [
      [-32011, "network error"],
      [-32000, "Service temporarily unavailable"],
      [19, "Temporary internal error. Please retry, trace-id: 1234"],
      [-32000, "Unable to complete request at this time."],
      [-32046, "Cannot fulfill request"],
      [-32603, "dial tcp 10.0.0.7:8545: connect: connection refused"],
    ],
  },
  {
    of: ["JSON-RPC 2.0", "nethermind", "besu", "reth", "erigon", "InfStones"],
    code: [-32603, -32000, -2101],
    words:
      /^internal (json-rpc |server |blocking task |eth |rpc )?error\b|^server error\b|^method handler crashed|^unexpected error$/i,
    means: inside,
    samples: [
      [-32603, "Internal error"],
      [-32603, "Internal JSON-RPC error."],
      [-32603, "internal blocking task error"],
      [-32000, "internal error"],
      [-32000, "method handler crashed"],
      [-2101, "Server Error"],
    ],
  },
  {
    of: ["conflux-rust"],
    code: [-32066, -32074, -32075, -32076],
    means: alone,
    samples: [[-32066, "No peers are connected"]],
  },
  {
    of: ["gateways"],
    code: [500, 502, 503, 504, 520, 521, 522, 523, 524],
    means: inside,
    samples: [
      [502, "Bad Gateway"],
      [503, "over capacity for now"],
    ],
  },
];

const refused = { kind: "failed", reason: "the node refuses our account" } as const;

/** Our key, plan, address or origin is not welcome: nothing that a caller did. */
export const REFUSED_ACCOUNTS: readonly Dialect[] = [
  {
    of: ["Blast", "besu", "Wetez", "InfStones", "Goldsky"],
    code: [401, 403, -32099, -40100, -2011, -2012, -2013, -2014, -2021, -32606],
    words: /\b(un)?auth|\bforbidden\b|\binvalid\b|\bnot (allowed|in whitelist)|\bheader\b/i,
    means: refused,
    samples: [
      [-32099, "Authentication failed", 401],
      [-40100, "Unauthorized"],
      [401, "Unauthorized"],
      [-2011, "Invalid project id or project secret", 403],
      [-32606, "Request IP not in whitelist."],
    ],
  },
  {
    of: ["Ankr", "Alchemy", "Infura", "QuickNode", "Tenderly", "GetBlock", "Headgate"],
    code: [-32000, -32001, -32002, -32600, -32603, -32016],
    words:
      /^unauthorized\b|^must be authenticated|\bauthenticate your request|\b(invalid|unknown|missing|wrong|expired|inactive|disabled|unauthori[sz]ed|no) (api|access|project|app|auth)[ -]?(key|token|id)\b|^(api|access) (key|token) (is |not )|\b(project id|api key) settings|\bproject id is required/i,
    means: refused,
    samples: [
      [
        -32000,
        "Unauthorized: You must authenticate your request with an API key. Create an account on https://www.ankr.com/rpc/",
      ],
      [-32600, "Must be authenticated!", 401],
      [-32002, "rejected due to project ID settings", 403],
      [-32000, "invalid API key", 401],
      [-32002, "rejected by API key settings", 403],
      [-32016, "Unauthorized"],
    ],
  },
  {
    of: ["Ankr", "dRPC", "Alchemy"],
    code: [-32052, -32600, -32000, 4, 35],
    words:
      /^(message: )?api key is not allowed|^token is invalid|\bis not enabled for this app\b|^unspecified origin not on whitelist|^chain is not available on free/i,
    means: refused,
    samples: [
      [-32052, "API key is not allowed to access blockchain", 403],
      [4, "token is invalid"],
      [
        -32600,
        "ETH_MAINNET is not enabled for this app. Visit this page to enable the network: https://dashboard.alchemy.com/apps/",
        403,
      ],
      [-32000, "Unspecified origin not on whitelist."],
      [35, "chain is not available on free plan, please upgrade to paid plan"],
    ],
  },
];
