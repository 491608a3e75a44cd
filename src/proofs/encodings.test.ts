// Blocks as chains make them, composed by another RLP library than the sources'.
import { RLP } from "@ethereumjs/rlp";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { another, leavesOf, patternOf, UNCOVERED, withLeaf } from "../../test/proofs/mutations.ts";
import { orderedTrieRoot, proveBlock } from "../../test/support/at-once.ts";
import { levelOf } from "../chain/writing.ts";
import { keccak256 } from "../evm/keccak.ts";
import type { Json } from "./json.ts";
import { EMPTY_ROOT } from "./ordered-trie.ts";
import type { Proof } from "./prove-block.ts";

type Item = Uint8Array | Item[];

const UNLISTED = 424_242;
const word = (digit: string): string => `0x${digit.repeat(64)}`;
const address = (digit: string): string => `0x${digit.repeat(40)}`;
const NO_BLOOM = `0x${"00".repeat(256)}`;

const bytes = (data: string): Uint8Array => Buffer.from(data.slice(2), "hex");
/** The bytes of a number without leading zeros. */
const integer = (text: string): Uint8Array => {
  const digits = BigInt(text).toString(16);
  return text === "0x0" ? bytes("0x") : bytes(`0x${digits.length % 2 ? "0" : ""}${digits}`);
};
const encoded = (list: Item): Uint8Array => RLP.encode(list);
const hashOf = (list: Item): string => keccak256(encoded(list));

const fields = {
  parentHash: word("1"),
  sha3Uncles: "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347",
  miner: address("2"),
  stateRoot: word("3"),
  transactionsRoot: EMPTY_ROOT,
  receiptsRoot: EMPTY_ROOT,
  logsBloom: NO_BLOOM,
  difficulty: "0x0",
  number: "0x5000000",
  gasLimit: "0x1c9c380",
  gasUsed: "0x0",
  timestamp: "0x65000000",
  extraData: "0x",
  mixHash: word("4"),
  nonce: "0x0000000000000000",
};
type Header = Partial<Record<string, unknown>> & typeof fields;

const isInteger = /^(difficulty|number|gas\w+|timestamp)$/;
/** The named members of a header as RLP items. */
const items = (header: Header, names: readonly string[]): Item[] =>
  names.map((name) => {
    const value = String(header[name]);
    return isInteger.test(name) ? integer(value) : bytes(value);
  });
const upToExtraData = Object.keys(fields).slice(0, 13);
const base = Object.keys(fields);

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
    isSure: true,
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

const hashed = (header: Header, encode: (header: Header) => Item[]): Json => ({
  ...header,
  hash: hashOf(encode(header)),
  uncles: [],
  transactions: [],
});

const partsThatAre = (proof: Proof, what: "unproven" | "odd"): string[] => {
  if (proof.kind === "failed") return [`${proof.part}: ${proof.reason}`];
  return what === "odd" ? proof.odd.map(({ part }) => part) : [...proof.unproven];
};

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

const call = { gas: "0x5208", to: address("c"), value: "0x7", input: "0xdeadbeef" };
const callItems = [integer("0x5208"), bytes(address("c")), integer("0x7"), bytes("0xdeadbeef")];
const signature = { yParity: "0x1", r: `0x${"a1".repeat(32)}`, s: `0x${"b2".repeat(32)}` };
const signatureItems = [integer("0x1"), bytes(signature.r), bytes(signature.s)];
const fees = { chainId: "0x2", nonce: "0x3", maxPriorityFeePerGas: "0x4", maxFeePerGas: "0x5" };
const feeItems = ["0x2", "0x3", "0x4", "0x5"].map(integer);

type TransactionRow = {
  readonly what: string;
  readonly chainId: number;
  readonly transaction: Json;
  readonly encode: () => Uint8Array;
  /** Whether a transaction without its hash is a lie. */
  readonly isSure?: true;
};

const typed = (type: string, list: Item[]): Uint8Array =>
  Buffer.concat([bytes(type), encoded(list)]);

const deposit = {
  type: "0x7e",
  sourceHash: word("5"),
  from: address("d"),
  ...call,
  nonce: "0x9",
  v: "0x0",
  r: "0x0",
  s: "0x0",
};
const depositItems = (mint: string, isSystem: string): Item[] => [
  bytes(word("5")),
  bytes(address("d")),
  bytes(address("c")),
  integer(mint),
  integer("0x7"),
  integer("0x5208"),
  integer(isSystem),
  bytes("0xdeadbeef"),
];

