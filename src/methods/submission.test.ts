import { describe, expect, it } from "vitest";
import { call, refusing, type Script } from "../../test/support/scripted-context.ts";
import { keccak256OfData } from "../evm/keccak.ts";
import { errors } from "../jsonrpc/rpc-error.ts";

/** Without a type, of EIP-1559, and of a type that only some network knows. */
const raw = "0xc20102";
const typed = "0x02c20102";
const foreign = "0x7bc20102";
const node = { hash: keccak256OfData(raw), blockHash: null };
const used = { code: -32000, message: "nonce too low: next nonce 12, tx nonce 11", data: 1 };
const known = { code: -32000, message: "already known" };
const notFound = { code: -32001, message: "Resource not found" };
const unanswered = () => {
  throw errors.upstreamsFailed();
};

type Case = { sent: unknown; found: unknown; transaction?: string };

const outcome = async (family: "eth" | "cfx", { sent, found, transaction = raw }: Case) => {
  const script: Script = {
    [`${family}_sendRawTransaction`]: sent,
    [`${family}_getTransactionByHash`]: found,
  };
  return call(`${family}_sendRawTransaction`, [transaction], script).then(
    ({ result, asked }) => ({ result, asked: asked.map(([method]) => method) }),
    ({ code, message, json }) => ({ code, message, json }),
  );
};

describe.each(["eth", "cfx"] as const)("%s_sendRawTransaction", (family) => {
  const lookedUp = [`${family}_sendRawTransaction`, `${family}_getTransactionByHash`];
  const hash = keccak256OfData(raw);

  it.each([hash, hash.toUpperCase().replace("0X", "0x")])(
    "answers the hash when a node says %s, and asks nothing else",
    async (sent) => {
      const told = await outcome(family, { sent, found: unanswered });
      expect(told).toEqual({ result: hash, asked: lookedUp.slice(0, 1) });
    },
  );

  it.each([`0x${"ab".repeat(32)}`, true, null, [hash], { hash }])(
    "does not believe a node that says %j",
    async (sent) => {
      const told = await outcome(family, { sent, found: null });
      expect(told).toMatchObject({ message: "no upstream could answer" });
      expect(await outcome(family, { sent, found: node })).toMatchObject({ result: hash });
    },
  );

  it.each([
    ["a node has it already", refusing(known)],
    ["its nonce is used by itself", refusing(used)],
    ["all nodes failed after one had taken it", unanswered],
    ["nodes ran out of time after one had taken it", throwing(errors.upstreamTimeout())],
    ["no node is there that could have taken it again", throwing(errors.noUpstream())],
  ])("answers the hash when %s", async (_, sent) => {
    const told = await outcome(family, { sent, found: node });
    expect(told).toEqual({ result: hash, asked: lookedUp });
  });

  it.each([
    ["its nonce is used by another", used, null],
    ["its nonce is used and nobody can be asked by what", used, unanswered],
    ["its nonce is used and nodes refuse to find it", used, refusing(notFound)],
    ["a node only knows that it refused it before", known, null],
  ])("passes the refusal on as it came when %s", async (_, error, found) => {
    const { code, message } = error;
    const told = await outcome(family, { sent: refusing(error), found });
    expect(told).toEqual({ code, message, json: JSON.stringify(error) });
  });

  it("passes on that no node answered when none has it", async () => {
    for (const error of [errors.upstreamsFailed(), errors.upstreamTimeout()]) {
      const told = await outcome(family, { sent: throwing(error), found: null });
      expect(told).toMatchObject({ code: error.code, message: error.message });
    }
  });

  it("takes a node's word that it has it where nodes only take transactions", async () => {
    const told = await outcome(family, { sent: refusing(known), found: unanswered });
    expect(told).toMatchObject({ result: hash });
  });

  it.each(["intrinsic gas too low", "invalid sender", "unknown transaction type"])(
    "does not look for what is refused with %s",
    async (message) => {
      const sent = refusing({ code: -32000, message });
      expect(await outcome(family, { sent, found: node })).toMatchObject({ message });
    },
  );
});

describe("a transaction whose hash is not certain", () => {
  it("is what the node says", async () => {
    const sent = `0x${"ab".repeat(32)}`;
    expect(await outcome("eth", { sent, found: null, transaction: foreign })).toMatchObject({
      result: sent,
    });
  });

  it.each([
    [typed, unanswered, { result: keccak256OfData(typed) }],
    [foreign, { hash: keccak256OfData(foreign) }, { result: keccak256OfData(foreign) }],
    [foreign, unanswered, { message: known.message }],
    ["0x", unanswered, { message: known.message }],
  ])("is only answered with a hash that a node knows: %s", async (transaction, found, want) => {
    const told = await outcome("eth", { sent: refusing(known), found, transaction });
    expect(told).toMatchObject(want);
  });
});

it("a submission that fails otherwise is a bug, and no answer", async () => {
  const sent = throwing(new TypeError("x is undefined"));
  expect(await outcome("eth", { sent, found: node })).toMatchObject({ message: "x is undefined" });
});

function throwing(error: Error): () => never {
  return () => {
    throw error;
  };
}
