import { describe, expect, it } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import type { Entry } from "../../state/state.ts";
import { noCounts, type UsageRow } from "./key-usage.ts";
import {
  priceList,
  readUsage,
  type UsageQuery,
  usageCsv,
  usageReportOf,
  usageRows,
} from "./usage-report.ts";

const stateOf = (entries: Readonly<Record<string, object>>) => ({
  list: async (prefix: string): Promise<readonly Entry[]> =>
    Object.entries(entries)
      .filter(([key]) => key.startsWith(prefix))
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([key, value]) => ({ key, text: JSON.stringify(value) })),
});

const state = stateOf({
  "usage 2026-11-20 app m-0": { eth: { eth_call: [9, 9] } },
  "usage 2026-11-21 app m-0": { eth: { eth_call: [1, 3, 10] }, bsc: { eth_call: [2, 6] } },
  "usage 2026-11-21 app m-1": { eth: { eth_call: [4, 12, 5], eth_chainId: [1, 1] } },
  "usage 2026-11-21 app-2 m-0": { eth: { eth_call: [7, 21] } },
  "usage 2026-11-22 app m-0": { eth: { eth_call: [8, 8] } },
});
const day = { from: "2026-11-21", to: "2026-11-21" };

const told = async (query: UsageQuery) =>
  (await readUsage(state, query, { clock: systemClock })).map(
    ({ day: on, key, network, method, calls, computeUnits, bytes }) =>
      [on.slice(-2), key, network, method, calls, computeUnits, bytes].join(" "),
  );

describe("reading what was done", () => {
  it("adds up members, in the order of day, key, network and method", async () => {
    expect(await told({ from: "2026-11-20", to: "2026-11-21" })).toEqual([
      "20 app eth eth_call 9 9 0",
      "21 app bsc eth_call 2 6 0",
      "21 app eth eth_call 5 15 15",
      "21 app eth eth_chainId 1 1 0",
      "21 app-2 eth eth_call 7 21 0",
    ]);
  });

  it.each([
    [{ ...day, key: "app-2" }, ["21 app-2 eth eth_call 7 21 0"]],
    [{ ...day, key: "ap" }, []],
    [{ ...day, network: "bsc" }, ["21 app bsc eth_call 2 6 0"]],
    [{ from: "2026-11-23", to: "2026-11-30" }, []],
  ])("of %j tells no more than that", async (query, want) => {
    expect(await told(query)).toEqual(want);
  });

  it("lets others have their turn, however many rows there are", async () => {
    const entries = Array.from({ length: 20_000 }, (_, index) => ({
      key: `usage 2026-11-21 key${String(index).padStart(6, "0")} m-0`,
      text: '{"eth":{"a":[1],"b":[1],"c":[1],"d":[1],"e":[1]}}',
    }));
    let turns = 0;
    const clock = {
      yield: async () => {
        turns += 1;
      },
    };
    const rows = await readUsage({ list: async () => entries }, day, { clock });
    expect(rows).toHaveLength(100_000);
    expect(turns).toBeGreaterThanOrEqual(100);
  });
});

it("is read in small parts, so that a reader pays for them one by one", async () => {
  const methods = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`m${at}`, [1]]));
  const entries = [{ key: "usage 2026-11-21 app m-0", text: JSON.stringify({ eth: methods }) }];
  const parts: number[] = [];
  for await (const rows of usageRows({ list: async () => entries }, day, { clock: systemClock }))
    parts.push(rows.length);
  expect(parts).toEqual([200, 200, 200, 200, 200]);
});

const row = (fields: Partial<UsageRow>): UsageRow => ({
  day: "2026-11-21",
  key: "app",
  network: "eth",
  method: "eth_call",
  ...noCounts(),
  ...fields,
});
const days = { from: "2026-11-21", to: "2026-11-21" };
const prices = priceList({
  currency: "EUR",
  computeUnits: 0.4,
  methods: { "trace_*": 100, "trace_block*": 50, trace_block: 75, eth_getLogs: 20 },
});

describe("prices", () => {
  it.each([
    ["eth_call", 1.2, 0.8],
    ["eth_getLogs", 20, 12],
    ["trace_filter", 100, 60],
    ["trace_blockReceipts", 50, 30],
    ["trace_block", 75, 45],
  ])("of a million %s are %d, and of 600,000 saved ones %d", (method, cost, savedCost) => {
    const counts = {
      calls: 1_000_000,
      computeUnits: 3_000_000,
      savedByStore: 100_000,
      savedByMerging: 200_000,
      savedHere: 300_000,
      savedComputeUnits: 2_000_000,
    };
    expect(prices.costOf(row({ method, ...counts }))).toEqual({ cost, savedCost });
  });
});

describe("the usage report", () => {
  const rows = [
    row({ calls: 10, computeUnits: 30, savedByStore: 4, savedComputeUnits: 12 }),
    row({ method: "eth_getLogs", calls: 2, computeUnits: 20, savedHere: 1, savedComputeUnits: 10 }),
    row({ key: "web", calls: 1, computeUnits: 3, refused: 5 }),
  ];

  it("sums up each key, and all of them", () => {
    const report = usageReportOf(rows, days, prices);
    expect(report).toMatchObject({ ...days, currency: "EUR" });
    expect(report.keys).toEqual({
      app: expect.objectContaining({ calls: 12, cost: 0.000052, savedCost: 0.0000248 }),
      web: expect.objectContaining({ calls: 1, refused: 5, cost: 0.0000012, savedCost: 0 }),
    });
    expect(report.total).toMatchObject({ calls: 13, computeUnits: 53, cost: 0.0000532 });
  });

  it("tells no costs where there are no prices", () => {
    const report = usageReportOf(rows, days, undefined);
    expect(report.total).not.toHaveProperty("cost");
    expect(usageCsv(report).split("\r\n")[1]).toBe(
      "2026-11-21,app,eth,eth_call,10,30,0,0,0,0,4,0,0,12,0,,,",
    );
  });

  it("has sums by network, method and day", () => {
    const report = usageReportOf(rows, days, prices);
    const sumOf = (sums: Readonly<Record<string, { readonly calls: number }>>): number =>
      Object.values(sums).reduce((sum, { calls }) => sum + calls, 0);
    for (const sums of [report.networks, report.methods, report.days]) expect(sumOf(sums)).toBe(13);
  });

  it("has no field that a spreadsheet takes for a formula", () => {
    const odd = ["=1+1", "+1", "-1", "@x", "\tx"].map((key) => row({ method: "eth_call", key }));
    const lines = usageCsv(usageReportOf(odd, days, undefined))
      .split("\r\n")
      .slice(1, -1);
    for (const line of lines) expect(line.split(",")[1]).toMatch(/^'[=+\-@\t]/);
  });

  it("is CSV by RFC 4180", () => {
    const odd = row({ method: 'a,"b"\nc', calls: 1, computeUnits: 1 });
    expect(usageCsv(usageReportOf([odd], days, prices))).toBe(
      "day,key,network,method,calls,computeUnits,bytes,requestBytes,errors,refused,savedByStore,savedByMerging,savedHere,savedComputeUnits,upstreamCalls,cost,savedCost,currency\r\n" +
        '2026-11-21,app,eth,"a,""b""\nc",1,1,0,0,0,0,0,0,0,0,0,0.0000004,0,EUR\r\n',
    );
  });
});
