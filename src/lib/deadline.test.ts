import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { deadline, TOO_LATE } from "./deadline.ts";

describe("a deadline", () => {
  it("aborts when time is up, and says so", async () => {
    const clock = new FakeClock();
    const { signal } = deadline(100, new AbortController().signal, clock);
    await clock.advance(99);
    expect(signal.aborted).toBe(false);
    await clock.advance(1);
    expect(signal.reason).toBe(TOO_LATE);
  });

  it("aborts with the other signal, for its reason", () => {
    const outer = new AbortController();
    const { signal } = deadline(100, outer.signal, new FakeClock());
    outer.abort("gone");
    expect(signal.reason).toBe("gone");
    expect(deadline(100, outer.signal, new FakeClock()).signal.reason).toBe("gone");
  });

  it("leaves no timer behind when the work is done", () => {
    const clock = new FakeClock();
    deadline(100, new AbortController().signal, clock).done();
    expect(clock.waiting).toBe(0);
  });
});
