import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { ADDRESS, fieldOfTopic, hashTerm, type LogMatcher } from "../evm/log-filter.ts";
import { readAddress } from "./address.ts";
import { type EpochLogFilter, epochMatcher } from "./epoch-logs.ts";

type Conditions = Pick<EpochLogFilter, "address" | "topics">;
type Log = { readonly address: string; readonly topics: readonly string[] };

const contracts = [
  "net1234:type.contract:accevwy4mh5ewcfbz777wggwj3rxy68yya5whpve87",
  "net1234:type.user:aar8jzybzv0fhzreav49syxnzut8s0jt1av3m8zzdr",
  "net1234:type.null:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa4u9n6h98",
];
const withoutType = (text: string): string => text.replace(/:.*:/, ":");
const [A = ""] = contracts;
const T = `0x${"cD".repeat(32)}`;

/** Whether conflux-rust would return the log for these conditions. */
function matchesLog(log: Log, { address, topics }: Conditions): boolean {
  const hexOf = (text: string): string => {
    const reading = readAddress(text, 1234);
    return reading.kind === "address" ? reading.address.hex : "none";
  };
  const addresses = address ? [address].flat() : [];
  if (addresses.length > 0 && !addresses.some((text) => hexOf(text) === hexOf(log.address))) {
    return false;
  }
  return (topics ?? []).every((position, index) => {
    if (position === null) return true;
    return [position]
      .flat()
      .some((topic) => topic.toLowerCase() === log.topics[index]?.toLowerCase());
  });
}

/** Whether a search finds the log: first by its terms, then by its values. */
function isFound(log: Log, matcher: LogMatcher | "nothing"): boolean {
  if (matcher === "nothing" || log.topics.length < matcher.leastTopics) return false;
  const values = [log.address, ...log.topics];
  return matcher.conditions.every((condition) => {
    const value = values[condition.field] ?? "";
    return (
      condition.terms.has(hashTerm(value, condition.field)) &&
      condition.values.has(value.toLowerCase())
    );
  });
}

const anyForm = fc
  .tuple(fc.constantFrom(...contracts), fc.boolean(), fc.boolean())
  .map(([text, isShort, isUpper]) =>
    (isShort ? withoutType(text) : text)[isUpper ? "toUpperCase" : "toLowerCase"](),
  );
const anyTopic = fc
  .tuple(fc.constantFrom("1", "a", "B"), fc.boolean())
  .map(
    ([digit, isUpper]) => `0x${(isUpper ? digit.toUpperCase() : digit.toLowerCase()).repeat(64)}`,
  );
const anyLog = fc.record({ address: anyForm, topics: fc.array(anyTopic, { maxLength: 4 }) });
const anyPosition = fc.oneof(
  fc.constant(null),
  anyTopic,
  fc.array(anyTopic, { minLength: 0, maxLength: 3 }),
);
const filter = fc.record({
  address: fc.oneof(fc.constant(null), anyForm, fc.array(anyForm, { maxLength: 2 })),
  topics: fc.oneof(fc.constant(null), fc.array(anyPosition, { maxLength: 4 })),
});

it("finds what a node would", () => {
  fc.assert(
    fc.property(anyLog, filter, (one, conditions) => {
      expect(isFound(one, epochMatcher(conditions, 1234))).toBe(matchesLog(one, conditions));
    }),
    { numRuns: 2000 },
  );
});

const shapeOf = (conditions: Conditions) => {
  const matcher = epochMatcher(conditions, 1234);
  if (matcher === "nothing") return matcher;
  return [
    matcher.conditions.map(({ field: place, values }) => [place, ...values]),
    matcher.leastTopics,
  ];
};

describe("an epoch matcher", () => {
  it.each([
    { conditions: {}, want: [[], 0] },
    { conditions: { address: null, topics: null }, want: [[], 0] },
    { conditions: { address: [], topics: [] }, want: [[], 0] },
    { conditions: { address: A.toUpperCase() }, want: [[[0, withoutType(A), A]], 0] },
    { conditions: { topics: [null, T, null] }, want: [[[2, T.toLowerCase()]], 2] },
    { conditions: { topics: [null, null] }, want: [[], 0] }, // unlike geth, the log may have fewer topics
    { conditions: { topics: [[]] }, want: "nothing" },
    { conditions: { topics: [T, []] }, want: "nothing" },
    { conditions: { address: "cfx:of-another-network" }, want: "nothing" },
  ])("of $conditions wants $want", ({ conditions, want }) => {
    expect(shapeOf(conditions)).toEqual(want);
  });

  it("has the terms of both forms that nodes write", () => {
    const matcher = epochMatcher({ address: A, topics: [T] }, 1234) as LogMatcher;
    expect(matcher.conditions.map(({ terms }) => [...terms])).toEqual([
      [hashTerm(withoutType(A), ADDRESS), hashTerm(A.toUpperCase(), ADDRESS)],
      [hashTerm(T, fieldOfTopic(0))],
    ]);
  });
});
