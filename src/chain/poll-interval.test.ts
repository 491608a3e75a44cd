import { expect, it } from "vitest";
import { pollIntervalMs } from "./poll-interval.ts";

/** A store whose blocks have these times, oldest first, beginning at block 100. */
const storeOf = (times: readonly number[]): Parameters<typeof pollIntervalMs>[0] => ({
  head: times.length > 0 ? { number: 99 + times.length, hash: "" } : undefined,
  tail: times.length > 0 ? 100 : undefined,
  hashAt: (number) => (number >= 100 && number < 100 + times.length ? String(number) : undefined),
  outline: (hash) => ({ timestamp: times[Number(hash) - 100] ?? 0 }) as never,
});

it.each([
  { times: [], want: 500, why: "nothing is stored" },
  { times: [5], want: 500, why: "one block has no distance" },
  { times: [0, 12, 24, 36], want: 6000, why: "mainnet" },
  { times: [0, 2, 4, 6, 8], want: 1000, why: "two seconds" },
  { times: [0, 0, 0, 1, 1, 1], want: 100, why: "several blocks a second" },
  { times: [0, 3600, 3601, 3602], want: 500, why: "one long pause counts little" },
  { times: [0, 600, 1200], want: 6000, why: "slower than any limit" },
])("every $want ms: $why", ({ times, want }) => {
  expect(pollIntervalMs(storeOf(times))).toBe(want);
});
