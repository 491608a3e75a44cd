// Headers as chains encode them, each with its hash and with another value.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { another, leavesOf, patternOf, UNCOVERED, withLeaf } from "../../test/proofs/mutations.ts";
import { proveBlock } from "../../test/support/at-once.ts";
import {
  base,
  bytes,
  fields,
  type Header,
  hashed,
  type Item,
  integer,
  items,
  partsThatAre,
  UNLISTED,
  upToExtraData,
  word,
} from "../../test/support/composed-blocks.ts";
import { levelOf } from "../chain/writing.ts";
import type { Json } from "./json.ts";
import { EMPTY_ROOT } from "./ordered-trie.ts";

/** A chain, members that its headers have in addition, and how it encodes them. */
type HeaderRow = {
  readonly form: string;
  readonly chainId: number;
  readonly with: Json;
  readonly encode: (header: Header) => Item[];
  /** Whether a header that does not hash is a lie. */
  readonly isSure?: true;
};

const consensus = { epoch: 3, view: "0x4", parentView: "0x3", proposer: word("5") };

const headerRows: readonly HeaderRow[] = [
  {
    form: "AuRa as Erigon spells it",
    chainId: 100,
    with: { mixHash: word("0"), auraStep: "0x1391ec5a", auraSeal: `0x${"ed".repeat(65)}` },
    encode: (header) => [
      ...items(header, upToExtraData),
      integer("0x1391ec5a"),
      bytes(`0x${"ed".repeat(65)}`),
    ],
    isSure: true,
  },
  {
    form: "AuRa with a base fee, a decimal step and a bare signature",
    chainId: 100,
    with: {
      mixHash: undefined,
      step: "328330330",
      signature: "ed".repeat(65),
      baseFeePerGas: "0x7",
    },
    encode: (header) => [
      ...items(header, upToExtraData),
      integer("328330330"),
      bytes(`0x${"ed".repeat(65)}`),
      integer("0x7"),
    ],
    isSure: true,
  },
  {
    form: "AuRa as Parity spells it",
    chainId: 100,
    with: { sealFields: ["0x841391ec5a", `0xb841${"ed".repeat(65)}`], mixHash: undefined },
    encode: (header) => [
      ...items(header, upToExtraData),
      integer("0x1391ec5a"),
      bytes(`0x${"ed".repeat(65)}`),
    ],
    isSure: true,
  },
  {
    form: "Avalanche before its fees were dynamic",
    chainId: 43114,
    with: { extDataHash: word("6") },
    encode: (header) => [...items(header, base), bytes(word("6"))],
    isSure: true,
  },
  {
    form: "Avalanche since Granite",
    chainId: 43114,
    with: {
      extDataHash: word("6"),
      baseFeePerGas: "0x1",
      extDataGasUsed: "0x2",
      blockGasCost: "0x0",
      blobGasUsed: "0x0",
      excessBlobGas: "0x0",
      parentBeaconBlockRoot: word("7"),
      timestampMilliseconds: "0x18a000001f4",
      minDelayExcess: "0x9",
    },
    encode: (header) => [
      ...items(header, base),
      bytes(word("6")),
      ...["0x1", "0x2", "0x0", "0x0", "0x0"].map(integer),
      bytes(word("7")),
      integer("0x18a000001f4"),
      integer("0x9"),
    ],
    isSure: true,
  },
  {
    form: "Subnet-EVM",
    chainId: 53935,
    with: { baseFeePerGas: "0x1", blockGasCost: "0x2", blobGasUsed: "0x0", excessBlobGas: "0x0" },
    encode: (header) => [...items(header, base), ...["0x1", "0x2", "0x0", "0x0"].map(integer)],
  },
  {
    form: "Celo before Gingerbread",
    chainId: 42220,
    with: { number: "0x1229100", sha3Uncles: undefined, gasLimit: undefined, randomness: {} },
    encode: (header) =>
      items(header, [
        ...["parentHash", "miner", "stateRoot", "transactionsRoot", "receiptsRoot"],
        ...["logsBloom", "number", "gasUsed", "timestamp", "extraData"],
      ]),
  },
  {
    form: "Celo since it is an OP Stack chain",
    chainId: 42220,
    with: { baseFeePerGas: "0x1", withdrawalsRoot: word("8"), withdrawals: [] },
    encode: (header) => [...items(header, base), integer("0x1"), bytes(word("8"))],
  },
  {
    form: "Berachain with its proposer's key",
    chainId: 80094,
    with: {
      baseFeePerGas: "0x1",
      withdrawalsRoot: EMPTY_ROOT,
      withdrawals: [],
      blobGasUsed: "0x0",
      excessBlobGas: "0x0",
      parentBeaconBlockRoot: word("7"),
      requestsHash: word("8"),
      parentProposerPubkey: `0x${"9a".repeat(48)}`,
    },
    encode: (header) => [
      ...items(header, base),
      integer("0x1"),
      bytes(EMPTY_ROOT),
      ...["0x0", "0x0"].map(integer),
      ...[word("7"), word("8"), `0x${"9a".repeat(48)}`].map(bytes),
    ],
  },
  {
    form: "Tempo, a header in a header",
    chainId: 4217,
    with: {
      mainBlockGeneralGasLimit: "0xd693a40",
      sharedGasLimit: "0x2faf080",
      timestampMillisPart: "0x91",
      baseFeePerGas: "0x1",
    },
    encode: (header) => [
      ...["0xd693a40", "0x2faf080", "0x91"].map(integer),
      [...items(header, base), integer("0x1")],
    ],
    isSure: true,
  },
  {
    form: "Tempo with its consensus",
    chainId: 4217,
    with: {
      mainBlockGeneralGasLimit: "0xd693a40",
      sharedGasLimit: "0x2faf080",
      timestampMillisPart: "0x91",
      consensusContext: consensus,
    },
    encode: (header) => [
      ...["0xd693a40", "0x2faf080", "0x91"].map(integer),
      items(header, base),
      [...["0x3", "0x4", "0x3"].map(integer), bytes(consensus.proposer)],
    ],
    isSure: true,
  },
  ...[0, 429, 999].map((milliseconds) => ({
    form: `Frontier, ${milliseconds} milliseconds past the second`,
    chainId: 1284,
    with: { mixHash: undefined, baseFeePerGas: "0x7" },
    encode: (header: Header) => [
      ...items(header, upToExtraData.slice(0, 11)),
      integer(`0x${(0x65000000 * 1000 + milliseconds).toString(16)}`),
      bytes("0x"),
      bytes(word("0")),
      bytes("0x0000000000000000"),
    ],
  })),
];

