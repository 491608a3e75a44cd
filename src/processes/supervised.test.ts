import { type ChildProcess, spawn } from "node:child_process";
import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { ToChild } from "./messages.ts";
import { ChildFailed, Supervised } from "./supervised.ts";

const turn = (): Promise<void> => new Promise(setImmediate);

/** A child process that the test controls. */
class FakeChild extends EventEmitter {
  readonly heard: ToChild[] = [];
  readonly connected = true;
  readonly pid = 4;
  killedBy: string | undefined;
  send(message: ToChild): void {
    this.heard.push(message);
  }
  kill(signal: string): void {
    this.killedBy = signal;
  }
  ready(): void {
    this.emit("message", { kind: "ready" });
  }
  end(): void {
    this.emit("exit", null, "SIGKILL");
  }
}

function place() {
  const clock = new FakeClock();
  const children: FakeChild[] = [];
  const lines: Record<string, unknown>[] = [];
  const ends: string[] = [];
  /** How the system refuses the next start. */
  const refused: { next: "event" | "throw" | undefined } = { next: undefined };
  const supervised = new Supervised(
    { name: "server 1" },
    {
      fork: () => {
        const how = refused.next;
        refused.next = undefined;
        if (how === "event") return spawn("/not/there");
        if (how === "throw") throw new Error("spawn /not/there ENOENT");
        const child = new FakeChild();
        children.push(child);
        return child as unknown as ChildProcess;
      },
      start: () => ({}) as never,
      onMessage: () => undefined,
      onEnd: (why) => void ends.push(why),
      silenceMs: () => 10_000,
      clock,
      log: {
        warn: (line: Record<string, unknown>) => void lines.push(line),
        error: (_: unknown, message: string) => void ends.push(message),
      } as never,
    },
  );
  /** Advances the clock from heartbeat to heartbeat. */
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 500) await clock.advance(500);
  };
  const last = (): FakeChild => children.at(-1) as FakeChild;
  return { clock, children, lines, ends, supervised, last, pass, refused };
}

