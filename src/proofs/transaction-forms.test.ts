// Transactions of chains' own types, each as the transactions root has it and with another value.
import { describe, expect, it } from "vitest";
import { proveBlock } from "../../test/support/at-once.ts";
import {
  address,
  blockWith,
  bytes,
  call,
  callItems,
  deposit,
  depositItems,
  encoded,
  feeItems,
  fees,
  integer,
  partsThatAre,
  signature,
  signatureItems,
  typed,
  UNLISTED,
  word,
} from "../../test/support/composed-blocks.ts";
import { keccak256 } from "../evm/keccak.ts";
import type { Json } from "./json.ts";

type TransactionRow = {
  readonly what: string;
  readonly chainId: number;
  readonly transaction: Json;
  readonly encode: () => Uint8Array;
  /** Whether a transaction without its hash is a lie. */
  readonly isSure?: true;
};

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
