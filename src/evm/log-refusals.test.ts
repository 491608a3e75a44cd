import { describe, expect, it } from "vitest";
import { hasTooManyCriteria, logRefusalDialects, sizeRefusal } from "./log-refusals.ts";

const asked = { from: 0, to: 10_000_000 };
const rows = logRefusalDialects.flatMap(({ of, about, seen }) =>
  Object.entries(seen).map(([message, named]) => {
    const want = named === "no number" ? { about } : { about, widest: named };
    return { of, message, want };
  }),
);

it.each(rows)("$of: $message", ({ message, want }) => {
  expect(sizeRefusal({ message }, asked)).toEqual(want);
});

it.each(rows)("the same as data: $message", ({ message, want }) => {
  expect(sizeRefusal({ message: "invalid params", data: { payload: message } }, asked)).toEqual(
    want,
  );
});

describe("a range that the node proposes", () => {
  const from = 0x3d7773;
  it.each([
    [
      "query returned more than 10000 results. Try with this block range [0x3D7773, 0x3D7966].",
      { about: "results", hint: 0x3d7966 },
    ],
    [
      "Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0x3d7773, 0x3d7966]",
      { about: "results", hint: 0x3d7966 },
    ],
    [
      "Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range. Based on your parameters, this block range should work: [0x3d7773, 0x3d777c]. Upgrade to PAYG for expanded block range.",
      { about: "range", widest: 10, hint: 0x3d777c },
    ],
    [
      "query exceeds max results 20000, retry with the range 4028275-4028300",
      { about: "results", hint: 4028300 },
    ],
    // As asked, which reth did; reversed; outside; from elsewhere; no number.
    ["query exceeds max results 20000, retry with the range 4028275-4030000", { about: "results" }],
    ["returned more than 5 results. Try with [0x3d7773, 0x3d7772]", { about: "results" }],
    ["returned more than 5 results. Try with [0x3d7773, 0xffffffff]", { about: "results" }],
    ["returned more than 5 results. Try with [0x3d7774, 0x3d7780]", { about: "results" }],
    ["returned more than 5 results. Try with [0x3d7773, latest]", { about: "results" }],
  ])("%s", (message, want) => {
    expect(sizeRefusal({ message }, { from, to: 4_030_000 })).toEqual(want);
  });

  it("may stand in the data alone", () => {
    const data = { from: "0xa", limit: 10000, to: "0xC" };
    const error = { message: "query returned more than 10000 results", data };
    expect(sizeRefusal(error, { from: 10, to: 20 })).toEqual({ about: "results", hint: 12 });
  });
});

it("names a width only when that is fewer blocks than were asked for", () => {
  const message = "exceed maximum block range: 1000";
  expect(sizeRefusal({ message }, { from: 1, to: 1000 })).toEqual({ about: "range" });
  expect(sizeRefusal({ message }, { from: 1, to: 1001 })).toEqual({ about: "range", widest: 1000 });
  const none = { message: "exceed maximum block range: 0" };
  expect(sizeRefusal(none, asked)).toEqual({ about: "range" });
});

it.each([
  "invalid block range params",
  "block range extends beyond current head block",
  "rate limit exceeded",
  "daily request count exceeded, request rate limited",
  "rate limited to 10 requests",
  "unknown block",
  "exceed max topics",
  "exceed max addresses or topics per search position",
  "This query contains 5006 filters. The current limit is 5000.",
  "header not found",
  "pruned history unavailable",
  "execution reverted: block range is too wide",
  "",
])("is not about size: %s", (message) => {
  expect(sizeRefusal({ message }, asked)).toBeUndefined();
});

it("tells limits of addresses and topics apart", () => {
  const says = (message: string) => hasTooManyCriteria({ message });
  expect(says("exceed max addresses or topics per search position")).toBe(true);
  expect(says("This query contains 5006 filters. The current limit is 5000.")).toBe(true);
  expect(says("block range is too wide")).toBe(false);
});

it("is read quickly, whatever a node writes", () => {
  const words = [
    "range ",
    "1,",
    "[0x",
    "limited to 0 - ",
    "max range ",
    '"from":"0x1"',
    "too many blocks ",
  ];
  const startedAt = performance.now();
  for (const word of words)
    sizeRefusal({ message: word.repeat(300_000), data: word.repeat(300_000) }, asked);
  expect(performance.now() - startedAt).toBeLessThan(500);
});
