import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Candidate, rank, withTrial } from "./node-order.ts";

const WELL: Omit<Candidate, "name"> = {
  breaker: "closed",
  waitMs: 0,
  isLacking: false,
  lag: 0,
  errorRate: 0,
  meanMs: 20,
  inFlight: 0,
  weight: 1,
  price: 0,
  isUntried: false,
};

type Trait = Partial<Omit<Candidate, "name">>;

/** Candidates a, b, c …: healthy, except for the given traits. */
const those = (...traits: readonly Trait[]): Candidate[] =>
  traits.map((trait, index) => ({ name: "abcdef"[index] ?? "z", ...WELL, ...trait }));

const names = (candidates: readonly Candidate[]): string =>
  candidates.map(({ name }) => name).join("");

const ENDLESS = Number.POSITIVE_INFINITY;

describe("the order of the nodes", () => {
  it.each<{ rule: string; of: readonly Trait[]; want: string }>([
    { rule: "nobody is nobody", of: [], want: "" },
    { rule: "one is the best, however ill", of: [{ breaker: "open", lag: 9 }], want: "a" },
    { rule: "equals stay as configured", of: [{}, {}, {}], want: "abc" },
    { rule: "who lags is last", of: [{ lag: 1 }, {}], want: "ba" },
    { rule: "who lags less is earlier", of: [{ lag: 9 }, { lag: 3 }, { lag: 5 }], want: "bca" },
    { rule: "who is on another fork is last", of: [{ lag: ENDLESS }, { lag: 900 }], want: "ba" },
    {
      rule: "of two on another fork the one that fails less",
      of: [{ lag: ENDLESS, errorRate: 0.5 }, { lag: ENDLESS }],
      want: "ba",
    },
    { rule: "lag weighs more than failures", of: [{ lag: 2 }, { errorRate: 0.9 }], want: "ba" },
    {
      rule: "lag weighs more than speed",
      of: [{ lag: 1, meanMs: 1 }, { meanMs: 900 }],
      want: "ba",
    },
    { rule: "lag weighs more than price", of: [{ lag: 1 }, { price: 100 }], want: "ba" },
    { rule: "who fails is behind who does not", of: [{ errorRate: 0.1 }, {}], want: "ba" },
    { rule: "rare failures do not decide", of: [{ errorRate: 0.04 }, {}], want: "ab" },
    { rule: "failures weigh more than speed", of: [{ errorRate: 0.2, meanMs: 1 }, {}], want: "ba" },
    { rule: "failures weigh more than price", of: [{ errorRate: 0.2 }, { price: 5 }], want: "ba" },
    { rule: "the cheaper is asked", of: [{ price: 2 }, { price: 1 }], want: "ba" },
    { rule: "price weighs more than speed", of: [{ price: 1, meanMs: 1 }, {}], want: "ba" },
    { rule: "the faster is asked", of: [{ meanMs: 30 }, { meanMs: 10 }], want: "ba" },
    { rule: "a busy one is slower than it was", of: [{ meanMs: 10, inFlight: 2 }, {}], want: "ba" },
    {
      rule: "but not than one twice as slow",
      of: [{ meanMs: 10, inFlight: 2 }, { meanMs: 60 }],
      want: "ab",
    },
    {
      rule: "a node of double weight bears double work",
      of: [{ inFlight: 1 }, { inFlight: 2, weight: 2 }],
      want: "ba",
    },
    {
      rule: "who was not measured is behind who was",
      of: [{ meanMs: undefined }, { meanMs: 900 }],
      want: "ba",
    },
    {
      rule: "nobody is measured: the idle one",
      of: [{ meanMs: undefined, inFlight: 1 }, { meanMs: undefined }],
      want: "ba",
    },
    {
      rule: "weight 0 is asked in need",
      of: [
        { weight: 0, meanMs: 1 },
        { errorRate: 0.9, price: 9 },
      ],
      want: "ba",
    },
    {
      rule: "that is when others lag",
      of: [{ lag: 1 }, { weight: 0, errorRate: 0.9 }],
      want: "ba",
    },
    {
      rule: "of two that lag as much weight 0 is last",
      of: [
        { lag: 5, weight: 0 },
        { lag: 5, errorRate: 0.5 },
      ],
      want: "ba",
    },
    {
      rule: "who lacks something is behind weight 0",
      of: [{ isLacking: true }, { weight: 0 }],
      want: "ba",
    },
    {
      rule: "who lacks something is behind who lags",
      of: [{ isLacking: true }, { lag: 9 }],
      want: "ba",
    },
    {
      rule: "who has to wait is behind who lacks it",
      of: [{ waitMs: 1 }, { isLacking: true }],
      want: "ba",
    },
    {
      rule: "the shorter wait comes first",
      of: [{ waitMs: 90 }, { waitMs: 20, lag: 3 }],
      want: "ba",
    },
    {
      rule: "of two whose month is used up the better one",
      of: [{ waitMs: ENDLESS, lag: 1 }, { waitMs: ENDLESS }],
      want: "ba",
    },
    {
      rule: "who was given up is behind who has to wait",
      of: [{ breaker: "open" }, { waitMs: 900 }],
      want: "ba",
    },
    {
      rule: "who may be tried is no better yet",
      of: [{ breaker: "half-open" }, { breaker: "open" }],
      want: "ab",
    },
    {
      rule: "all at once",
      of: [{ breaker: "open" }, { lag: 2 }, { errorRate: 0.3 }, { meanMs: 50 }, {}, { waitMs: 5 }],
      want: "edcbfa",
    },
  ])("$rule: $want", ({ of, want }) => {
    expect(names(rank(those(...of)))).toBe(want);
  });
});

