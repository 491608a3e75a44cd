// Blocks as chains make them, composed by another RLP library than the sources'.
import { RLP } from "@ethereumjs/rlp";
import { keccak256 } from "../../src/evm/keccak.ts";
import type { Json } from "../../src/proofs/json.ts";
import { EMPTY_ROOT } from "../../src/proofs/ordered-trie.ts";
import type { Proof } from "../../src/proofs/prove-block.ts";
import { orderedTrieRoot } from "./at-once.ts";

export type Item = Uint8Array | Item[];

export const UNLISTED = 424_242;
export const word = (digit: string): string => `0x${digit.repeat(64)}`;
export const address = (digit: string): string => `0x${digit.repeat(40)}`;
const NO_BLOOM = `0x${"00".repeat(256)}`;

export const bytes = (data: string): Uint8Array => Buffer.from(data.slice(2), "hex");
/** The bytes of a number without leading zeros. */
export const integer = (text: string): Uint8Array => {
  const digits = BigInt(text).toString(16);
  return text === "0x0" ? bytes("0x") : bytes(`0x${digits.length % 2 ? "0" : ""}${digits}`);
};
export const encoded = (list: Item): Uint8Array => RLP.encode(list);
const hashOf = (list: Item): string => keccak256(encoded(list));

export const fields = {
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
export type Header = Partial<Record<string, unknown>> & typeof fields;

const isInteger = /^(difficulty|number|gas\w+|timestamp)$/;
/** The named members of a header as RLP items. */
export const items = (header: Header, names: readonly string[]): Item[] =>
  names.map((name) => {
    const value = String(header[name]);
    return isInteger.test(name) ? integer(value) : bytes(value);
  });
export const upToExtraData = Object.keys(fields).slice(0, 13);
export const base = Object.keys(fields);

export const hashed = (header: Header, encode: (header: Header) => Item[]): Json => ({
  ...header,
  hash: hashOf(encode(header)),
  uncles: [],
  transactions: [],
});

export const partsThatAre = (proof: Proof, what: "unproven" | "odd"): string[] => {
  if (proof.kind === "failed") return [`${proof.part}: ${proof.reason}`];
  return what === "odd" ? proof.odd.map(({ part }) => part) : [...proof.unproven];
};

export const call = { gas: "0x5208", to: address("c"), value: "0x7", input: "0xdeadbeef" };
export const callItems = [
  integer("0x5208"),
  bytes(address("c")),
  integer("0x7"),
  bytes("0xdeadbeef"),
];
export const signature = { yParity: "0x1", r: `0x${"a1".repeat(32)}`, s: `0x${"b2".repeat(32)}` };
export const signatureItems = [integer("0x1"), bytes(signature.r), bytes(signature.s)];
export const fees = {
  chainId: "0x2",
  nonce: "0x3",
  maxPriorityFeePerGas: "0x4",
  maxFeePerGas: "0x5",
};
export const feeItems = ["0x2", "0x3", "0x4", "0x5"].map(integer);

export const typed = (type: string, list: Item[]): Uint8Array =>
  Buffer.concat([bytes(type), encoded(list)]);

export const deposit = {
  type: "0x7e",
  sourceHash: word("5"),
  from: address("d"),
  ...call,
  nonce: "0x9",
  v: "0x0",
  r: "0x0",
  s: "0x0",
};
export const depositItems = (mint: string, isSystem: string): Item[] => [
  bytes(word("5")),
  bytes(address("d")),
  bytes(address("c")),
  integer(mint),
  integer("0x7"),
  integer("0x5208"),
  integer(isSystem),
  bytes("0xdeadbeef"),
];

/** A block with these transactions and receipts; `covered` are their encodings as the roots cover them. */
export function blockWith(
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

const topic = word("7");
export const logOf = (index: number, own: Json = {}): Json => ({
  ...{ address: address("a"), topics: [topic], data: "0x01", logIndex: `0x${index.toString(16)}` },
  ...own,
});
export const logItems: Item = [bytes(address("a")), [bytes(topic)], bytes("0x01")];

/** The bloom of logs like `logOf`. */
export const bloom = ((): string => {
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

export const legacy = (nonce: string): { json: Json; bytes: Uint8Array } => {
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

export const receiptItems = (
  gas: string,
  logs: readonly Item[],
  more: readonly Item[] = [],
): Item[] => [
  integer("0x1"),
  integer(gas),
  bytes(logs.length > 0 ? bloom : NO_BLOOM),
  [...logs],
  ...more,
];

/** The receipts of a block's transactions, whose logs state the place of their receipt. */
export const placed = (block: Json, receipts: readonly Json[]): Json[] =>
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
