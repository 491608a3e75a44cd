// Starts servers, puts load on them, and measures the cost in their processes.
import { type ChildProcess, fork, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import type { Readable } from "node:stream";
import type { Load, Seen } from "./load.ts";
import { cpuSeconds } from "./process-cost.ts";

export type Target = {
  readonly url: string;
  readonly pid: number;
  /** The node behind the server. */
  readonly nodePid?: number;
};

export type Measured = Seen & {
  readonly perSecond: number;
  /** The server's processor time for a request; undefined where the system does not tell it. */
  readonly cpuMicros: number | undefined;
  /** The processor time of the node behind the server for a request. */
  readonly nodeMicros: number | undefined;
};

const started: ChildProcess[] = [];

/** Kills the processes that this module started. */
export const stopAll = (): void => {
  for (const child of started) child.kill("SIGKILL");
};

export type Server = Target & { send(order: string): void; stop(): void };

/** Starts a server script of the folder `servers` in a process of its own. */
export async function startServer(name: string, args: readonly string[] = []): Promise<Server> {
  const script = new URL(`servers/${name}.ts`, import.meta.url).pathname;
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ["ignore", "pipe", "inherit", "ipc"],
  });
  started.push(child);
  const [line] = (await once(child.stdout as Readable, "data")) as [Buffer];
  return {
    ...{ url: line.toString().trim(), pid: child.pid ?? 0 },
    send: (order) => void child.send(order),
    stop: () => void child.kill("SIGKILL"),
  };
}

/** Counted before this process is pinned: a pinned process sees one core. */
const CORES = availableParallelism();

/** Pins all threads of a process to one core; does nothing where the system has no `taskset`. */
export function pin(pid: number, core: number): void {
  if (CORES > 1) spawnSync("taskset", ["-a", "-p", "-c", String(core), String(pid)]);
}

/** Throws when a process shares a core with this one: its measurement would contain the load. */
export function assertApart(pid: number): void {
  const coresOf = (id: number): string =>
    /^Cpus_allowed_list:\s*(.*)$/m.exec(readFileSync(`/proc/${id}/status`, "utf8"))?.[1] ?? "";
  if (process.platform === "linux" && CORES > 1 && coresOf(pid) === coresOf(process.pid))
    throw new Error(
      `process ${pid} shares core ${coresOf(pid)} with what asks it: is taskset there?`,
    );
}

/** Starts a program and ignores its output. */
export function startProcess(file: string, args: readonly string[]): void {
  started.push(spawn(file, args, { stdio: "ignore" }));
}

/** Starts the process that makes the load: one for all measurements, so that it is warm after the first. */
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
  const pids = [target.pid, target.nodePid ?? 0];
  const before = pids.map(cpuSeconds);
  worker.send({ ...load, url: target.url });
  const [seen] = (await once(worker, "message")) as [Seen];
  if (seen.failures > 0) throw new Error(`${target.url}: ${seen.failures} requests failed`);
  const [cpuMicros, nodeMicros] = pids.map((pid, index) => {
    const used = cpuSeconds(pid) - (before[index] ?? 0);
    return pid > 0 && used > 0 ? (used * 1e6) / seen.requests : undefined;
  });
  return { ...seen, perSecond: seen.requests / seen.seconds, cpuMicros, nodeMicros };
}

/** The median run by requests a second, whole: the figures of a run belong together. */
export const middleRun = (runs: readonly Measured[]): Measured | undefined =>
  runs.toSorted((a, b) => a.perSecond - b.perSecond)[Math.floor(runs.length / 2)];