const transactionRows: readonly TransactionRow[] = [
  {
    what: "a deposit of the OP Stack",
    chainId: 10,
    transaction: { ...deposit, mint: "0x8" },
    encode: () => typed("0x7e", depositItems("0x8", "0x0")),
    isSure: true,
  },
  {
    what: "a system deposit, of which the node does not tell that it is one",
    chainId: 10,
    transaction: deposit,
    encode: () => typed("0x7e", depositItems("0x0", "0x1")),
    isSure: true,
  },
  {
    what: "a message of Scroll",
    chainId: 534352,
    transaction: { ...call, type: "0x7e", queueIndex: "0x6", from: address("d") },
    encode: () => typed("0x7e", [integer("0x6"), ...callItems, bytes(address("d"))]),
  },
  {
    what: "a transaction of Celo with a fee currency",
    chainId: 42220,
    transaction: {
      ...fees,
      ...call,
      ...signature,
      type: "0x7b",
      accessList: [],
      feeCurrency: address("e"),
    },
    encode: () =>
      typed("0x7b", [...feeItems, ...callItems, [], bytes(address("e")), ...signatureItems]),
    isSure: true,
  },
  {
    what: "a transaction of an account of EIP-8130",
    chainId: 8453,
    transaction: {
      ...{
        type: "0x7b",
        chainId: "0x2",
        from: address("d"),
        nonceKey: "0x1",
        nonceSequence: "0x2",
      },
      ...{ expiry: "0x0", maxPriorityFeePerGas: "0x4", maxFeePerGas: "0x5", gas: "0x5208" },
      ...{ accountChanges: [], calls: [[{ to: address("c"), data: "0xdeadbeef" }]], payer: null },
      ...{ senderAuth: "0x0102", payerAuth: "0x" },
    },
    encode: () =>
      typed("0x7b", [
        ...[integer("0x2"), bytes(address("d"))],
        ...["0x1", "0x2", "0x0", "0x4", "0x5", "0x5208"].map(integer),
        ...[[], [[[bytes(address("c")), bytes("0xdeadbeef")]]]],
        ...["0x", "0x0102", "0x"].map(bytes),
      ]),
  },
  {
    what: "a transaction of Stable",
    chainId: 988,
    transaction: { ...fees, ...call, ...signature, type: "0x3f", accessList: [], nonceKey: "0x9" },
    encode: () =>
      typed("0x3f", [
        ...feeItems,
        ...callItems,
        [],
        ...signatureItems,
        integer("0x9"),
        bytes("0x"),
      ]),
  },
  {
    what: "a transaction of Ethereum's type 2 that nobody signed",
    chainId: 988,
    transaction: { ...fees, ...call, type: "0x2", accessList: [], v: "0x0", r: "0x0", s: "0x0" },
    encode: () => typed("0x02", [...feeItems, ...callItems, [], ...["0x", "0x", "0x"].map(bytes)]),
  },
  {
    what: "a legacy transaction from before Nitro",
    chainId: 42161,
    transaction: { ...call, type: "0x78", nonce: "0x3", gasPrice: "0x4", ...signature, v: "0x25" },
    encode: () =>
      encoded([
        ...["0x3", "0x4"].map(integer),
        ...callItems,
        ...[integer("0x25"), bytes(signature.r), bytes(signature.s)],
      ]),
    isSure: true,
  },
  {
    what: "a deposit of Arbitrum",
    chainId: 42161,
    transaction: {
      ...call,
      type: "0x64",
      chainId: "0x2",
      requestId: word("5"),
      from: address("d"),
    },
    encode: () =>
      typed("0x64", [
        ...[integer("0x2"), bytes(word("5")), bytes(address("d")), bytes(address("c"))],
        integer("0x7"),
      ]),
  },
  {
    what: "a ticket of Arbitrum that is redeemed",
    chainId: 42161,
    transaction: {
      ...{ ...call, type: "0x68", chainId: "0x2", nonce: "0x3", from: address("d") },
      ...{ gasPrice: "0x4", ticketId: word("6"), refundTo: address("e") },
      ...{ maxRefund: "0x8", submissionFeeRefund: "0x9" },
    },
    encode: () =>
      typed("0x68", [
        ...[integer("0x2"), integer("0x3"), bytes(address("d")), integer("0x4"), ...callItems],
        ...[bytes(word("6")), bytes(address("e")), integer("0x8"), integer("0x9")],
      ]),
    isSure: true,
  },
  {
    what: "Arbitrum's own transaction of a block",
    chainId: 42161,
    transaction: { ...call, type: "0x6a", chainId: "0x2" },
    encode: () => typed("0x6a", [integer("0x2"), bytes("0xdeadbeef")]),
    isSure: true,
  },
  {
    what: "authorizations as Frontier writes them",
    chainId: 1284,
    transaction: {
      ...{ ...fees, ...call, ...signature, type: "0x4", accessList: [] },
      authorizationList: [
        {
          ...{ chain_id: 2, address: address("e"), nonce: "0x1" },
          signature: { odd_y_parity: true, r: signature.r, s: signature.s },
        },
      ],
    },
    encode: () =>
      typed("0x04", [
        ...[...feeItems, ...callItems, []],
        [[integer("0x2"), bytes(address("e")), integer("0x1"), ...signatureItems]],
        ...signatureItems,
      ]),
  },
];

