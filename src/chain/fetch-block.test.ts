// A node's replies about receipts, and the block that is fetched of them.
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { answerOf } from "../../test/support/generated-chain/answers.ts";
import { GeneratedChain } from "../../test/support/generated-chain.ts";
import { Turns } from "../lib/turns.ts";
import type { Reply } from "../upstream/reply.ts";
import type { ReceiptTerms } from "./dialect.ts";
import { blockDialect } from "./fetch-block.ts";

const LIMITS = { bytes: 1e9, transactions: 1e9, logs: 1e9 };
const PRUNED = { code: 4444, message: "pruned history unavailable" };
const REFUSED: Reply = { kind: "refused", ...PRUNED, json: JSON.stringify(PRUNED) };
const MISSING: Reply = { kind: "missing" };

const chain = new GeneratedChain({ seed: 7, transactions: [20, 20], logs: [1, 3] });
chain.extend(3);
const { blockJson, receiptsJson, signed } = chain.head;
const receipts = JSON.parse(receiptsJson) as unknown[];

/** Fetches the head from a node whose replies about receipts are changed. */
async function fetchedFrom(
  told: { byBlock?: unknown; one?: unknown; block?: unknown },
  terms: ReceiptTerms = "needed",
) {
  const asked: string[] = [];
  const replyOf = (method: string, paramsJson: string): Reply => {
    const given = method === "eth_getTransactionReceipt" ? told.one : told.byBlock;
    if (method === "eth_getBlockByHash" && told.block !== undefined)
      return { kind: "result", json: Buffer.from(JSON.stringify(told.block)) };
    const isTold = method.includes("Receipt") && given !== undefined;
    if (isTold && (given === REFUSED || given === MISSING)) return given as Reply;
    const json = isTold ? JSON.stringify(given) : answerOf(chain, method, JSON.parse(paramsJson));
    return json === undefined ? MISSING : { kind: "result", json: Buffer.from(json) };
  };
  const node = {
    name: "node",
    isMissing: () => false,
    ask: async (method: string, paramsJson: string): Promise<Reply> => {
      asked.push(method);
      return replyOf(method, paramsJson);
    },
  };
  const answer = await blockDialect.fetchBlock({ hash: chain.head.hash }, node, {
    ...{ limits: LIMITS, receipts: terms },
    turns: new Turns({ clock: new FakeClock() }),
    signal: new AbortController().signal,
  });
  const { json, receipts: list } = answer.kind === "fetched" ? answer.fetched : {};
  return {
    kind: answer.kind,
    block: json?.block.toString(),
    receipts: list && json?.receipts?.toString(),
    oneByOne: asked.filter((method) => method === "eth_getTransactionReceipt").length,
  };
}

/** Replies to a call for the receipts of a block with twenty transactions. */
const SHORT = [
  { what: "an empty list", byBlock: [] },
  { what: "null", byBlock: null },
  { what: "all but the last one", byBlock: receipts.slice(0, -1) },
  { what: "all but the first one", byBlock: receipts.slice(1) },
  { what: "one too many", byBlock: [...receipts, receipts[0]] },
  { what: "null in the place of one", byBlock: receipts.with(4, null) },
];

describe.each(SHORT)("where a node's receipts of a block are $what", ({ byBlock }) => {
  it.each<ReceiptTerms>(["needed", "if held"])(
    "they are asked for one by one (%s)",
    async (terms) => {
      expect(await fetchedFrom({ byBlock }, terms)).toEqual({
        ...{ kind: "fetched", block: blockJson, oneByOne: signed.length },
        receipts: JSON.stringify(receipts),
      });
    },
  );

  it("and single ones are null, the block is given alone, after one more call", async () => {
    const told = { byBlock, one: null };
    const alone = { kind: "fetched", block: blockJson, receipts: undefined, oneByOne: 1 };
    expect(await fetchedFrom(told, "if held")).toEqual(alone);
    expect(await fetchedFrom(told, "needed")).toMatchObject({ kind: "no receipts", oneByOne: 1 });
  });
});

describe("a node that refuses calls for old receipts", () => {
  it.each([
    { byBlock: REFUSED, one: REFUSED },
    { byBlock: MISSING, one: MISSING },
  ])("gives the block alone: %j", async (told) => {
    expect(await fetchedFrom(told, "if held")).toMatchObject({
      ...{ kind: "fetched", block: blockJson, receipts: undefined },
    });
    expect((await fetchedFrom(told, "needed")).kind).toBe("failed");
  });
});

it.each([7, {}, [7], receipts.with(3, 7)])(
  "a reply that is no list of receipts is garbage: %j",
  async (byBlock) => {
    expect((await fetchedFrom({ byBlock }, "if held")).kind).toBe("garbage");
  },
);

it("a block with the hashes of its transactions is no garbage: the node cannot give more", async () => {
  const block = { ...JSON.parse(blockJson), transactions: signed.map(({ hash }) => hash) };
  expect((await fetchedFrom({ block })).kind).toBe("failed");
  expect((await fetchedFrom({ block: { ...block, transactions: [7] } })).kind).toBe("garbage");
});
