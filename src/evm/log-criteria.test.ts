import { describe, expect, it } from "vitest";
import { criteriaHash } from "./log-criteria.ts";
import type { LogFilter } from "./log-filter.ts";

const a = `0x${"ab".repeat(20)}`;
const b = `0x${"cd".repeat(20)}`;
const t = `0x${"12".repeat(32)}`;
const u = `0x${"ef".repeat(32)}`;
const nameOf = (filter: LogFilter): string => criteriaHash(filter).toString("hex");

describe("filters that search for the same have one name", () => {
  const cases: [LogFilter, LogFilter][] = [
    [{}, { address: [], topics: [] }],
    [{ address: null, topics: null }, { fromBlock: "0x1" }],
    [{ address: a }, { address: [a.toUpperCase().replace("0X", "0x")] }],
    [{ address: [a, b] }, { address: [b, a, b] }],
    [{ topics: [t] }, { topics: [[t]] }],
    [{ topics: [[t, u], null] }, { topics: [[u, t], []] }],
    [{ topics: [null, t] }, { topics: [[t, null], t] }],
  ];
  it.each(cases)("%j and %j", (one, other) => expect(nameOf(one)).toBe(nameOf(other)));
});

describe("others have another", () => {
  const cases: [LogFilter, LogFilter][] = [
    [{}, { topics: [null] }],
    [{ topics: [null] }, { topics: [null, null] }],
    [{ address: a }, { address: b }],
    [{ address: a }, { address: [a, b] }],
    [{ topics: [t, u] }, { topics: [u, t] }],
    [{ topics: [t, u] }, { topics: [[t, u]] }],
    [{ topics: [null, t] }, { topics: [t] }],
  ];
  it.each(cases)("%j and %j", (one, other) => expect(nameOf(one)).not.toBe(nameOf(other)));
});
