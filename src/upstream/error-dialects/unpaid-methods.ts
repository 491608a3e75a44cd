// A method that a provider does not give to our plan.
import type { Dialect } from "./dialect.ts";

const means = { kind: "missing" } as const;

export const UNPAID_METHODS: readonly Dialect[] = [
  {
    of: ["Alchemy"],
    code: [-32600, -32000, -32001],
    words: /^unsupported method\b|^[a-z]+_\w{1,60} is not available on (the|your)\b/i,
    means,
    samples: [
      [
        -32600,
        "Unsupported method: eth_unsupportedCall. See available methods at https://docs.alchemy.com/alchemy/documentation/apis",
        400,
      ],
      [
        -32600,
        "eth_baseFee is not available on the ETH_MAINNET. For more information see our docs: https://docs.alchemy.com/alchemy/documentation/apis/ethereum",
      ],
      [
        -32600,
        "trace_block is not available on the Free tier - upgrade to Pay As You Go, or Enterprise for access.",
        403,
      ],
    ],
  },
  {
    of: ["dRPC"],
    code: [35, 23],
    words: /^method is not available on free|^unsupported subscription/i,
    means,
    samples: [
      [35, "method is not available on freetier, please upgrade to paid tier", 400],
      [23, "Unsupported subscription: newHeads"],
    ],
  },
  {
    // The custom tracers, and methods of add-ons and larger plans.
    of: ["QuickNode"],
    code: [-32612, -32613],
    means,
    samples: [[-32612, "custom trace not found in allowed custom traces", 403]],
  },
  {
    of: ["Unifra", "Ankr", "Blast", "InfStones"],
    code: [-32600, -32603, -32000, -32001, -2031],
    words:
      /^method [a-z]+_\w{1,60} requires paid tier|^\[.{1,200}\] not allowed$|\bonly available (on|for|in|with) (a |the )?paid\b/i,
    means,
    samples: [
      [-32603, "method debug_traceTransaction requires paid tier"],
      [-2031, "[trace_block] Not Allowed", 403],
      [-32000, "this method is only available on paid plans"],
    ],
  },
];
