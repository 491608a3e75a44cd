// The forms of headers by name. Data only; the proofs write by it.
import type { Field, FieldKind, HeaderForm } from "./encoding.ts";

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
