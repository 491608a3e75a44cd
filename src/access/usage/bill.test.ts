import { describe, expect, it } from "vitest";
import { billOf, usageCsv } from "./bill.ts";
import { noCounts } from "./counts.ts";
import { priceList } from "./prices.ts";
import type { UsageRow } from "./usage-report.ts";

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

describe("the bill", () => {
  const rows = [
    row({ calls: 10, computeUnits: 30, savedByStore: 4, savedComputeUnits: 12 }),
    row({ method: "eth_getLogs", calls: 2, computeUnits: 20, savedHere: 1, savedComputeUnits: 10 }),
    row({ key: "web", calls: 1, computeUnits: 3, refused: 5 }),
  ];

  it("sums up each key, and all of them", () => {
    const bill = billOf(rows, days, prices);
    expect(bill).toMatchObject({ ...days, currency: "EUR" });
    expect(bill.keys).toEqual({
      app: expect.objectContaining({ calls: 12, cost: 0.000052, savedCost: 0.0000248 }),
      web: expect.objectContaining({ calls: 1, refused: 5, cost: 0.0000012, savedCost: 0 }),
    });
    expect(bill.total).toMatchObject({ calls: 13, computeUnits: 53, cost: 0.0000532 });
  });

  it("tells no costs where there are no prices", () => {
    const bill = billOf(rows, days, undefined);
    expect(bill.total).not.toHaveProperty("cost");
    expect(usageCsv(bill).split("\r\n")[1]).toBe(
      "2026-11-21,app,eth,eth_call,10,30,0,0,0,0,4,0,0,12,0,,,",
    );
  });

  it("is CSV by RFC 4180", () => {
    const odd = row({ method: 'a,"b"\nc', calls: 1, computeUnits: 1 });
    expect(usageCsv(billOf([odd], days, prices))).toBe(
      "day,key,network,method,calls,computeUnits,bytes,requestBytes,errors,refused,savedByStore,savedByMerging,savedHere,savedComputeUnits,upstreamCalls,cost,savedCost,currency\r\n" +
        '2026-11-21,app,eth,"a,""b""\nc",1,1,0,0,0,0,0,0,0,0,0,0.0000004,0,EUR\r\n',
    );
  });
});
