import { expect, it } from "vitest";
import { unusualAgeMs } from "./freshness.ts";

/** A store of blocks with these seconds between them, oldest first. */
function storeOf(gaps: readonly number[]) {
  const times = [1_700_000_000];
  for (const gap of gaps) times.push((times.at(-1) ?? 0) + gap);
  return {
    head: { number: 100 + gaps.length, hash: String(gaps.length) },
    tail: 100,
    hashAt: (number: number) => String(number - 100),
    outline: (hash: string) => ({ timestamp: times[Number(hash)] ?? 0 }) as never,
  };
}
const every = (seconds: number, blocks: number): number[] => Array(blocks).fill(seconds);
/** The times between blocks that miners find: exponentially distributed, and the same in each run. */
const mined = every(13, 2_000).map((mean, index) => {
  const chance = ((index * 7919) % 2000) / 2000;
  return Math.round(-mean * Math.log(1 - chance));
});

it.each([
  { chain: "a block every 12 s", gaps: every(12, 1_000), seconds: 240 },
  { chain: "a block every second", gaps: every(1, 5_000), seconds: 120 },
  { chain: "a block a minute", gaps: every(60, 1_000), seconds: 1_200 },
])("$chain: a head that is older than $seconds s is unusual", ({ gaps, seconds }) => {
  expect(unusualAgeMs(storeOf(gaps))).toBe(seconds * 1_000);
});

it("blocks that are mined by chance are regular enough", () => {
  expect(unusualAgeMs(storeOf(mined))).toBeGreaterThan(200_000);
  expect(unusualAgeMs(storeOf(mined))).toBeLessThan(300_000);
});

it.each([
  { chain: "no block", gaps: [] },
  { chain: "an hour's worth of few blocks", gaps: every(60, 60) },
  { chain: "many blocks in a few minutes", gaps: every(1, 500) },
  {
    chain: "blocks on demand, with a night between",
    gaps: [...every(1, 900), 40_000, ...every(1, 900)],
  },
  {
    chain: "a block when somebody wants one",
    gaps: every(0, 900).map((_, at) => (at % 90 === 0 ? 600 : 1)),
  },
])("$chain: nothing is unusual", ({ gaps }) => {
  expect(unusualAgeMs(storeOf(gaps))).toBeUndefined();
});
