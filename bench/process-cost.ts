// The processor time and memory of a process, and the processor time of the machine, from /proc: zero on other systems.
import { readFileSync } from "node:fs";

/** Linux tells times in hundredths of a second, whatever the frequency of its kernel's clock. */
const TICKS_PER_SECOND = 100;

/** The user and system time of a process. */
export function cpuSeconds(pid: number): number {
  const afterName = read(`${pid}/stat`).split(") ").at(-1) ?? "";
  const fields = afterName.split(" ");
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND;
}

/** The time of all processes on all cores of the machine. */
export function machineCpuSeconds(): number {
  const [, user, nice, system, , , irq, softirq] = read("stat").split(/\s+/, 8).map(Number);
  return [user, nice, system, irq, softirq].reduce<number>(
    (sum, ticks) => sum + (ticks ?? 0) / TICKS_PER_SECOND,
    0,
  );
}

/** Resident memory in bytes: all of it, the anonymous part, and the part of mapped files. */
export function memory(pid: number): {
  readonly all: number;
  readonly own: number;
  readonly file: number;
} {
  const status = read(`${pid}/status`);
  const bytes = (name: string): number =>
    1024 * Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  return { all: bytes("VmRSS"), own: bytes("RssAnon"), file: bytes("RssFile") };
}

function read(file: string): string {
  try {
    return readFileSync(`/proc/${file}`, "utf8");
  } catch {
    return "";
  }
}
