import { expect, it } from "vitest";
import { day } from "../../../test/support/counted-calls.ts";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { MemoryState } from "../../../test/support/memory-state.ts";
import { keepRemovingOldUsage, prefixesBefore } from "./retention.ts";

const DAY_MS = 86_400_000;

it("finds all days before one, and none after, in few lists", () => {
  const prefixes = prefixesBefore("2026-03-03");
  expect(prefixes).toEqual(["2025-", "2026-01-", "2026-02-", "2026-03-01", "2026-03-02"]);
  expect(prefixesBefore("2025-01-01")).toEqual([]);
});

it("removes more within a minute when fewer days are to be kept", async () => {
  const clock = new FakeClock();
  await clock.advance(Date.parse("2026-03-10T12:00:00Z"));
  const state = new MemoryState();
  const today = clock.wallTime();
  for (const back of [0, 1, 2, 3])
    await state.replace(
      `usage ${day({ wallTime: () => today - back * DAY_MS })} web a-0`,
      undefined,
      "x",
    );
  let keptDays = 3;
  const ending = new AbortController();
  const { signal } = ending;
  const removing = keepRemovingOldUsage({ keptDays: () => keptDays, signal }, { state, clock });
  const keptAfterAMinute = async (): Promise<string[]> => {
    await clock.advance(60_000);
    for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
    return (await state.list("usage ")).map(({ key }) =>
      key.slice("usage ".length, -" web a-0".length),
    );
  };
  expect(await keptAfterAMinute()).toEqual(["2026-03-08", "2026-03-09", "2026-03-10"]);
  keptDays = 1;
  expect(await keptAfterAMinute()).toEqual(["2026-03-10"]);
  ending.abort();
  await removing;
});