describe("a node that is new or recovered", () => {
  const fresh = { isUntried: true, meanMs: undefined };

  it.each<{ rule: string; of: readonly Trait[]; want: string }>([
    { rule: "goes first when it has the turn", of: [{}, {}, fresh], want: "cab" },
    {
      rule: "goes first when it is half-open",
      of: [{}, { ...fresh, breaker: "half-open" }],
      want: "ba",
    },
    {
      rule: "does when all others fail",
      of: [{ errorRate: 1 }, { ...fresh, breaker: "half-open" }],
      want: "ba",
    },
    { rule: "stays where it is when it is the best", of: [fresh, {}], want: "ab" },
    {
      rule: "is one at a time, the better one",
      of: [{}, { ...fresh, inFlight: 3 }, fresh],
      want: "cab",
    },
    {
      rule: "does not while somebody tries it",
      of: [{}, { ...fresh, breaker: "open" }],
      want: "ab",
    },
    { rule: "does not when it lags", of: [{}, { ...fresh, lag: 1 }], want: "ab" },
    { rule: "does when the best lags as much", of: [{ lag: 1 }, { ...fresh, lag: 1 }], want: "ba" },
    { rule: "does not when it costs more", of: [{}, { ...fresh, price: 1 }], want: "ab" },
    { rule: "does not when it has no budget", of: [{}, { ...fresh, waitMs: 1 }], want: "ab" },
    {
      rule: "does not when it lacks what is asked",
      of: [{}, { ...fresh, isLacking: true }],
      want: "ab",
    },
    {
      rule: "does not when it is there for need only",
      of: [{}, { ...fresh, weight: 0 }],
      want: "ab",
    },
    { rule: "is not looked for among nobody", of: [], want: "" },
  ])("$rule: $want", ({ of, want }) => {
    expect(names(withTrial(rank(those(...of))))).toBe(want);
  });
});

