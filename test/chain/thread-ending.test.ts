// Terminates a thread that has just begun: V8 aborts the whole process when that interrupts the loading of modules.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { resolve } from "node:path";
import { expect, it } from "vitest";

/** The program of a child process: it terminates a thread at its first heartbeat, several times. */
const TERMINATING = `
  const { Worker } = await import("node:worker_threads");
  for (let time = 0; time < 4; time += 1) {
    const beats = new SharedArrayBuffer(4);
    const workerData = { beats, isSpare: false };
    const worker = new Worker(process.argv[1], { workerData, execArgv: [] });
    const tooEarly = () => process.exit(3);
    worker.once("exit", tooEarly);
    while (Atomics.load(new Int32Array(beats), 0) === 0) await new Promise(setImmediate);
    worker.off("exit", tooEarly);
    await worker.terminate();
  }`;

it.each(["src/chain/thread/thread-main.ts", "test/support/failing-thread.ts"])(
  "a thread may be terminated from its first sign of life on: %s",
  async (program) => {
    const args = ["--input-type=module", "-e", TERMINATING, resolve(program)];
    const child = spawn(process.execPath, args, { stdio: "ignore", timeout: 60_000 });
    expect(await once(child, "exit")).toEqual([0, null]);
  },
);
