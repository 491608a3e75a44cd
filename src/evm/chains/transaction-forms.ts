// The forms of transactions and receipts beyond Ethereum's. Data only; the proofs write by it.
import type { Field, FieldKind, TransactionForm } from "./encoding.ts";

const call: readonly Field[] = [
  ["gas", "quantity"],
  ["to", "bytes or nothing"],
  ["value", "quantity"],
  ["input|data", "data"],
];
const fees: readonly Field[] = [
  ["maxPriorityFeePerGas", "quantity"],
  ["maxFeePerGas", "quantity"],
];
const signature: readonly Field[] = [
  ["yParity|v", "quantity"],
  ["r", "quantity"],
  ["s", "quantity"],
];

/** The call of a Celo transaction that pays its fees in a token, with the share of a gateway. */
const celoCall: readonly Field[] = [
  ["gas", "quantity"],
  ["feeCurrency", "bytes or nothing"],
  ["gatewayFeeRecipient", "bytes or nothing"],
  ["gatewayFee", "count"],
  ["to", "bytes or nothing"],
  ["value", "quantity"],
  ["input|data", "data"],
];
const withFees: readonly Field[] = [
  ["chainId", "quantity"],
  ["nonce", "quantity"],
  ...fees,
  ...call,
  ["accessList", "access list"],
];
/** Arbitrum's gas price; some nodes write it as a maximum. */
const feeCap: Field = ["maxFeePerGas|gasPrice", "quantity"];

const deposit = (isSystem: FieldKind): TransactionForm => ({
  fields: [
    ["sourceHash", 32],
    ["from", 20],
    ["to", "bytes or nothing"],
    ["mint", "count"],
    ["value", "quantity"],
    ["gas", "quantity"],
    ["isSystemTx", isSystem],
    ["input|data", "data"],
  ],
});

const mantleDeposit: readonly Field[] = [
  ["sourceHash", 32],
  ["from", 20],
  ["to", "bytes or nothing"],
  ["mint", "count"],
  ["value", "quantity"],
  ["gas", "quantity"],
  ["isSystemTx", "flag"],
  ["ethValue", "count"],
  ["input|data", "data"],
];

/** The types of transactions beyond Ethereum's, each with the forms that are tried in turn. */
export const transactionForms = {
  /** OP Stack, `0x7e`. Nodes do not tell that a transaction before Regolith was the system's. */
  deposit: [deposit("flag"), deposit("true")],
  /** Mantle's deposits of two tokens, with and without the last field. */
  mantleDeposit: [
    { fields: mantleDeposit },
    { fields: [...mantleDeposit, ["ethTxValue", "quantity"]] },
  ],
  /** Arbitrum Nitro, by type. */
  arbitrum: {
    "0x64": [
      {
        fields: [
          ["chainId", "quantity"],
          ["requestId", 32],
          ["from", 20],
          ["to", "bytes or nothing"],
          ["value", "quantity"],
        ],
      },
    ],
    "0x65": [
      {
        fields: [["chainId", "quantity"], ["from", 20], ["nonce", "quantity"], feeCap, ...call],
      },
    ],
    "0x66": [
      {
        fields: [["chainId", "quantity"], ["requestId", 32], ["from", 20], feeCap, ...call],
      },
    ],
    "0x68": [
      {
        fields: [
          ["chainId", "quantity"],
          ["nonce", "quantity"],
          ["from", 20],
          feeCap,
          ...call,
          ["ticketId", 32],
          ["refundTo", 20],
          ["maxRefund", "quantity"],
          ["submissionFeeRefund", "quantity"],
        ],
      },
    ],
    "0x69": [
      {
        fields: [
          ["chainId", "quantity"],
          ["requestId", 32],
          ["from", 20],
          ["l1BaseFee", "quantity"],
          ["depositValue", "quantity"],
          feeCap,
          ["gas", "quantity"],
          ["retryTo", "bytes or nothing"],
          ["retryValue", "quantity"],
          ["beneficiary", 20],
          ["maxSubmissionFee", "quantity"],
          ["refundTo", 20],
          ["retryData", "data"],
        ],
      },
    ],
    "0x6a": [
      {
        fields: [
          ["chainId", "quantity"],
          ["input", "data"],
        ],
      },
    ],
    /** A signed transaction from before Nitro. */
    "0x78": [
      {
        fields: [
          ["nonce", "quantity"],
          ["gasPrice", "quantity"],
          ...call,
          ["v", "quantity"],
          ["r", "quantity"],
          ["s", "quantity"],
        ],
        hasTypeByte: false,
      },
    ],
  },
  /** Celo's CIP-64, `0x7b`: fees in a token. */
  feeCurrency: [{ fields: [...withFees, ["feeCurrency", "bytes or nothing"], ...signature] }],
  /** Celo's CIP-66, `0x7a`. */
  denominatedFee: [
    {
      fields: [
        ...withFees,
        ["feeCurrency", "bytes or nothing"],
        ["maxFeeInFeeCurrency", "quantity"],
        ...signature,
      ],
    },
  ],
  /** Celo's CIP-42, `0x7c`: the gateway fee of its first years. */
  gatewayFee: [
    {
      fields: [
        ["chainId", "quantity"],
        ["nonce", "quantity"],
        ...fees,
        ...celoCall,
        ["accessList", "access list"],
        ...signature,
      ],
    },
  ],
  /** Celo's first form of legacy transactions. */
  celoLegacy: [
    {
      fields: [
        ["nonce", "quantity"],
        ["gasPrice", "quantity"],
        ...celoCall,
        ["v", "quantity"],
        ["r", "quantity"],
        ["s", "quantity"],
      ],
      hasTypeByte: false,
    },
  ],
  /** EIP-8130, `0x7b` on Base. */
  accounts: [
    {
      fields: [
        ["chainId", "quantity"],
        ["from|sender", "bytes or nothing"],
        ["nonceKey", "quantity"],
        ["nonceSequence", "quantity"],
        ["expiry", "count"],
        ...fees,
        ["gas|gasLimit", "quantity"],
        ["accountChanges", { each: "data" }],
        [
          "calls",
          {
            each: {
              each: [
                ["to", 20],
                ["data|input", "data"],
              ],
            },
          },
        ],
        ["payer", "bytes or nothing"],
        ["senderAuth", "bytes or nothing"],
        ["payerAuth", "bytes or nothing"],
      ],
    },
  ],
  /** Scroll's messages from Ethereum, `0x7e`. */
  message: [
    {
      fields: [
        ["queueIndex", "quantity"],
        ["gas", "quantity"],
        ["to", "bytes or nothing"],
        ["value", "quantity"],
        ["input|data", "data"],
        ["sender|from", 20],
      ],
    },
  ],
  /** Stable, `0x3f`: as type 2, with more fields behind the signature. */
  stable: [
    { fields: [...withFees, ...signature, ["nonceKey", "count"], ["timeoutTimestamp", "count"]] },
  ],
} as const satisfies Readonly<
  Record<string, readonly TransactionForm[] | Readonly<Record<string, readonly TransactionForm[]>>>
>;

/** The members behind the logs in receipts of some types, where the receipt has the last of them. */
export const receiptForms = {
  /** OP Stack, since Canyon. Before it, receipts tell the nonce, but do not encode it. */
  deposit: [
    ["depositNonce", "count"],
    ["depositReceiptVersion", "quantity"],
  ],
  /** Celo since it is an OP Stack chain. */
  feeCurrency: [["baseFee", "quantity"]],
} as const satisfies Readonly<Record<string, readonly Field[]>>;