const someone: fc.Arbitrary<Trait> = fc.record({
  breaker: fc.constantFrom("closed", "closed", "half-open", "open"),
  waitMs: fc.constantFrom(0, 0, 0, 5, 900, ENDLESS),
  isLacking: fc.constantFrom(false, false, true),
  lag: fc.constantFrom(0, 0, 1, 7, ENDLESS),
  errorRate: fc.oneof(fc.constant(0), fc.double({ min: 0, max: 1, noNaN: true })),
  meanMs: fc.option(fc.double({ min: 0.01, max: 5_000, noNaN: true }), { nil: undefined }),
  inFlight: fc.nat(20),
  weight: fc.constantFrom(0, 0.5, 1, 1, 2),
  price: fc.constantFrom(0, 0, 1, 2.5),
  isUntried: fc.boolean(),
});
const anybody = fc.array(someone, { maxLength: 6 }).map((traits) => those(...traits));

/** Changes that each make a candidate worse in one respect. */
const WORSE: readonly ((candidate: Candidate) => Trait)[] = [
  () => ({ breaker: "open" }),
  ({ waitMs }) => ({ waitMs: waitMs + 1 }),
  () => ({ isLacking: true }),
  ({ lag }) => ({ lag: lag + 1 }),
  ({ errorRate }) => ({ errorRate: Math.min(1, errorRate + 0.05) }),
  ({ meanMs }) => ({ meanMs: meanMs && meanMs * 2 }),
  ({ inFlight }) => ({ inFlight: inFlight + 1 }),
  ({ weight }) => ({ weight: weight / 2 }),
  () => ({ weight: 0 }),
  ({ price }) => ({ price: price + 1 }),
];

describe("the order of any nodes", () => {
  it("has each of them once", () => {
    fc.assert(
      fc.property(anybody, (nodes) => {
        expect([...rank(nodes)].sort(byName)).toEqual(nodes);
        expect([...withTrial(rank(nodes))].sort(byName)).toEqual(nodes);
      }),
    );
  });

  it("has any two of them as if there were no others", () => {
    fc.assert(
      fc.property(anybody, (nodes) => {
        const ranked = rank(nodes);
        for (const [index, better] of ranked.entries())
          for (const worse of ranked.slice(index + 1))
            expect(rank([better, worse].sort(byName))[0]).toBe(better);
      }),
    );
  });

  it("does not depend on the order of the configuration, but among equals", () => {
    const areEqual = (one: Candidate, other: Candidate): boolean =>
      rank([one, other])[0] === one && rank([other, one])[0] === other;
    const shuffled = anybody.chain((nodes) =>
      fc.tuple(
        fc.constant(nodes),
        fc.shuffledSubarray(nodes, { minLength: nodes.length, maxLength: nodes.length }),
      ),
    );
    fc.assert(
      fc.property(shuffled, ([nodes, others]) => {
        const want = rank(nodes);
        for (const [index, candidate] of rank(others).entries()) {
          const there = want[index];
          expect(there === candidate || (there && areEqual(there, candidate))).toBe(true);
        }
      }),
    );
  });

  it("never moves up who gets worse in one respect", () => {
    fc.assert(
      fc.property(anybody, fc.nat(5), fc.constantFrom(...WORSE), (nodes, which, worse) => {
        const chosen = nodes[which];
        if (!chosen) return;
        const place = rank(nodes).indexOf(chosen);
        const worsened = { ...chosen, ...worse(chosen) };
        const after = rank(nodes.map((node) => (node === chosen ? worsened : node)));
        expect(after.indexOf(worsened)).toBeGreaterThanOrEqual(place);
      }),
    );
  });

  it("is changed by a trial for one node only", () => {
    fc.assert(
      fc.property(anybody, (nodes) => {
        const ranked = rank(nodes);
        const [first, ...others] = withTrial(ranked);
        expect(others).toEqual(ranked.filter((node) => node !== first));
      }),
    );
  });
});

function byName(a: Candidate, b: Candidate): number {
  return a.name < b.name ? -1 : 1;
}