/** A block with these transactions and receipts; `covered` are their encodings as the roots cover them. */
function blockWith(
  transactions: readonly Json[],
  covered: {
    transactions: readonly Uint8Array[];
    receipts?: readonly Uint8Array[];
    bloom?: string;
  },
  own: Json = {},
): Json {
  const header = {
    ...fields,
    ...own,
    transactionsRoot: orderedTrieRoot(covered.transactions),
    receiptsRoot: orderedTrieRoot(covered.receipts ?? []),
    logsBloom: covered.bloom ?? NO_BLOOM,
  };
  const block = hashed(header as Header, (each) => items(each, base));
  const place = { blockHash: block["hash"], blockNumber: header.number };
  return {
    ...block,
    transactions: transactions.map((transaction, index) => ({
      ...{ ...place, transactionIndex: `0x${index.toString(16)}` },
      ...transaction,
    })),
  };
}

describe("a transaction of a chain's own type", () => {
  it.each(transactionRows)("is in the root: $what", ({ chainId, transaction, encode }) => {
    const hash = keccak256(encode());
    const block = blockWith([{ ...transaction, hash }], { transactions: [encode()] });
    for (const id of [chainId, UNLISTED])
      expect(partsThatAre(proveBlock({ block }, { chainId: id }), "unproven")).not.toContain(
        "transactions root",
      );
  });

  it.each(transactionRows)(
    "may not be changed: $what",
    ({ chainId, transaction, encode, isSure }) => {
      const hash = keccak256(encode());
      const changed = {
        ...transaction,
        hash,
        input: "0x00",
        ticketId: word("7"),
        nonceKey: "0x77",
      };
      const block = blockWith([{ ...changed, from: address("f"), gas: "0x1" }], {
        transactions: [encode()],
      });
      const proof = proveBlock({ block }, { chainId });
      if (isSure) expect(proof).toMatchObject({ kind: "failed", part: "transactions root" });
      else expect(partsThatAre(proof, "unproven")).toContain("transactions root");
      // Another chain's type may have the same number, so nobody is accused.
      const elsewhere = proveBlock({ block }, { chainId: UNLISTED });
      expect(partsThatAre(elsewhere, "unproven")).toContain("transactions root");
    },
  );
});

const topic = word("7");
const logOf = (index: number, own: Json = {}): Json => ({
  ...{ address: address("a"), topics: [topic], data: "0x01", logIndex: `0x${index.toString(16)}` },
  ...own,
});
const logItems: Item = [bytes(address("a")), [bytes(topic)], bytes("0x01")];

/** The bloom of logs like `logOf`. */
const bloom = ((): string => {
  const bits = Buffer.alloc(256);
  for (const text of [address("a"), topic]) {
    const hash = Buffer.from(keccak256(bytes(text)).slice(2), "hex");
    for (const at of [0, 2, 4]) {
      const bit = hash.readUInt16BE(at) & 2047;
      bits[255 - (bit >> 3)] = (bits[255 - (bit >> 3)] ?? 0) | (1 << (bit & 7));
    }
  }
  return `0x${bits.toString("hex")}`;
})();

const legacy = (nonce: string): { json: Json; bytes: Uint8Array } => {
  const own = {
    ...call,
    type: "0x0",
    nonce,
    gasPrice: "0x4",
    v: "0x1b",
    r: signature.r,
    s: signature.s,
  };
  const list = [
    integer(nonce),
    integer("0x4"),
    ...callItems,
    ...[integer("0x1b"), bytes(own.r), bytes(own.s)],
  ];
  return { json: { ...own, hash: hashOf(list), from: address("d") }, bytes: encoded(list) };
};

