import { describe, expect, it } from "vitest";
import { recordOf } from "../../test/support/at-once.ts";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { Turns } from "../lib/turns.ts";
import type { Reply } from "../upstream/reply.ts";
import type { AskedUpstream } from "./dialect.ts";
import { epochDialect } from "./fetch-epoch.ts";
import { logsIn } from "./log-index.ts";

const hashOf = (name: string): string => `0x${Buffer.from(name.padEnd(32)).toString("hex")}`;
const never = new AbortController().signal;

/** The pivot of epoch 7 is the last of its two blocks, `side` and `pivot`. */
const block = (name: string, epoch: number, parent: string) => ({
  ...{ hash: hashOf(name), parentHash: hashOf(parent), epochNumber: `0x${epoch.toString(16)}` },
  timestamp: "0x64",
});
const log = (name: string, index: number) => ({
  ...{ address: "NET1234:TYPE.CONTRACT:ACC", topics: [], data: "0x", epochNumber: "0x7" },
  ...{ blockHash: hashOf(name), logIndex: `0x${index.toString(16)}` },
});

type Answers = Record<string, unknown>;
const answers: Answers = {
  'cfx_getBlockByEpochNumber ["0x7",false]': block("pivot", 7, "before"),
  'cfx_getBlockByEpochNumber ["latest_state",false]': block("pivot", 7, "before"),
  'cfx_getBlockByEpochNumber ["latest_finalized",false]': block("final", 2, "older"),
  'cfx_getBlocksByEpoch ["0x7"]': [hashOf("side"), hashOf("pivot")],
  'cfx_getLogs [{"fromEpoch":"0x7","toEpoch":"0x7"}]': [
    log("side", 0),
    log("pivot", 0),
    log("pivot", 1),
  ],
  [`cfx_getBlockByHash ["${hashOf("pivot")}",false]`]: block("pivot", 7, "before"),
  [`cfx_getBlockByHash ["${hashOf("side")}",false]`]: block("side", 7, "elsewhere"),
  [`cfx_getBlockByHash ["${hashOf("nobody")}",false]`]: null,
};
const REFUSED: Reply = { kind: "refused", code: -32602, message: "no such epoch", json: "{}" };

/** @param later The answers to a call from its second time on. */
function nodeWith(changed: Answers = {}, later: Answers = {}): AskedUpstream {
  const asked = new Set<string>();
  return {
    name: "node",
    isMissing: () => false,
    ask: async (method, paramsJson) => {
      const call = `${method} ${paramsJson}`;
      const told = { ...answers, ...changed, ...(asked.has(call) ? later : {}) };
      asked.add(call);
      if (!(call in told)) return REFUSED;
      return { kind: "result", json: Buffer.from(JSON.stringify(told[call])) };
    },
  };
}

const UNLIMITED = { bytes: 1e9, transactions: 1e9, logs: 1e9 };

const fetchEpoch = (reference: { number: number } | { hash: string }, node = nodeWith()) =>
  epochDialect.fetchBlock(reference, node, {
    limits: UNLIMITED,
    receipts: "needed",
    turns: new Turns({ clock: new FakeClock() }),
    signal: never,
  });

describe("an epoch", () => {
  it.each([{ number: 7 }, { hash: hashOf("pivot") }])("is fetched by %o", async (reference) => {
    const answer = await fetchEpoch(reference);
    if (answer.kind !== "fetched") throw new Error(answer.kind);
    const record = recordOf(answer.fetched.json, answer.fetched, "none");
    expect(record).toMatchObject({
      hash: hashOf("pivot"),
      outline: { number: 7, parentHash: hashOf("before"), timestamp: 100 },
      transactionHashes: Buffer.from(
        `${hashOf("side").slice(2)}${hashOf("pivot").slice(2)}`,
        "hex",
      ),
    });
    expect(logsIn(record?.logs ?? Buffer.alloc(0))).toBe(3);
    expect(String(answer.fetched.json.receipts)).toBe(
      JSON.stringify([{ logs: [log("side", 0)] }, { logs: [log("pivot", 0), log("pivot", 1)] }]),
    );
  });

  it("with more logs than a node gives at once is put together from its blocks", async () => {
    const node = nodeWith({
      [`cfx_getLogs [{"blockHashes":["${hashOf("side")}"]}]`]: [log("side", 0)],
      [`cfx_getLogs [{"blockHashes":["${hashOf("pivot")}"]}]`]: [],
    });
    const ask: AskedUpstream["ask"] = (method, params, ...rest) =>
      params.includes("fromEpoch") ? Promise.resolve(REFUSED) : node.ask(method, params, ...rest);
    const answer = await fetchEpoch({ number: 7 }, { ...node, ask });
    expect(answer).toMatchObject({ kind: "fetched" });
  });

  it.each<[string, Answers, Answers]>([
    [
      "whose pivot is another one by now",
      {},
      { 'cfx_getBlockByEpochNumber ["0x7",false]': block("new", 7, "before") },
    ],
    ["whose blocks end in another pivot", { 'cfx_getBlocksByEpoch ["0x7"]': [hashOf("new")] }, {}],
    ["that the node does not have", { 'cfx_getBlockByEpochNumber ["0x7",false]': null }, {}],
  ])("%s is unknown", async (_, changed, later) => {
    expect(await fetchEpoch({ number: 7 }, nodeWith(changed, later))).toEqual({ kind: "unknown" });
  });

  it.each([
    {
      call: "cfx_getBlocksByEpoch",
      reply: { kind: "failed", reason: "ECONNRESET" },
      why: "ECONNRESET",
    },
    {
      call: "cfx_getBlockByEpochNumber",
      reply: { kind: "failed", reason: "ECONNRESET" },
      why: "ECONNRESET",
    },
    { call: "cfx_getLogs", reply: REFUSED, why: "no such epoch" },
  ] as const)("says why it could not be fetched: $call", async ({ call, reply, why }) => {
    const node = nodeWith();
    const ask: AskedUpstream["ask"] = (method, ...rest) =>
      method === call ? Promise.resolve(reply) : node.ask(method, ...rest);
    expect(await fetchEpoch({ number: 7 }, { ...node, ask })).toEqual({
      kind: "failed",
      reason: why,
    });
  });

  it("with a log of a block that is not its own is not taken", async () => {
    const stray = { 'cfx_getLogs [{"fromEpoch":"0x7","toEpoch":"0x7"}]': [log("stray", 0)] };
    expect(await fetchEpoch({ number: 7 }, nodeWith(stray))).toMatchObject({ kind: "garbage" });
  });

  it("is not that of a block beside the pivot chain", async () => {
    expect(await fetchEpoch({ hash: hashOf("side") })).toEqual({ kind: "unknown" });
    expect(await epochDialect.knowsBlock(hashOf("side"), nodeWith(), never)).toBe(false);
    expect(await epochDialect.knowsBlock(hashOf("nobody"), nodeWith(), never)).toBe(false);
    expect(await epochDialect.knowsBlock(hashOf("pivot"), nodeWith(), never)).toBe(true);
  });

  it.each([
    ["latest", { number: 7, hash: hashOf("pivot") }],
    ["finalized", { number: 2, hash: hashOf("final") }],
    ["latest_finalized", { number: 2, hash: hashOf("final") }],
    [7, { number: 7, hash: hashOf("pivot") }],
    [8, undefined],
  ] as const)("called %s is at %o", async (tag, want) => {
    const position = await epochDialect.readPosition(tag, nodeWith(), never);
    expect(position).toEqual(want && { ...want, timestamp: expect.any(Number) });
  });
});
