import { describe, expect, it } from "vitest";
import { call } from "../../test/support/scripted-context.ts";
import { noCounts } from "../access/usage/key-usage.ts";
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
  const context: Pick<CallContext, "account" | "holder"> = {
    holder: "app",
    account: {
      meter: { snapshot: () => ({ concurrent: { limit: 5, running: 1 } }) },
      usage: {
        range: (wanted) => readRange(wanted, { wallTimeMs: Date.UTC(2026, 10, 21), mostDays: 92 }),
        read: async () => [row, { ...row, method: "eth_getLogs" }],
      },
    },
  };
  if (!method) throw new Error("no method");
  return JSON.parse(
    String(await method.answer(checkParams(method, params), context as CallContext)),
  );
}

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

  it("asks no node", async () => {
    expect((await call("headgate_usage", [])).asked).toEqual([]);
  });
});
