import { describe, expect, it } from "vitest";
import { call, refusing, type Surroundings } from "../../test/support/scripted-context.ts";
import { keccak256OfData } from "../evm/keccak.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { waitMsOf } from "./receipt-wait.ts";

const raw = "0x02c20102";
const hash = keccak256OfData(raw);
const mined = { transactionHash: hash, blockHash: `0x${"b1".repeat(32)}`, blockNumber: "0x65" };
const pending = { transactionHash: hash, blockHash: null, blockNumber: null };
const sync = "eth_sendRawTransactionSync";

/** A followed chain that has the receipt, or not yet. */
const chainWith = (receipt?: object): NonNullable<Surroundings["chains"]>[number] => {
  const block = { receipt: () => Buffer.from(JSON.stringify(receipt)), number: 101 };
  const found = receipt ? { block, index: 0 } : undefined;
  const hurry = (): undefined => undefined;
  return { tail: 50, hurry, pause: async () => undefined, transaction: () => found } as never;
};

/** The answer, and the methods that nodes were asked; or the error. */
const send = (script: object, chains?: Surroundings["chains"], params: unknown[] = [raw]) =>
  call(sync, params, script as never, chains ? { chains } : {}).then(
    ({ result, asked }) => ({ result, asked }),
    ({ code, message, data, json }) => ({ code, message, data, json }),
  );

const sent = ["eth_sendRawTransaction", [raw]];
const lookedFor = ["eth_getTransactionReceipt", [hash]];
const late = (seconds: number) => ({
  code: 4,
  message: `The transaction was added to the mempool but wasn't processed in ${seconds}s.`,
  data: hash,
});

describe("eth_sendRawTransactionSync on a followed chain", () => {
  it("answers the receipt of the first chain that has it, and asks nodes nothing more", async () => {
    const chains = [chainWith(), chainWith(), chainWith(mined)];
    const told = await send({ eth_sendRawTransaction: hash }, chains, [raw, 5_000]);
    expect(told).toEqual({ result: mined, asked: [sent] });
  });

  it("answers error 4 with the hash when the time is over", async () => {
    const chains = [chainWith(), chainWith()];
    expect(await send({ eth_sendRawTransaction: hash }, chains)).toMatchObject(late(2));
    const told = await send({ eth_sendRawTransaction: hash }, chains, [raw, "0x1f4"]);
    expect(told).toMatchObject(late(0.5));
  });

  it("answers a node's receipt of a transaction that was sent long before", async () => {
    const script = {
      eth_sendRawTransaction: refusing({ code: -32000, message: "nonce too low" }),
      eth_getTransactionByHash: { hash },
      eth_getTransactionReceipt: { ...mined, blockNumber: "0x2" },
    };
    expect(await send(script, [chainWith()])).toMatchObject({ result: { blockNumber: "0x2" } });
    // A node's word about a block that the chain should have does not count.
    const newer = { ...script, eth_getTransactionReceipt: mined };
    expect(await send(newer, [chainWith()])).toMatchObject(late(2));
  });
});

describe("eth_sendRawTransactionSync where no chain is followed", () => {
  it("asks nodes until one has the receipt", async () => {
    const answers = [null, pending, mined];
    const script = {
      eth_sendRawTransaction: hash,
      eth_getTransactionReceipt: () => answers.shift(),
    };
    const told = await send(script, [undefined, undefined, undefined, undefined]);
    expect(told).toEqual({ result: mined, asked: [sent, lookedFor, lookedFor, lookedFor] });
  });

  it.each([
    ["nodes fail", () => throwing(errors.upstreamsFailed())],
    ["the key may ask no more", () => throwing(errors.tooMuchWork(1))],
    ["a node gives another transaction's receipt", () => ({ ...mined, transactionHash: "0x1" })],
  ])("tells the hash all the same when %s", async (_, said) => {
    const script = { eth_sendRawTransaction: hash, eth_getTransactionReceipt: said };
    expect(await send(script, [undefined, undefined])).toMatchObject(late(2));
  });

  it("waits for the chain once there is one", async () => {
    const script = { eth_sendRawTransaction: hash, eth_getTransactionReceipt: null };
    const told = await send(script, [undefined, chainWith(), chainWith(mined)]);
    expect(told).toEqual({ result: mined, asked: [sent, lookedFor] });
  });
});

it("a refused transaction is refused at once, as eth_sendRawTransaction refuses it", async () => {
  const error = { code: -32000, message: "intrinsic gas too low" };
  const told = await send({ eth_sendRawTransaction: refusing(error) }, [chainWith(mined)]);
  expect(told).toMatchObject({ ...error, json: JSON.stringify(error) });
});

it.each([
  [undefined, 2_000],
  [500, 500],
  ["0x1f4", 500],
  [60_000, 10_000],
  [0, 2_000],
  [-1, 2_000],
  [1.5, 2_000],
  ["soon", 2_000],
  [Number.NaN, 2_000],
])("a caller that names %j as its time waits %i ms", (asked, want) => {
  expect(waitMsOf(asked, { waitMs: 2_000, mostMs: 10_000 })).toBe(want);
});

describe("eth_sendRawTransactionConditional", () => {
  const conditional = "eth_sendRawTransactionConditional";
  const params = [raw, { blockNumberMax: "0x64" }];

  it("goes as it is to nodes that have it, and only there", async () => {
    const { result, asked } = await call(conditional, params, { [conditional]: hash });
    expect([result, asked]).toEqual([hash, [[conditional, params]]]);
    const told = call(conditional, params, { eth_sendRawTransaction: hash });
    await expect(told).rejects.toMatchObject({ code: -32601 });
  });

  it("is answered the hash when a node had taken it before", async () => {
    const known = refusing({ code: -32000, message: "already known" });
    const script = { [conditional]: known, eth_getTransactionByHash: { hash } };
    expect((await call(conditional, params, script)).result).toBe(hash);
  });
});

function throwing(error: Error): never {
  throw error;
}