const receiptItems = (gas: string, logs: readonly Item[], more: readonly Item[] = []): Item[] => [
  integer("0x1"),
  integer(gas),
  bytes(logs.length > 0 ? bloom : NO_BLOOM),
  [...logs],
  ...more,
];

/** The receipts of a block's transactions, whose logs state the place of their receipt. */
const placed = (block: Json, receipts: readonly Json[]): Json[] =>
  receipts.map((receipt, index) => {
    const {
      hash: transactionHash,
      from,
      to,
      type,
    } = (block["transactions"] as Json[])[index] ?? {};
    const place = {
      ...{ blockHash: block["hash"], blockNumber: block["number"], transactionHash },
      transactionIndex: `0x${index.toString(16)}`,
    };
    const logs = ((receipt["logs"] ?? []) as Json[]).map((log) => ({ ...place, ...log }));
    const logsBloom = logs.length > 0 ? bloom : NO_BLOOM;
    return { ...place, from, to, type, status: "0x1", logsBloom, ...receipt, logs };
  });

describe("a receipt of a chain's own type", () => {
  const withReceipt = (
    transaction: Json,
    hash: Uint8Array,
    receipt: Json,
    list: Item[],
    type: string,
  ) => {
    const block = blockWith([{ ...transaction, hash: keccak256(hash) }], {
      transactions: [hash],
      receipts: [typed(type, list)],
    });
    return {
      block,
      receipts: placed(block, [{ cumulativeGasUsed: "0x7", gasUsed: "0x7", ...receipt }]),
    };
  };
  const encodedDeposit = typed("0x7e", depositItems("0x0", "0x0"));

  it.each([
    { since: "before Canyon", told: { depositNonce: "0x9" }, more: [] },
    {
      since: "since Canyon",
      told: { depositNonce: "0x9", depositReceiptVersion: "0x1" },
      more: ["0x9", "0x1"],
    },
  ])("has the nonce of a deposit $since as the root has it", ({ told, more }) => {
    const list = receiptItems("0x7", [], more.map(integer));
    const parts = withReceipt(deposit, encodedDeposit, told, list, "0x7e");
    for (const chainId of [10, 8453, UNLISTED])
      expect(proveBlock(parts, { chainId })).toEqual({ kind: "proven", unproven: [], odd: [] });
    const changed = { ...parts, receipts: [{ ...parts.receipts[0], status: "0x0" }] };
    expect(proveBlock(changed, { chainId: 10 })).toMatchObject({ part: "receipts root" });
    expect(proveBlock(changed, { chainId: UNLISTED })).toMatchObject({
      odd: [{ part: "receipts root" }],
    });
  });

  it("has the base fee in a currency of Celo", () => {
    const row = transactionRows.find(({ what }) => what.includes("fee currency"));
    const list = receiptItems("0x7", [], [integer("0x6")]);
    const parts = withReceipt(
      row?.transaction ?? {},
      row?.encode() ?? bytes("0x"),
      { baseFee: "0x6" },
      list,
      "0x7b",
    );
    expect(proveBlock(parts, { chainId: 42220 })).toEqual({
      kind: "proven",
      unproven: [],
      odd: [],
    });
  });

  it("is encoded as Ethereum's where nobody knows the type, and unproven where that does not fit", () => {
    const own = { ...call, type: "0x7f", hash: word("6"), from: address("d") };
    const receipts = [typed("0x7f", receiptItems("0x7", []))];
    const block = blockWith([own], { transactions: [], receipts }, { number: "0x5f5e100" });
    const list = placed(block, [{ cumulativeGasUsed: "0x7" }]);
    for (const chainId of [137, UNLISTED])
      expect(proveBlock({ block, receipts: list }, { chainId })).toEqual({
        kind: "proven",
        unproven: ["transactions root"],
        odd: [],
      });
    const changed = [{ ...list[0], status: "0x0" }];
    expect(proveBlock({ block, receipts: changed }, { chainId: 137 })).toEqual({
      kind: "proven",
      unproven: ["transactions root", "receipts root"],
      odd: [],
    });
  });

  it("that cannot be encoded is odd, not a lie", () => {
    const { json, bytes: own } = legacy("0x1");
    const receipts = [encoded(receiptItems("0x7", []))];
    const block = blockWith([json], { transactions: [own], receipts });
    const [receipt] = placed(block, [{ cumulativeGasUsed: "0x7" }]);
    const { status: _, ...rest } = receipt ?? {};
    expect(proveBlock({ block, receipts: [rest] }, { chainId: 1 })).toMatchObject({
      kind: "proven",
      odd: [{ part: "receipts root", reason: "receipt 0 cannot be encoded" }],
    });
  });
});

