// A method that this node does not have, or has switched off.
import type { Dialect } from "./dialect.ts";

const means = { kind: "missing" } as const;

export const LACKING_METHODS: readonly Dialect[] = [
  {
    of: ["JSON-RPC 2.0"],
    code: -32601,
    means,
    samples: [
      [-32601, "the method trace_get does not exist/is not available"],
      [-32601, "Method not found"],
      [-32601, "Unsupported method: eth_compileLLL"],
      [-32601, "Method not found", 403],
      [-32601, "Method not found", 404],
    ],
  },
  {
    // Over WebSocket and IPC; over HTTP the same node says -32601. It says the same of parameters that it
    // cannot read, so one such answer is no reason to leave the method out for all callers.
    of: ["anvil"],
    code: -32602,
    words: /^data did not match any variant of untagged enum EthRpcCall$/i,
    means: { kind: "missing", isUnsure: true },
    samples: [
      [
        -32602,
        "data did not match any variant of untagged enum EthRpcCall",
        200,
        "eth_getTransactionReceiptsByBlock",
      ],
      [-32602, "data did not match any variant of untagged enum EthRpcCall", 200, "trace_get"],
    ],
  },
  {
    of: ["conflux-rust"], // over HTTP, where nothing can be announced
    code: -32090,
    words: /^subscriptions are not available on this transport/i,
    means,
    samples: [[-32090, "Subscriptions are not available on this transport.", 200, "cfx_subscribe"]],
  },
  {
    // besu has -32004 for transactions as well, hence the words.
    of: ["EIP-1474", "Infura", "Tenderly"],
    code: -32004,
    words: /^$|\bmethod\b|\b(un|not )supported|\b(un|not )implemented|\bnot available/i,
    means,
    samples: [
      [-32004, "method not supported"],
      [-32004, "This request method is not supported"],
    ],
  },
  {
    of: ["besu"],
    code: -32604,
    words: /^method not enabled|^the method \w+ is not supported/i,
    means,
    samples: [
      [-32604, "Method not enabled"],
      [
        -32604,
        "The method eth_sendTransaction is not supported. Use eth_sendRawTransaction to send a signed transaction to Besu.",
      ],
    ],
  },
  {
    of: ["besu"],
    code: -32002,
    words: /^transaction pool not enabled/i,
    means,
    samples: [
      [
        -32002,
        "Transaction pool not enabled. (Either txpool explicitly disabled, or node not yet in sync).",
      ],
    ],
  },
  {
    of: ["erigon", "conflux-rust", "parity"],
    code: [-32000, -32002, -32603],
    words:
      /^the method is currently not implemented|^this (api|request) is not implemented yet|^not implemented\b/i,
    means,
    samples: [
      [-32000, "the method is currently not implemented: trace_rawTransaction"],
      [-32000, "This request is not implemented yet. Please create an issue on Github repo."],
    ],
  },
  {
    of: ["nethermind"],
    code: -32600,
    words: /^the method '[^']{1,80}' (is found\b.{1,200}\bis disabled\b|must be authenticated)/i,
    means,
    samples: [
      [
        -32600,
        "The method 'trace_block' is found but the namespace 'trace' is disabled for http://node:8545/.",
      ],
      [
        -32600,
        "The method 'trace_block' is found in namespace 'trace' for n/a' but is disabled for Http.",
      ],
    ],
  },
  {
    of: ["proxyd", "Chainstack", "GetBlock", "Tenderly", "LlamaRPC", "Flashbots"],
    code: [-32600, -32603, -32000, -32001, -32002, -32005],
    words:
      /^(the |this )?(rpc )?method\b.{0,80}\b(not|unsupported|disabled|blocked)\b.{0,20}\b(found|supported|available|whitelisted|allowed|enabled|exist|implemented|included)\b|^(the )?(method )?[a-z]+_\w{1,60} is (disabled|blocked|unsupported|not (supported|available|allowed))\b|^(unsupported|no such) method\b/i,
    means,
    samples: [
      [-32001, "rpc method is not whitelisted", 403],
      [-32000, "method not found"],
      [-32603, "the method debug_traceCall does not exist/is not available"],
      [-32002, "Method trace_filter is not available on your current plan", 403],
      [-32600, "method is not included in your current plan"],
      [-32000, "method eth_mining is disabled"],
      [-32000, "trace_filter is not supported"],
      [-32603, "Unsupported method: eth_mining."],
    ],
  },
  {
    // No JSON-RPC at all: the words must name a method, as "Method Not Allowed" is about POST.
    of: ["QuickNode", "proxies"],
    status: [400, 403, 404, 405, 501],
    words:
      /\bmethod:? ["'`]?(eth|net|web3|debug|trace|txpool|cfx|pos|erigon|parity|ots)_\w{1,60}["'`]? .{0,40}\b(not|unsupported|disabled)\b|\b(unsupported|unknown|disallowed) (rpc )?method:? ["'`]?[a-z0-9]+_\w/i,
    means,
    samples: [
      [undefined, "Method eth_getProof is not supported", 404],
      [undefined, '{"error":"unsupported method: trace_block"}', 405],
    ],
  },
];

const unpaid = { kind: "missing" } as const;

/** A method that a provider does not give to our plan. */
export const UNPAID_METHODS: readonly Dialect[] = [
  {
    of: ["Alchemy"],
    code: [-32600, -32000, -32001],
    words: /^unsupported method\b|^[a-z]+_\w{1,60} is not available on (the|your)\b/i,
    means: unpaid,
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
    means: unpaid,
    samples: [
      [35, "method is not available on freetier, please upgrade to paid tier", 400],
      [23, "Unsupported subscription: newHeads"],
    ],
  },
  {
    // The custom tracers, and methods of add-ons and larger plans.
    of: ["QuickNode"],
    code: [-32612, -32613],
    means: unpaid,
    samples: [[-32612, "custom trace not found in allowed custom traces", 403]],
  },
  {
    of: ["Unifra", "Ankr", "Blast", "InfStones"],
    code: [-32600, -32603, -32000, -32001, -2031],
    words:
      /^method [a-z]+_\w{1,60} requires paid tier|^\[.{1,200}\] not allowed$|\bonly available (on|for|in|with) (a |the )?paid\b/i,
    means: unpaid,
    samples: [
      [-32603, "method debug_traceTransaction requires paid tier"],
      [-2031, "[trace_block] Not Allowed", 403],
      [-32000, "this method is only available on paid plans"],
    ],
  },
];