describe("a process that is supervised", () => {
  it("is told what it is first, and is started when it is ready", async () => {
    const { supervised, last } = place();
    let isStarted = false;
    const started = supervised.start().then(() => {
      isStarted = true;
    });
    await turn();
    expect(last().heard[0]?.kind).toBe("start");
    expect(isStarted).toBe(false);
    last().ready();
    await started;
  });

  it("serves from when it is ready until it ends, while it gives signs of life", async () => {
    const { supervised, last, pass, clock } = place();
    const started = supervised.start();
    expect(supervised.isServing).toBe(false);
    last().emit("message", { kind: "alive" });
    expect(supervised.isServing).toBe(false);
    last().ready();
    await started;
    await pass(9_500);
    expect(supervised.isServing).toBe(true);
    await pass(500);
    expect(supervised.isServing).toBe(false);
    last().emit("message", { kind: "alive" });
    last().end();
    await clock.advance(0);
    expect(supervised.isServing).toBe(false);
    last().ready();
    expect(supervised.isServing).toBe(true);
  });

  it("that cannot begin at all is not tried again, and says why", async () => {
    const { supervised, last, children } = place();
    const started = supervised.start();
    last().emit("message", { kind: "failed", why: "the folder is another's" });
    last().end();
    await expect(started).rejects.toEqual(new ChildFailed("the folder is another's"));
    expect(children).toHaveLength(1);
  });

  it.each(["event", "throw"] as const)(
    "that the system does not start, as an %s, is tried again, and ends when it is to",
    async (how) => {
      const { supervised, last, lines, children, clock, refused } = place();
      const started = supervised.start();
      last().ready();
      await started;
      refused.next = how;
      last().end();
      while (lines.length < 2) await turn();
      expect(lines[1]?.["why"]).toBe("the system did not start it: spawn /not/there ENOENT");
      await clock.advance(Number(lines[1]?.["restMs"]));
      expect(children).toHaveLength(2);
      refused.next = how;
      last().end();
      await turn();
      await supervised.stop(1_000);
    },
  );

  it("is started again at once; when it dies again and again, later and later", async () => {
    const { supervised, last, children, clock, lines } = place();
    const started = supervised.start();
    last().ready();
    await started;
    const rests: unknown[] = [];
    for (let death = 0; death < 9; death += 1) {
      last().end();
      await turn();
      rests.push(lines.at(-1)?.["restMs"]);
      await clock.advance(Number(rests.at(-1)));
      expect(children).toHaveLength(death + 2);
    }
    expect(rests).toEqual([0, 100, 200, 400, 800, 1600, 3200, 5000, 5000]);
    await clock.advance(5_000);
    last().end();
    await turn();
    expect(lines.at(-1)?.["restMs"]).toBe(0);
  });

  it("answers requests, or is given up when it hangs or dies", async () => {
    const { supervised, last, clock } = place();
    const started = supervised.start();
    last().ready();
    await started;
    const answered = supervised.request({ what: "measure" }, 1_000);
    const asked = last().heard.at(-1) as { id: number };
    last().emit("message", {
      kind: "reply",
      id: asked.id,
      reply: { kind: "done", value: [1] },
    });
    expect(await answered).toEqual([1]);
    const hanging = expect(supervised.request({ what: "measure" }, 1_000)).rejects.toThrow(
      "answer",
    );
    await clock.advance(1_000);
    await hanging;
    const dying = expect(supervised.request({ what: "measure" }, 1_000)).rejects.toThrow(
      "does not run",
    );
    last().end();
    await dying;
  });

  it("is killed and started again when it gives no sign of life for its time", async () => {
    const { supervised, last, pass, ends, children } = place();
    const started = supervised.start();
    last().ready();
    await started;
    await pass(9_500);
    last().emit("message", { kind: "alive" });
    await pass(9_500);
    expect(last().killedBy).toBeUndefined();
    await pass(500);
    expect(last().killedBy).toBe("SIGKILL");
    last().end();
    await turn();
    expect(ends).toEqual(["a process hung, and was killed", "hung"]);
    expect(children).toHaveLength(2);
  });

  it("has more time until its first sign of life, but not for ever", async () => {
    const { supervised, last, pass } = place();
    supervised.start().catch(() => undefined);
    await pass(29_500);
    expect(last().killedBy).toBeUndefined();
    await pass(500);
    expect(last().killedBy).toBe("SIGKILL");
  });

  it("is not thought to hang by a supervisor that stood still itself", async () => {
    const { supervised, last, clock } = place();
    const started = supervised.start();
    last().ready();
    await started;
    await clock.advance(60_000);
    expect(last().killedBy).toBeUndefined();
  });

  it("that is signalled alone ends in order; with all others, when the supervisor says so", async () => {
    const { supervised, last, clock } = place();
    const started = supervised.start();
    last().ready();
    await started;
    last().emit("message", { kind: "told to end" });
    expect(last().heard).toHaveLength(1);
    await clock.advance(500);
    expect(last().heard.at(-1)).toEqual({ kind: "stop" });
    last().end();
    await turn();
    last().emit("message", { kind: "told to end" });
    const stopped = supervised.stop(25_000);
    await clock.advance(500);
    expect(last().heard.filter(({ kind }) => kind === "stop")).toHaveLength(1);
    last().end();
    await stopped;
  });

  it("that does not end when it is told to is killed", async () => {
    const { supervised, last, clock, lines } = place();
    const started = supervised.start();
    last().ready();
    await started;
    const stopped = supervised.stop(25_000);
    await clock.advance(25_000);
    expect(last().killedBy).toBe("SIGKILL");
    expect(lines).toMatchObject([{ child: "server 1", pid: 4 }]);
    last().end();
    await stopped;
  });

  it("is not started again when it was told to stop", async () => {
    const { supervised, last, children, lines } = place();
    const started = supervised.start();
    last().ready();
    await started;
    const stopped = supervised.stop(25_000);
    expect(last().heard.at(-1)).toEqual({ kind: "stop" });
    last().end();
    await stopped;
    await turn();
    expect(children).toHaveLength(1);
    expect(lines).toEqual([]);
  });
});
