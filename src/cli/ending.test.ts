import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { ProcessEnding } from "./ending.ts";

/** A gateway whose `stop` resolves when the test resolves `closed`. */
function running(isServing = true) {
  const clock = new FakeClock();
  const done: string[] = [];
  const write = (_: unknown, message: string): void => void done.push(message);
  const log = { info: write, warn: write, error: write };
  const closed = Promise.withResolvers<void>();
  const ending = new ProcessEnding({
    log: log as never,
    clock,
    end: (code) => void done.push(`exit ${code}`),
  });
  const stop = (): Promise<void> => {
    done.push("stop");
    return closed.promise;
  };
  const kill = (): void => void done.push("kill");
  const gateway = { stop, kill, drainMs: () => 25_000 };
  if (isServing) ending.serves(gateway);
  return { clock, done, closed, ending, gateway };
}
const DRAINING = "draining: running calls are completed, and no new callers are let in";

describe("the end of a gateway", () => {
  it("drains, closes, and leaves two lines", async () => {
    const { ending, done, closed, clock } = running();
    ending.signalled("SIGTERM");
    closed.resolve();
    await clock.advance(0);
    expect(done).toEqual([DRAINING, "stop", "ended", "exit 0"]);
    await clock.advance(60_000);
    expect(done).toHaveLength(4);
  });

  it("takes the signals that npm and a process group add within a second as the same one", async () => {
    const { ending, done, clock } = running();
    ending.signalled("SIGINT");
    ending.signalled("SIGINT");
    await clock.advance(999);
    ending.signalled("SIGTERM");
    expect(done).toEqual([DRAINING, "stop"]);
  });

  it("is at once when it is told so again later", async () => {
    const { ending, done, clock } = running();
    ending.signalled("SIGTERM");
    await clock.advance(1_000);
    ending.signalled("SIGTERM");
    ending.signalled("SIGTERM");
    expect(done).toEqual([DRAINING, "stop", "ended at once", "kill", "exit 1"]);
  });

  it("comes in its time, whatever hangs", async () => {
    const { ending, done, clock } = running();
    ending.signalled("SIGTERM");
    await clock.advance(29_500);
    expect(done.slice(2)).toEqual(["ended at once", "kill", "exit 1"]);
  });

  it("is told when something could not be closed", async () => {
    const { ending, done, closed, clock } = running();
    ending.signalled("SIGTERM");
    closed.reject(new Error("the disk is gone"));
    await clock.advance(0);
    expect(done.slice(2)).toEqual(["the gateway could not be closed in order", "ended", "exit 1"]);
  });

  it("needs no draining while it starts", () => {
    const { ending, done } = running(false);
    ending.signalled("SIGTERM");
    expect(done).toEqual(["the gateway ended before it listened", "exit 0"]);
  });

  describe("while stores are opened", () => {
    it("closes them in order, when the start ends soon", async () => {
      const { ending, done, closed, clock, gateway } = running(false);
      ending.opens();
      ending.signalled("SIGINT");
      expect(done).toEqual([]);
      ending.serves(gateway);
      closed.resolve();
      await clock.advance(0);
      await clock.advance(60_000);
      expect(done).toEqual([DRAINING, "stop", "ended", "exit 0"]);
    });

    it("is at once when it is told so again", async () => {
      const { ending, done, clock } = running(false);
      ending.opens();
      ending.signalled("SIGINT");
      await clock.advance(1_000);
      expect(done).toEqual([]);
      ending.signalled("SIGINT");
      expect(done).toEqual(["ended at once", "exit 1"]);
    });

    it("is without them when the start takes long", async () => {
      const { ending, done, clock, gateway } = running(false);
      ending.opens();
      ending.signalled("SIGINT");
      await clock.advance(4_999);
      expect(done).toEqual([]);
      await clock.advance(1);
      expect(done).toEqual(["the gateway ended before it listened", "exit 0"]);
      ending.serves(gateway);
      ending.signalled("SIGINT");
      expect(done).toHaveLength(2);
    });
  });

  it("for another reason than a signal begins once, and hastens nothing", async () => {
    const { ending, done, clock } = running();
    ending.signalled("SIGHUP");
    await clock.advance(5_000);
    ending.begin("npm is gone");
    expect(done).toEqual([DRAINING, "stop"]);
  });
});
