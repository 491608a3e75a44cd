// What a process has cost so far, from /proc: zero where the system does not tell.
import { readFileSync } from "node:fs";

/** Linux counts in hundredths of a second, whatever its kernel's clock. */
const TICKS_PER_SECOND = 100;

/** User and system time. */
export function cpuSeconds(pid: number): number {
  const afterName = read(pid, "stat").split(") ").at(-1) ?? "";
  const fields = afterName.split(" ");
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND;
}

/** Resident memory in bytes: all of it, and what is the process's own. */
export function memory(pid: number): { readonly all: number; readonly own: number } {
  const status = read(pid, "status");
  const bytes = (name: string): number =>
    1024 * Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0);
  return { all: bytes("VmRSS"), own: bytes("RssAnon") };
}

function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return "";
  }
}
