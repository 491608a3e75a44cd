// Our key, plan, address or origin is not welcome: nothing that a caller did.
import type { Dialect } from "./dialect.ts";

const means = { kind: "failed", reason: "the node refuses our account" } as const;

export const REFUSED_ACCOUNTS: readonly Dialect[] = [
  {
    of: ["Blast", "besu", "Wetez", "InfStones", "Goldsky"],
    code: [401, 403, -32099, -40100, -2011, -2012, -2013, -2014, -2021, -32606],
    words: /\b(un)?auth|\bforbidden\b|\binvalid\b|\bnot (allowed|in whitelist)|\bheader\b/i,
    means,
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
    means,
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
    means,
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
