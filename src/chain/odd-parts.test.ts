import { pino } from "pino";
import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { OddParts } from "./odd-parts.ts";

const ODD = [{ part: "places", reason: "log 0: logIndex is 0x0, want 0x1" }] as const;

function oddParts() {
  const lines: string[] = [];
  const clock = new FakeClock();
  const log = pino({}, { write: (line: string) => lines.push(JSON.parse(line).part) });
  const counted: string[][] = [];
  const metrics = { blockPartOdd: (...labels: string[]) => void counted.push(labels) };
  return { odd: new OddParts({ network: "n" }, { clock, log, metrics }), clock, lines, counted };
}

it("warns once for each part, counts each block, and keeps the latest example", () => {
  const { odd, lines, counted } = oddParts();
  odd.note(ODD, { block: "7", upstream: "a" });
  odd.note(ODD, { block: "8", upstream: "b" });
  odd.note([{ part: "logs bloom", reason: "r" }], { block: "9", upstream: "b" });
  expect(lines).toEqual(["places", "logs bloom"]);
  expect(counted).toHaveLength(3);
  expect(odd.all[0]).toEqual({ ...ODD[0], block: "8", upstream: "b", count: 2 });
});

it("warns again after an hour, and cuts long reasons", async () => {
  const { odd, clock, lines } = oddParts();
  const long = [{ part: "places", reason: "x".repeat(9_000) }] as const;
  odd.note(long, { block: "7", upstream: "a" });
  await clock.advance(3_600_000);
  odd.note(long, { block: "8", upstream: "a" });
  expect(lines).toHaveLength(2);
  expect(odd.all[0]?.reason).toHaveLength(300);
});

it("asks the other nodes about a part that they gave no better only after ten minutes", async () => {
  const { odd, clock } = oddParts();
  expect(odd.mayBeBetterElsewhere(ODD)).toBe(true);
  odd.noBetterElsewhere(ODD);
  expect(odd.mayBeBetterElsewhere(ODD)).toBe(false);
  await clock.advance(600_000);
  expect(odd.mayBeBetterElsewhere(ODD)).toBe(true);
});
