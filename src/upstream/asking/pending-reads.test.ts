import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { CHAIN_1, DOWN, startedPoolOf } from "../../../test/support/fake-pool.ts";

const never = new AbortController().signal;
const PENDING = { isPending: true };

/** The pending block at a position; with Flashblocks, a block keeps its transactions and gets more of them. */
const blockAt = (number: number, transactions: number, first = 0): string =>
  JSON.stringify({
    number: `0x${number.toString(16)}`,
    transactions: Array.from({ length: transactions }, (_, index) => `0x${number}${first + index}`),
  });

type At = readonly [number: number, transactions: number, first?: number];

/** A pool of nodes whose pending blocks the test moves; a node without a position is down. */
async function world(names: readonly string[]) {
  const at: Record<string, At | undefined> = {};
  const scripts = Object.fromEntries(
    names.map((name) => [
      name,
      (method: string) => {
        if (method === "eth_chainId") return CHAIN_1;
        const position = at[name];
        if (!position) return DOWN;
        return method === "m" ? `"result":${blockAt(...position)}` : `"result":"${name}"`;
      },
    ]),
  );
  const parts = await startedPoolOf(scripts);
  const { clock, outcome, asked } = parts;
  /** The answer, while time passes in steps of 50 ms; `each` is called before each step. */
  const read = async (each: (ms: number) => void = () => undefined, method = "m") => {
    let answer: string | undefined;
    void outcome(method, never, PENDING).then((told) => {
      answer = told;
    });
    for (let ms = 0; answer === undefined && ms < 20_000; ms += 50) {
      each(ms);
      await clock.advance(50);
    }
    return answer ?? "no answer";
  };
  return { at, read, asked, clock };
}

const positionIn = (answer: string): number[] => {
  const { number, transactions } = JSON.parse(answer);
  return [Number(number), transactions.length];
};

describe("reads of a pending block that grows", () => {
  it("are not answered by a node that is behind one that was shown", async () => {
    for (const [a, b] of [
      ["a", "b"],
      ["b", "a"],
    ] as const) {
      const { at, read } = await world(["a", "b"]);
      Object.assign(at, { [a]: [100, 7], [b]: undefined });
      expect(positionIn(await read())).toEqual([100, 7]);
      at[b] = [100, 3];
      for (let call = 0; call < 20; call += 1) expect(positionIn(await read())).toEqual([100, 7]);
      Object.assign(at, { [a]: [101, 1], [b]: [100, 9] });
      let last = [0, 0];
      for (let call = 0; call < 20; call += 1) last = positionIn(await read());
      expect(last).toEqual([101, 1]);
    }
  });

  it("wait for the other node to come as far when the leading one is gone", async () => {
    const { at, read } = await world(["a", "b"]);
    Object.assign(at, { a: [100, 7], b: undefined });
    await read();
    Object.assign(at, { a: undefined, b: [100, 3] });
    const answer = await read((ms) => {
      at["b"] = [100, 3 + Math.floor(ms / 200)];
    });
    expect(positionIn(answer)).toEqual([100, 7]);
  });

  it("believe all nodes in the end, since a chain can go back", async () => {
    const { at, read } = await world(["a", "b"]);
    Object.assign(at, { a: [100, 7], b: [100, 7] });
    await read();
    Object.assign(at, { a: [100, 3], b: [100, 3] });
    expect(positionIn(await read())).toEqual([100, 3]);
    Object.assign(at, { a: [98, 3], b: [98, 3] });
    expect(positionIn(await read())).toEqual([98, 3]);
  });

  it("of state go to the node that leads", async () => {
    const { at, read, asked } = await world(["a", "b"]);
    Object.assign(at, { a: undefined, b: [100, 3] });
    await read();
    Object.assign(at, { a: [100, 1], b: [100, 4] });
    await read();
    asked.length = 0;
    for (let call = 0; call < 10; call += 1) expect(await read(undefined, "balance")).toBe('"b"');
    expect(asked).toEqual(Array(10).fill("b balance"));
  });
});

it("drafts that each node makes anew are answered as they come, by one call each", async () => {
  const { at, read, asked } = await world(["a", "b"]);
  Object.assign(at, { a: [100, 7], b: [100, 3, 40] });
  for (let call = 0; call < 20; call += 1) {
    Object.assign(at, { a: [100, 7 - (call % 3), call], b: [100, 3, 40 + call] });
    await read();
  }
  expect(asked).toHaveLength(20);
});

it("one node alone is answered as it answers", async () => {
  const { at, read } = await world(["a"]);
  for (const position of [
    [100, 7],
    [100, 8],
    [100, 3],
    [99, 1],
  ] as const) {
    at["a"] = position;
    expect(positionIn(await read())).toEqual([...position]);
  }
});

it("no caller sees the block go back, whichever nodes lag, die and return", async () => {
  const step = fc.record({
    lags: fc.tuple(fc.nat({ max: 8 }), fc.nat({ max: 8 }), fc.nat({ max: 8 })),
    down: fc.nat({ max: 3 }),
    grows: fc.nat({ max: 4 }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 12 }), async (steps) => {
      const { at, read } = await world(["a", "b", "c"]);
      /** Flashblocks since the beginning, ten of them in a block. */
      let head = 1_000;
      let last = 0;
      for (const { lags, down, grows } of steps) {
        head += grows;
        const begun = head;
        const answer = await read((ms) => {
          head = begun + Math.floor(ms / 200);
          for (const [index, name] of ["a", "b", "c"].entries()) {
            const told = head - (lags[index] ?? 0);
            at[name] = index === down ? undefined : [Math.floor(told / 10), 1 + (told % 10)];
          }
        });
        const [number = 0, transactions = 0] = positionIn(answer);
        const shown = number * 10 + transactions - 1;
        expect(shown).toBeGreaterThanOrEqual(last);
        last = shown;
      }
    }),
    { numRuns: 60 },
  );
});
