// Receipts of chains' own types, and transactions that nodes show but no root covers.
import { describe, expect, it } from "vitest";
import { proveBlock } from "../../test/support/at-once.ts";
import {
  address,
  blockWith,
  bloom,
  bytes,
  call,
  callItems,
  deposit,
  depositItems,
  encoded,
  feeItems,
  fees,
  type Item,
  integer,
  legacy,
  logItems,
  logOf,
  placed,
  receiptItems,
  signature,
  signatureItems,
  typed,
  UNLISTED,
  word,
} from "../../test/support/composed-blocks.ts";
import { keccak256 } from "../evm/keccak.ts";
import type { Json } from "./json.ts";

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
    const own = { ...fees, ...call, ...signature, accessList: [], feeCurrency: address("e") };
    const feeCurrency = { ...own, type: "0x7b" };
    const body = [...feeItems, ...callItems, [], bytes(address("e")), ...signatureItems];
    const list = receiptItems("0x7", [], [integer("0x6")]);
    const parts = withReceipt(feeCurrency, typed("0x7b", body), { baseFee: "0x6" }, list, "0x7b");
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