describe("the header of a chain", () => {
  it.each(headerRows)("has its hash: $form", ({ chainId, with: own, encode }) => {
    const block = hashed({ ...fields, ...own } as Header, encode);
    for (const id of [chainId, UNLISTED])
      expect(
        partsThatAre(proveBlock({ block, receipts: [] }, { chainId: id }), "unproven"),
      ).not.toContain("header hash");
  });

  it.each(headerRows)("may not be changed: $form", ({ chainId, with: own, encode, isSure }) => {
    const block = { ...hashed({ ...fields, ...own } as Header, encode), stateRoot: word("f") };
    const parts = { block, receipts: [] };
    expect(proveBlock(parts, { chainId })).toMatchObject(
      isSure ? { kind: "failed", part: "header hash" } : { odd: [{ part: "header hash" }] },
    );
    const proof = proveBlock(parts, { chainId: UNLISTED });
    expect(proof).toMatchObject({ kind: "proven", odd: [{ part: "header hash" }] });
    expect(proof.kind === "proven" && levelOf(proof)).toBe("none");
  });
});

it.each([null, undefined, []])(
  "proves withdrawals %j to be none by the root of an empty list",
  (withdrawals) => {
    const header = { ...fields, baseFeePerGas: "0x1", withdrawalsRoot: EMPTY_ROOT };
    const block = hashed(header as Header, (each) => [
      ...items(each, base),
      integer("0x1"),
      bytes(EMPTY_ROOT),
    ]);
    for (const chainId of [1, 10, UNLISTED])
      expect(proveBlock({ block: { ...block, withdrawals }, receipts: [] }, { chainId })).toEqual({
        kind: "proven",
        unproven: [],
        odd: [],
      });
  },
);

describe("a block that is proven whole", () => {
  /** Members that neither the hash of a chain's block nor that of a transaction covers. */
  const uncovered = new Set([
    ...UNCOVERED,
    "block.randomness",
    "block.transactions.*.nonce", // of deposits
    "block.transactions.*.yParity", // of legacy transactions
    "receipts.*.depositNonce",
    "receipts.*.logs.*.transactionIndex",
  ]);
  const sure = headerRows.filter(({ isSure }) => isSure);

  const quantity = fc.bigInt({ min: 0n, max: 2n ** 63n }).map((value) => `0x${value.toString(16)}`);
  const hash = fc
    .uint8Array({ minLength: 32, maxLength: 32 })
    .map((value) => `0x${Buffer.from(value).toString("hex")}`);
  const randomHeader = fc.record({
    ...{ parentHash: hash, stateRoot: hash, gasLimit: quantity, timestamp: quantity },
    ...{ extraData: hash, difficulty: quantity },
  });
  const randomParts = fc.tuple(fc.constantFrom(...sure), randomHeader).map(([row, random]) => {
    const header = { ...fields, ...random, ...row.with } as Header;
    return { chainId: row.chainId, parts: { block: hashed(header, row.encode), receipts: [] } };
  });

  it("is never so with any other value of a covered member", () => {
    fc.assert(
      fc.property(randomParts, fc.nat(), ({ chainId, parts }, at) => {
        expect(proveBlock(parts, { chainId })).toEqual({ kind: "proven", unproven: [], odd: [] });
        const leaves = leavesOf(parts).filter((leaf) => !uncovered.has(patternOf(leaf)));
        const path = leaves[at % leaves.length] ?? [];
        const proof = proveBlock(withLeaf(parts, path, another), { chainId });
        const isWhole = proof.kind === "proven" && levelOf(proof) === "full";
        expect(isWhole, `${patternOf(path)} on ${chainId}`).toBe(false);
      }),
      { numRuns: 200 },
    );
  });
});
