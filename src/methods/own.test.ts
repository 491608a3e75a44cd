import { describe, expect, it } from "vitest";
import { call } from "../../test/support/scripted-context.ts";
import { noCounts } from "../access/usage/key-usage.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { readRange } from "../lib/calendar.ts";
import { type CallContext, checkParams } from "./method.ts";
import { ownMethods } from "./own.ts";

const row = {
  ...{ day: "2026-11-21", key: "app", network: "eth", method: "eth_call" },
  ...noCounts(),
  ...{ calls: 2, computeUnits: 6, bytes: 90, requestBytes: 60, errors: 1, refused: 3 },
  ...{ savedByStore: 1, savedComputeUnits: 3, upstreamCalls: 1, refusedMethods: 1, refusedRate: 2 },
};

async function usage(...params: unknown[]): Promise<unknown> {
  const method = ownMethods.find(({ name }) => name === "headgate_usage");
  const context: Partial<CallContext> = {
    holder: "app",
    signal: new AbortController().signal,
    hold: () => undefined,
    payForWork: async () => undefined,
    account: {
      meter: { snapshot: () => ({ concurrent: { limit: 5, running: 1 } }) },
      usage: {
        range: (wanted) => readRange(wanted, { wallTimeMs: Date.UTC(2026, 10, 21), mostDays: 92 }),
        rows: async function* () {
          yield [row];
          yield [{ ...row, method: "eth_getLogs" }];
        },
      },
    },
  };
  if (!method) throw new Error("no method");
  return JSON.parse(
    String(await method.answer(checkParams(method, params), context as CallContext)),
  );
}

/** Asks for the usage of a key with so many rows, which come ten by ten, and so many units left. */
async function usageOf(rows: number, units: number, signal = new AbortController().signal) {
  const method = ownMethods.find(({ name }) => name === "headgate_usage");
  let read = 0;
  const paid: number[] = [];
  const account = {
    meter: { snapshot: () => ({}) },
    usage: {
      range: () => ({ kind: "days", from: "2026-09-01", to: "2026-11-21" }),
      rows: async function* () {
        for (; read < rows; ) {
          const some = Array(Math.min(10, rows - read)).fill(row);
          read += some.length;
          yield some;
        }
      },
    },
  };
  const payForWork = async (due: number): Promise<void> => {
    paid.push(due);
    if (paid.reduce((sum, each) => sum + each, 0) > units)
      throw errors.rateLimited({ limit: units, remaining: 0, retryAfter: 1, rule: "rate" });
  };
  const context = { holder: "app", account, payForWork, signal, hold: () => undefined };
  const answer = Promise.resolve(method?.answer({}, context as unknown as CallContext)).then(
    String,
  );
  return { answer, paid, read: () => read };
}

describe("rpc.discover", () => {
  it("costs what its document takes", async () => {
    const method = ownMethods.find(({ name }) => name === "rpc.discover");
    const paid: number[] = [];
    const context = {
      describe: () => "x".repeat(260_000),
      payForWork: async (units: number) => void paid.push(units),
    };
    await method?.answer({}, context as unknown as CallContext);
    expect(paid).toEqual([5]);
  });
});

describe("headgate_usage", () => {
  it("tells the key's limits, what was done with it and what nodes were asked, and not how that was saved", async () => {
    const figures = { bytes: 90, requestBytes: 60, errors: 1, refused: 3, upstreamCalls: 1 };
    const counts = { calls: 2, computeUnits: 6, ...figures };
    expect(await usage()).toEqual({
      key: "app",
      limits: { concurrent: { limit: 5, running: 1 } },
      from: "2026-11-01",
      to: "2026-11-21",
      total: {
        ...{ calls: 4, computeUnits: 12, bytes: 180, requestBytes: 120, errors: 2, refused: 6 },
        upstreamCalls: 2,
      },
      usage: [
        { day: "2026-11-21", network: "eth", method: "eth_call", ...counts },
        { day: "2026-11-21", network: "eth", method: "eth_getLogs", ...counts },
      ],
    });
  });

  it.each([
    [[{ from: "2026-02-30" }], "invalid argument 0: from: want a UTC day such as 2026-11-21"],
    [[{ from: "now" }], "invalid argument 0: from: want a UTC day such as 2026-11-21"],
    [[{ since: "2026-11-01" }], "invalid argument 0: want an object with from and to"],
    [["2026-11-01"], "invalid argument 0: want an object with from and to"],
    [
      [{ to: "2026-10-31", from: "2026-11-01" }],
      "invalid argument 0: from: 2026-11-01 is after 2026-10-31, the last day asked for",
    ],
    [[{}, 1], "too many arguments, want at most 1"],
  ])("refuses %j", async (params, message) => {
    await expect(usage(...params)).rejects.toMatchObject({ code: -32602, message });
  });

  it("costs a unit for each ten rows, which are paid as they are read", async () => {
    const { paid, read, answer } = await usageOf(95, 10_000);
    expect(JSON.parse(await answer).usage).toHaveLength(95);
    expect(paid.reduce((sum, units) => sum + units, 1)).toBe(10);
    expect([paid.length, read()]).toEqual([9, 95]); // the call's own price pays for the first ten rows
  });

  it("ends where the key has no units left", async () => {
    const { answer, read } = await usageOf(9_200, 50);
    await expect(answer).rejects.toMatchObject({ code: -32005 });
    expect(read()).toBeLessThan(600);
  });

  it("has at most 20,000 rows", async () => {
    const { answer, read } = await usageOf(1_000_000, 1_000_000);
    await expect(answer).rejects.toMatchObject({
      code: -32602,
      message: "invalid argument 0: more than 20000 rows: ask for fewer days",
    });
    expect(read()).toBe(20_010);
  });

  it("reads nothing more once the caller is gone", async () => {
    const gone = AbortSignal.abort();
    const { answer, read } = await usageOf(1_000, 1_000, gone);
    await expect(answer).rejects.toMatchObject({ status: 504 });
    expect(read()).toBe(10);
  });

  it("asks no node", async () => {
    expect((await call("headgate_usage", [])).asked).toEqual([]);
  });
});
