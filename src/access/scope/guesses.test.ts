import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GUESS_LIMITS, Guesses } from "./guesses.ts";

/** The delays in milliseconds of `count` refusals that are asked for at the same moment. */
const delays = (guesses: Guesses, count: number, nowMs = 0, address = "192.0.2.1"): number[] =>
  Array.from({ length: count }, () => {
    const verdict = guesses.judge(address, nowMs);
    if (verdict.kind === "after") verdict.done();
    return verdict.kind === "after" ? verdict.delayMs : 0;
  });

describe("who guesses keys", () => {
  it("is refused at once ten times, and then later and later, up to five seconds", () => {
    const guesses = new Guesses();
    expect(delays(guesses, 10)).toEqual(Array(10).fill(0));
    expect(delays(guesses, 9)).toEqual([100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
  });

  it("is forgiven in time", () => {
    const guesses = new Guesses();
    delays(guesses, 100);
    expect(delays(guesses, 1, 6_000)).toEqual([5000]);
    expect(delays(guesses, 1, 48_000)).toEqual([100]);
    expect(delays(guesses, 11, 200_000)).toEqual([...Array(10).fill(0), 100]);
  });

  it("may be wrong ten times a minute without end", () => {
    const guesses = new Guesses();
    for (let minute = 0; minute < 60; minute += 1)
      expect(delays(guesses, 10, minute * 60_000)).toEqual(Array(10).fill(0));
  });

  it("does not slow others, but does who has the same /64", () => {
    const guesses = new Guesses();
    delays(guesses, 20, 0, "2001:db8:0:0:0:0:0:1");
    expect(delays(guesses, 1, 0, "2001:db8:0:1:0:0:0:1")).toEqual([0]);
    expect(delays(guesses, 1, 0, "2001:db8:0:0:9:9:9:9")).toEqual([5000]);
  });

  it("is turned away when too many wait, and waits again when they do not", () => {
    const guesses = new Guesses({ ...GUESS_LIMITS, held: 2 });
    delays(guesses, 10);
    const [first] = [guesses.judge("192.0.2.1", 0), guesses.judge("192.0.2.1", 0)];
    expect(guesses.judge("192.0.2.1", 0)).toEqual({
      kind: "turned away",
      limit: 10,
      retryAfterMs: 400,
    });
    if (first?.kind === "after") first.done();
    expect(guesses.judge("192.0.2.1", 0).kind).toBe("after");
  });

  it("is forgotten when too many others guessed since", () => {
    const guesses = new Guesses({ ...GUESS_LIMITS, addresses: 3 });
    delays(guesses, 20);
    for (const other of ["192.0.2.2", "192.0.2.3"]) guesses.judge(other, 0);
    expect(delays(guesses, 1)).toEqual([5000]);
    for (const other of ["192.0.2.2", "192.0.2.3", "192.0.2.4"]) guesses.judge(other, 0);
    expect(delays(guesses, 1)).toEqual([0]);
  });

  it("never has more refusals at once than the free ones and those that time forgave", () => {
    fc.assert(
      fc.property(fc.array(fc.nat(20_000)), (waits) => {
        const guesses = new Guesses();
        let nowMs = 0;
        let atOnce = 0;
        for (const waitMs of waits) {
          nowMs += waitMs;
          if (guesses.judge("192.0.2.1", nowMs).kind === "at once") atOnce += 1;
        }
        expect(atOnce).toBeLessThanOrEqual(10 + nowMs / 6_000);
      }),
    );
  });
});
