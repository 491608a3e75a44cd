// How chains write headers, transactions and receipts as RLP: the vocabulary, and the forms by name. Data only; the
// proofs write by it.

/** How the value of a JSON member is written. */
export type FieldKind =
  /** DATA of this many bytes. */
  | number
  | "quantity"
  /** As `quantity`; an absent one is written as zero. */
  | "count"
  | "data"
  /** DATA with or without the prefix 0x. */
  | "bare data"
  /** An integer in hex or decimal digits, or as a JSON number. */
  | "step"
  /** DATA, or nothing where it is absent. */
  | "bytes or nothing"
  /** A boolean; an absent one is false. */
  | "flag"
  /** Not written: some nodes tell zeros for a field that the chain does not have. */
  | "zeros or nothing"
  /** A value that does not depend on the JSON. */
  | "true"
  | "zero hash"
  | "access list"
  /** A list of DATA, each of which is already RLP. */
  | "items"
  /** A time in seconds that the chain hashes in milliseconds, which the JSON does not tell. */
  | "seconds"
  /** The object's own fields as one inner list. */
  | { readonly list: HeaderForm }
  /** A list of the members of another object, or of each object of a list. */
  | { readonly object: readonly Field[] }
  | { readonly each: readonly Field[] | FieldKind };

/** The name of a JSON member, with other names of it after `|`, and how its value is written. */
export type Field = readonly [name: string, kind: FieldKind];

export type HeaderForm = {
  readonly name: string;
  readonly fields: readonly Field[];
  /** Fields that forks appended, in their order: each is written where the header has it. */
  readonly later?: readonly Field[];
  /** Whether unknown members may follow, as a fork to come may append them. */
  readonly isOpen?: true;
};

export type TransactionForm = {
  readonly fields: readonly Field[];
  /** False: the type is in no byte before the list, as in legacy transactions. */
  readonly hasTypeByte?: boolean;
};

const roots: readonly Field[] = [
  ["stateRoot", 32],
  ["transactionsRoot", 32],
  ["receiptsRoot", 32],
  ["logsBloom", 256],
];

/** From the parent's hash to the extra data. The time has an encoding of its own on some chains. */
const upToExtraData = (time: FieldKind): readonly Field[] => [
  ["parentHash", 32],
  ["sha3Uncles", 32],
  ["miner", 20],
  ...roots,
  ["difficulty", "quantity"],
  ["number", "quantity"],
  ["gasLimit", "quantity"],
  ["gasUsed", "quantity"],
  ["timestamp", time],
  ["extraData", "data"],
];

const frontier: readonly Field[] = [...upToExtraData("quantity"), ["mixHash", 32], ["nonce", 8]];

const noProofOfWork: readonly Field[] = [
  ["mixHash", "zeros or nothing"],
  ["nonce", "zeros or nothing"],
];

const baseFee: Field = ["baseFeePerGas", "quantity"];
const blobs: readonly Field[] = [
  ["blobGasUsed", "quantity"],
  ["excessBlobGas", "quantity"],
  ["parentBeaconBlockRoot", 32],
];
/** Of Avalanche's Granite fork. */
const granite: readonly Field[] = [
  ["timestampMilliseconds|timeMilliseconds", "quantity"],
  ["minDelayExcess", "quantity"],
];

const standard: HeaderForm = {
  name: "standard",
  fields: frontier,
  later: [
    baseFee, // EIP-1559
    ["withdrawalsRoot", 32], // EIP-4895
    ...blobs, // EIP-4844 and 4788
    ["requestsHash", 32], // EIP-7685
    ["blockAccessListHash", 32], // EIP-7928
    ["slotNumber", "quantity"], // EIP-7843
  ],
  isOpen: true,
};

export const headerForms = {
  standard,
  /** Before Berachain's own field the fields are the standard ones. */
  berachain: {
    name: "Berachain",
    fields: frontier,
    later: [
      baseFee,
      ["withdrawalsRoot", 32],
      ...blobs,
      ["requestsHash", 32],
      ["parentProposerPubkey", 48],
    ],
  },
  /** Authority Round, as Erigon and Nethermind spell it. */
  aura: {
    name: "AuRa",
    fields: [
      ...upToExtraData("quantity"),
      ["auraStep|step", "step"],
      ["auraSeal|signature", "bare data"],
      ...noProofOfWork,
    ],
    later: [baseFee],
  },
  /** Authority Round, as Parity and OpenEthereum spell it. */
  sealFields: {
    name: "AuRa with sealFields",
    fields: [...upToExtraData("quantity"), ["sealFields", "items"], ...noProofOfWork],
    later: [baseFee],
  },
  avalanche: {
    name: "Avalanche C-Chain",
    fields: [...frontier, ["extDataHash", 32]],
    later: [
      baseFee,
      ["extDataGasUsed", "quantity"],
      ["blockGasCost", "quantity"],
      ...blobs,
      ...granite,
    ],
    isOpen: true,
  },
  subnet: {
    name: "Subnet-EVM",
    fields: frontier,
    later: [baseFee, ["blockGasCost", "quantity"], ...blobs, ...granite],
    isOpen: true,
  },
  /** Celo before its fork Gingerbread. */
  celo: {
    name: "Celo before Gingerbread",
    fields: [
      ["parentHash", 32],
      ["miner", 20],
      ...roots,
      ["number", "quantity"],
      ["gasUsed", "quantity"],
      ["timestamp", "quantity"],
      ["extraData", "data"],
    ],
  },
  tempo: {
    name: "Tempo",
    fields: [
      ["mainBlockGeneralGasLimit", "quantity"],
      ["sharedGasLimit", "quantity"],
      ["timestampMillisPart", "quantity"],
      ["", { list: standard }],
    ],
    later: [
      [
        "consensusContext",
        {
          object: [
            ["epoch", "step"],
            ["view", "step"],
            ["parentView", "step"],
            ["proposer", "data"],
          ],
        },
      ],
    ],
  },
  /** Substrate's Frontier: the base fee that the JSON tells is not in the header, and neither is a mix hash. */
  frontier: {
    name: "Frontier",
    fields: [...upToExtraData("seconds"), ["", "zero hash"], ["nonce", 8]],
  },
} as const satisfies Readonly<Record<string, HeaderForm>>;

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
        ["gas", "quantity"],
        ["feeCurrency", "bytes or nothing"],
        ["gatewayFeeRecipient", "bytes or nothing"],
        ["gatewayFee", "count"],
        ["to", "bytes or nothing"],
        ["value", "quantity"],
        ["input|data", "data"],
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
        ["gas", "quantity"],
        ["feeCurrency", "bytes or nothing"],
        ["gatewayFeeRecipient", "bytes or nothing"],
        ["gatewayFee", "count"],
        ["to", "bytes or nothing"],
        ["value", "quantity"],
        ["input|data", "data"],
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

/** What some types of receipts have behind the logs, where the receipt has the last of these members. */
export const receiptForms = {
  /** OP Stack, since Canyon. Before it, receipts tell the nonce, but do not encode it. */
  deposit: [
    ["depositNonce", "count"],
    ["depositReceiptVersion", "quantity"],
  ],
  /** Celo since it is an OP Stack chain. */
  feeCurrency: [["baseFee", "quantity"]],
} as const satisfies Readonly<Record<string, readonly Field[]>>;
