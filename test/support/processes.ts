// Helpers for processes, and for waiting.
import { execFile } from "node:child_process";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";

/** The pauses between looks grow: many long waits would otherwise keep a small machine busy. */
const PAUSE_MS = { first: 20, longest: 100, growth: 1.2 };

/** Calls `look` until it returns something; throws when that takes too long. */
export async function until<Value>(
  what: string,
  look: () => Promise<Value | false | undefined>,
  withinMs = 100_000,
): Promise<Value> {
  const deadline = performance.now() + withinMs;
  let pauseMs = PAUSE_MS.first;
  while (performance.now() < deadline) {
    const seen = await look();
    if (seen) return seen;
    await pause(pauseMs);
    pauseMs = Math.min(PAUSE_MS.longest, pauseMs * PAUSE_MS.growth);
  }
  throw new Error(`waited in vain until ${what}`);
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** The process ids of nodes whose command line contains the port of one of the URLs. */
export async function nodesListeningOn(urls: readonly string[]): Promise<number[]> {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid=,args="]);
  const ports = urls.map((url) => new URL(url).port);
  return stdout
    .split("\n")
    .map((line) => /^\s*(\d+) (.*)$/.exec(line))
    .filter((match) => match !== null)
    .filter(
      ([, , command = ""]) =>
        !command.startsWith("sh ") && ports.some((port) => command.includes(port)),
    )
    .map(([, pid]) => Number(pid));
}