describe("the transaction of a state sync", () => {
  const signed = legacy("0x1");
  const number = "0x40b1ac0";
  const receipts = [encoded(receiptItems("0x5208", [logItems]))];
  const block = blockWith(
    [signed.json],
    { transactions: [signed.bytes], receipts, bloom },
    { number },
  );
  const prefix = Buffer.from("matic-bor-receipt-");
  const height = bytes("0x00000000040b1ac0");
  const hash = keccak256(Buffer.concat([prefix, height, bytes(String(block["hash"]))]));
  const sync = {
    ...{ hash, blockHash: block["hash"], blockNumber: number, transactionIndex: "0x1" },
    ...{
      type: "0x0",
      from: address("0"),
      to: address("0"),
      gas: "0x0",
      gasPrice: "0x0",
      value: "0x0",
    },
    ...{ input: "0x", nonce: "0x0", v: "0x0", r: "0x0", s: "0x0" },
  };
  const whole = { ...block, transactions: [...(block["transactions"] as Json[]), sync] };
  const own = { cumulativeGasUsed: "0x5208", gasUsed: "0x5208", logs: [logOf(0)] };
  /** Bor told no gas for it up to version 2.3, and began to count its logs anew. */
  const ofSync = { cumulativeGasUsed: "0x0", gasUsed: "0x0", logs: [logOf(0), logOf(1)] };
  const parts = { block: whole, receipts: placed(whole, [own, ofSync]) };

  it.each([137, 80002, UNLISTED])(
    "is in neither root on chain %i, and the others are proven",
    (chainId) => {
      expect(proveBlock(parts, { chainId })).toEqual({
        kind: "proven",
        unproven: ["transactions root", "receipts root", "logs bloom"],
        odd: [],
      });
    },
  );

  it("does not let another transaction be changed", () => {
    const changed = { ...whole, transactions: [{ ...signed.json, value: "0x8" }, sync] };
    expect(proveBlock({ ...parts, block: changed }, { chainId: 137 })).toMatchObject({
      kind: "failed",
      part: "transactions root",
    });
    const flipped = [{ ...parts.receipts[0], status: "0x0" }, parts.receipts[1] ?? {}];
    expect(proveBlock({ ...parts, receipts: flipped }, { chainId: 137 })).toMatchObject({
      kind: "failed",
      part: "receipts root",
    });
  });

  it("does not exist on Ethereum, and has a hash of its own", () => {
    expect(proveBlock(parts, { chainId: 1 })).toMatchObject({
      kind: "failed",
      part: "receipts root",
    });
    const other = {
      ...whole,
      transactions: [signed.json, { ...sync, hash: word("6") }].map((each, index) => ({
        ...each,
        ...{ blockHash: block["hash"], blockNumber: number, transactionIndex: `0x${index}` },
      })),
    };
    expect(proveBlock({ ...parts, block: other }, { chainId: 137 })).toMatchObject({
      kind: "failed",
    });
  });
});

it("leaves the system's transactions of HyperEVM out, which cost nothing", () => {
  const signed = legacy("0x1");
  const receipts = [encoded(receiptItems("0x5208", []))];
  const block = blockWith([signed.json], { transactions: [signed.bytes], receipts });
  const place = { blockHash: block["hash"], blockNumber: block["number"] };
  const system = {
    ...signed.json,
    ...place,
    gasPrice: "0x0",
    hash: word("6"),
    transactionIndex: "0x0",
  };
  const whole = {
    ...block,
    transactions: [system, { ...signed.json, ...place, transactionIndex: "0x1" }],
  };
  const list = placed(whole, [
    { cumulativeGasUsed: "0x0" },
    { cumulativeGasUsed: "0x5208", gasUsed: "0x5208" },
  ]);
  expect(proveBlock({ block: whole, receipts: list }, { chainId: 999 })).toEqual({
    kind: "proven",
    unproven: ["transactions root", "receipts root", "logs bloom"],
    odd: [],
  });
});

