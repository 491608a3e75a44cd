// Starts servers, puts load on them, and reads what that cost their processes.
import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import type { Load, Seen } from "./load.ts";
import { cpuSeconds } from "./process-cost.ts";

export type Target = { readonly url: string; readonly pid: number };

export type Measured = Seen & {
  readonly perSecond: number;
  /** CPU time of the server's process a request; undefined where the system does not tell. */
  readonly cpuMicros: number | undefined;
};

const started: ChildProcess[] = [];

/** Ends the processes that were started here. */
export const stopAll = (): void => {
  for (const child of started) child.kill("SIGKILL");
};

/** A server script of this folder, in a process of its own. */
export async function startServer(name: string, args: readonly string[] = []): Promise<Target> {
  const script = new URL(`servers/${name}.ts`, import.meta.url).pathname;
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  started.push(child);
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  return { url: line.toString().trim(), pid: child.pid ?? 0 };
}

/** Any program, whose output nobody reads. */
export function startProcess(file: string, args: readonly string[]): void {
  started.push(spawn(file, args, { stdio: "ignore" }));
}

/** The process that makes the load: one for all measurements, so that it is warm after the first. */
export function startLoad(): ChildProcess {
  const child = fork(new URL("load.ts", import.meta.url).pathname);
  started.push(child);
  return child;
}

export async function measure(
  target: Target,
  load: Omit<Load, "url">,
  worker: ChildProcess,
): Promise<Measured> {
  const before = cpuSeconds(target.pid);
  worker.send({ ...load, url: target.url });
  const [seen] = (await once(worker, "message")) as [Seen];
  const after = cpuSeconds(target.pid);
  if (seen.failures > 0) throw new Error(`${target.url}: ${seen.failures} requests failed`);
  const cpuMicros = after > 0 ? ((after - before) * 1e6) / seen.requests : undefined;
  return { ...seen, perSecond: seen.requests / seen.seconds, cpuMicros };
}

/** The run in the middle by requests a second: its figures belong together. */
export const middleRun = (runs: readonly Measured[]): Measured | undefined =>
  runs.toSorted((a, b) => a.perSecond - b.perSecond)[Math.floor(runs.length / 2)];
