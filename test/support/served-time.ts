// Time that the machine gave to the measured threads: nearly independent of other work on the machine. Where the
// system does not tell the waiting times, nothing is subtracted.
import { readdirSync, readFileSync } from "node:fs";
import { until } from "./processes.ts";

/** The processor time of this thread during `act`, in milliseconds, without waiting. */
export async function servedMsOf(act: () => unknown): Promise<number> {
  const before = process.threadCpuUsage();
  await act();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1_000;
}

type Process = { readonly pid?: number | undefined };

/**
 * A stopwatch that stops while this thread, or a thread of the processes or of their children, is ready but another one
 * runs; while a hypervisor runs other machines; and while any task waits for a disk.
 *
 * @returns A function that reads it, in milliseconds from now on.
 */
export function stopwatch(...processes: readonly Process[]): () => number {
  const threads = ["/proc/thread-self", ...threadsOf(processes)];
  const waitedMs = new Map<string, number>();
  const runningMs = (): number => {
    // The waiting time of a thread that has ended still counts.
    for (const thread of threads)
      waitedMs.set(thread, Math.max(waitedMs.get(thread) ?? 0, waitedForCpuMs(thread)));
    const waited = [...waitedMs.values()].reduce((sum, ms) => sum + ms, 0);
    return performance.now() - waited - stolenMs() - waitedForDisksMs();
  };
  const from = runningMs();
  return () => runningMs() - from;
}

/** Waits until the condition holds, for at most a second by the stopwatch. */
export const withinASecond = (
  what: string,
  isSo: () => Promise<boolean>,
  ...processes: readonly Process[]
): Promise<void> => within({ what, ms: 1_000 }, isSo, ...processes);

/** Waits until the condition holds, for at most `ms` by the stopwatch. */
export async function within(
  { what, ms }: { readonly what: string; readonly ms: number },
  isSo: () => Promise<boolean>,
  ...processes: readonly Process[]
): Promise<void> {
  const elapsedMs = stopwatch(...processes);
  await until(what, async () => {
    const isInTime = elapsedMs() < ms;
    if (await isSo()) return true;
    if (!isInTime) throw new Error(`not so within ${ms} ms: ${what}`);
    return false;
  });
}

/** The length of the memory and the interval of its entries, in milliseconds. */
const REMEMBERED = { forMs: 60_000, everyMs: 100 };

/** Finds the moment that lies a given time back by a stopwatch. `look` must be called regularly. */
export class ServedTime {
  #looks: { readonly atMs: number; readonly elapsedMs: number }[] = [];
  readonly #elapsedMs: () => number;

  constructor(...processes: readonly Process[]) {
    this.#elapsedMs = stopwatch(...processes);
  }

  look(atMs = Date.now()): void {
    const last = this.#looks.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY;
    if (atMs < last + REMEMBERED.everyMs) return;
    this.#looks.push({ atMs, elapsedMs: this.#elapsedMs() });
    if ((this.#looks[0]?.atMs ?? atMs) < atMs - REMEMBERED.forMs) this.#looks.shift();
  }

  /** The moment `ms` before another one by the stopwatch, both in milliseconds since 1970. */
  before(atMs: number, ms: number): number {
    const then = this.#looks.findLast((look) => look.atMs <= atMs);
    if (!then) return atMs - ms;
    const [first] = this.#looks;
    const since = this.#looks.findLast(
      (look) => look.atMs <= then.atMs && look.elapsedMs <= then.elapsedMs - ms,
    );
    return Math.min(atMs - ms, (since ?? first ?? then).atMs);
  }
}

/** The threads of the processes, and of all their children. */
function threadsOf(processes: readonly Process[]): readonly string[] {
  const all = processes.length === 0 ? [] : namesIn("/proc").filter((name) => /^\d+$/.test(name));
  const parentOf = new Map(
    all.map((pid) => [pid, textOf(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ")[1]]),
  );
  const isOne = (pid: string | undefined): boolean =>
    pid !== undefined &&
    (processes.some((each) => String(each.pid) === pid) || isOne(parentOf.get(pid)));
  return all
    .filter(isOne)
    .flatMap((pid) => namesIn(`/proc/${pid}/task`).map((name) => `/proc/${pid}/task/${name}`));
}

/** The time that a thread was ready while another one ran, in milliseconds. */
const waitedForCpuMs = (thread: string): number =>
  Number(textOf(`${thread}/schedstat`).split(" ")[1] ?? 0) / 1e6;

/** The time that a hypervisor gave to other machines, in milliseconds; Linux tells it in hundredths of a second. */
const stolenMs = (): number => Number(textOf("/proc/stat").split(/\s+/)[8] ?? 0) * 10;

const waitedForDisksMs = (): number =>
  Number(/^some .*total=(\d+)/.exec(textOf("/proc/pressure/io"))?.[1] ?? 0) / 1_000;

const namesIn = (path: string): readonly string[] => orNone(() => readdirSync(path)) ?? [];

const textOf = (path: string): string => orNone(() => readFileSync(path, "utf8")) ?? "";

function orNone<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