describe("what nodes derive from a block", () => {
  const all = ["0x1", "0x2", "0x3"].map(legacy);
  const gas = ["0x5208", "0xa410", "0xf618"];
  const block = blockWith(
    all.map(({ json }) => json),
    {
      transactions: all.map((each) => each.bytes),
      receipts: gas.map((each) => encoded(receiptItems(each, [logItems]))),
      bloom,
    },
  );
  const receiptsWith = (own: (index: number) => Json, indexes = [0, 1, 2]): Json[] =>
    placed(
      block,
      gas.map((cumulativeGasUsed, index) => ({
        ...{ cumulativeGasUsed, gasUsed: "0x5208", logs: [logOf(indexes[index] ?? 0)] },
        ...own(index),
      })),
    );
  const right = receiptsWith(() => ({}));

  it("is right", () => {
    for (const chainId of [1, 10, 137, 100, UNLISTED])
      expect(proveBlock({ block, receipts: right }, { chainId })).toEqual({
        kind: "proven",
        unproven: [],
        odd: [],
      });
  });

  it.each([
    { what: "log indexes 0, 1, 0", receipts: receiptsWith(() => ({}), [0, 1, 0]) },
    {
      what: "a recipient of a created contract",
      receipts: receiptsWith(() => ({ to: address("e") })),
    },
    {
      what: "a hole in the indexes",
      receipts: receiptsWith((index) => ({ transactionIndex: `0x${2 * index}` })),
    },
    { what: "another gasUsed", receipts: receiptsWith(() => ({ gasUsed: "0x1" })) },
    { what: "another sender", receipts: receiptsWith(() => ({ from: address("e") })) },
    {
      what: "a contract that nobody created",
      receipts: receiptsWith(() => ({ contractAddress: address("e") })),
    },
    { what: "no receipts", receipts: [] },
  ])("is a lie on Ethereum and odd on other chains where it is off: $what", ({ receipts }) => {
    expect(proveBlock({ block, receipts }, { chainId: 1 })).toMatchObject({ kind: "failed" });
    const proof = proveBlock({ block, receipts }, { chainId: UNLISTED });
    expect(partsThatAre(proof, "odd")).toContain("places");
    expect(proof.kind === "proven" && levelOf(proof)).toBe("partial");
  });

  it.each([
    { what: "another block", own: { blockHash: word("9") } },
    { what: "another height", own: { blockNumber: "0x1" } },
    { what: "another transaction", own: { transactionHash: word("9") } },
  ])("is a lie on any chain whose header is proven where it is of $what", ({ own }) => {
    const inReceipt = receiptsWith((index) => (index === 1 ? own : {}));
    const inLog = receiptsWith((index) => (index === 1 ? { logs: [logOf(1, own)] } : {}));
    for (const chainId of [1, 137, UNLISTED])
      for (const receipts of [inReceipt, inLog])
        expect(proveBlock({ block, receipts }, { chainId })).toMatchObject({
          kind: "failed",
          part: "places",
        });
  });

  it("is odd at most where the header is not proven", () => {
    const strange = { ...block, hash: word("9") };
    expect(proveBlock({ block: strange, receipts: right }, { chainId: UNLISTED })).toMatchObject({
      kind: "proven",
      odd: [{ part: "header hash" }, { part: "places" }],
    });
    const proof = proveBlock({ block: strange, receipts: right }, { chainId: 314 });
    expect(proof).toMatchObject({ kind: "proven", unproven: ["header hash"] });
  });

  it("has no bloom of its logs on chains of their own hash", () => {
    const ones = `0x${"ff".repeat(256)}`;
    const strange = { ...block, hash: word("9"), logsBloom: ones };
    const receipts = right.map((receipt) => ({ ...receipt, logsBloom: ones }));
    for (const chainId of [314, UNLISTED]) {
      const odd = partsThatAre(proveBlock({ block: strange, receipts }, { chainId }), "odd");
      expect(odd).not.toContain("logs bloom");
    }
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
        const leaves = leavesOf(parts).filter((path) => !uncovered.has(patternOf(path)));
        const path = leaves[at % leaves.length] ?? [];
        const proof = proveBlock(withLeaf(parts, path, another), { chainId });
        const isWhole = proof.kind === "proven" && levelOf(proof) === "full";
        expect(isWhole, `${patternOf(path)} on ${chainId}`).toBe(false);
      }),
      { numRuns: 200 },
    );
  });
});
