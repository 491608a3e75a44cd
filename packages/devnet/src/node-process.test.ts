import { createServer } from "node:net";
import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import { freePorts, lastLineOf, nextPauseMs, SupervisedNode } from "./node-process.ts";

it("each name gets a port of its own, that nobody uses", async () => {
  const ports = await freePorts("a", "b", "c");
  expect(new Set(Object.values(ports)).size).toBe(3);
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(ports.b, "127.0.0.1", resolve);
  });
  await new Promise((resolve) => server.close(resolve));
});

/** The system clock with shorter pauses and grace periods. */
const hurried: Clock = {
  ...systemClock,
  sleep: (ms, signal) => systemClock.sleep(ms / 100, signal),
  after: (ms, task) => systemClock.after(ms / 20, task),
};

type Line = { msg: string; code?: number; lastWords?: string };

describe("a supervised node", () => {
  const undo: (() => Promise<void>)[] = [];
  afterEach(() => Promise.all(undo.splice(0).map((stop) => stop())));

  /** Supervises a shell script; returns its log lines as they come. */
  function supervise(script: string, { clock = hurried, temporaryFolder = "" } = {}) {
    let heard = (_: Line): void => undefined;
    const next = (): Promise<Line> => new Promise((resolve) => (heard = resolve));
    const log = pino({ level: "info" }, { write: (line) => heard(JSON.parse(line)) });
    const command = { file: "sh", args: ["-c", script], temporaryFolder };
    const node = new SupervisedNode({ name: "test", command }, { clock, log });
    undo.push(() => node.stop());
    const first = next();
    node.start();
    return { node, first, next };
  }

  it("that dies is started again, and the log says with which code and last words", async () => {
    const { first, next } = supervise("echo starting >&2; echo 'out of luck' >&2; exit 7");
    const death = { msg: "development node died, restarting", code: 7, lastWords: "out of luck" };
    expect(await first).toMatchObject({ ...death, pauseMs: 500 });
    expect(await next()).toMatchObject({ ...death, pauseMs: 1_000 });
  });

  it("that is killed leaves its own last words, not the shell's", async () => {
    const { first } = supervise("echo 'I was fine' >&2; kill -9 $$");
    expect(await first).toMatchObject({ code: 137, lastWords: "I was fine" });
  });

  it("leaves its temporary files in the folder that is removed", async () => {
    const { first } = supervise('echo "$TMPDIR" >&2; exit 1', {
      temporaryFolder: "/somewhere/of its own",
    });
    expect(await first).toMatchObject({ lastWords: "/somewhere/of its own" });
  });

  it("that does not listen to SIGTERM is gone after the grace", async () => {
    const { node, first } = supervise("trap '' TERM; while :; do sleep 0.05; done");
    await node.stop();
    expect(await Promise.race([first, "no restart"])).toBe("no restart");
  });

  it("is not started again when it is stopped while it pauses", async () => {
    const pausing = Promise.withResolvers<void>();
    let looksAtTheTime = 0; // each start reads the time once
    const clock: Clock = {
      ...hurried,
      now: () => ++looksAtTheTime,
      sleep: (ms, signal) => {
        pausing.resolve();
        return systemClock.sleep(100 * ms, signal);
      },
    };
    const { node } = supervise("exit 1", { clock });
    await pausing.promise;
    const before = looksAtTheTime;
    await node.stop();
    await new Promise(setImmediate);
    expect(looksAtTheTime).toBe(before);
  });
});

it.each([
  { previousMs: 0, ranMs: 10, want: 500 },
  { previousMs: 500, ranMs: 10, want: 1_000 },
  { previousMs: 8_000, ranMs: 10, want: 15_000 },
  { previousMs: 15_000, ranMs: 60_000, want: 500 }, // the node had recovered
])(
  "after a pause of $previousMs ms and a life of $ranMs ms comes a pause of $want ms",
  ({ want, ...death }) => {
    expect(nextPauseMs(death)).toBe(want);
  },
);

it.each([
  ["", ""],
  ["one\ntwo\n", "two"],
  ["Address already in use\nnote: run with `RUST_BACKTRACE=1`\n\n", "Address already in use"],
])("the last line of %j is %j", (text, want) => {
  expect(lastLineOf(text)).toBe(want);
});
