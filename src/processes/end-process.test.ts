import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { crashText, nextRow, replacedAfterMs, replacedIn } from "./end-process.ts";

const END = `const { endProcess } = await import(${JSON.stringify(import.meta.resolve("./end-process.ts"))});`;
/** In milliseconds. An end that waits for native threads would take longer, or for ever. */
const SOON_MS = 8_000;

/** Runs a module. @returns The exit code and the signal of its process. */
async function endOf(code: string, cwd: string): Promise<readonly [number | null, string | null]> {
  const child = spawn(process.execPath, ["--input-type=module", "-e", END + code], {
    cwd,
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  const tooLate = AbortSignal.timeout(SOON_MS);
  tooLate.addEventListener("abort", () => child.kill("SIGKILL"));
  return (await once(child, "exit")) as [number | null, string | null];
}

it.each([
  {
    while: "a store is written into",
    code: `const { open } = await import(${JSON.stringify(import.meta.resolve("lmdb"))});
      const store = open({ path: "store", noSubdir: false });
      await store.put("a", "b");
      store.transaction(() => endProcess(7));`,
  },
  {
    while: "a native thread has work for a minute",
    code: `const { pbkdf2 } = await import("node:crypto");
      pbkdf2("a", "b", 1e8, 64, "sha512", () => undefined);
      setTimeout(() => endProcess(7), 10);`,
  },
])("a process ends with its exit code while $while", { timeout: 2 * SOON_MS }, async ({ code }) => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-end-"));
  expect(await endOf(code, folder)).toEqual([7, null]);
  rmSync(folder, { recursive: true });
});

it.each([
  ["rejection", 5, 0, 0],
  ["exception", 5, 0, 0],
  ["rejection", 500_000, 1, undefined], // otherwise each call with the fault would replace the process
  ["rejection", 700_000, 1, 0],
  ["exception", 4_000, 1, 6_000], // meanwhile callers are served
  ["exception", 20_000, 1, 0],
  ["exception", 4_000, 2, 16_000],
  ["exception", 4_000, 3, 36_000],
  ["exception", 4_000, 1_000, 296_000], // slower and slower, and never for good
] as const)(
  "an unexpected %s, %i ms after the start, as number %i of a row, has the process replaced after %s ms",
  (kind, aliveMs, row, want) => {
    expect(replacedAfterMs(kind, { aliveMs, row })).toBe(want);
  },
);

it("ends a row of replaced processes by a long life", () => {
  expect(nextRow({ aliveMs: 10, row: 0 })).toBe(1);
  expect(nextRow({ aliveMs: 300_000, row: 5 })).toBe(6);
  expect(nextRow({ aliveMs: 700_000, row: 5 })).toBe(1);
});

it("is told to the process that takes the place", () => {
  expect(replacedIn({})).toEqual({ row: 0, rejections: 0, exceptions: 0 });
  expect(replacedIn({ HEADGATE_REPLACED: "2 1 3" })).toEqual({
    ...{ row: 3, rejections: 2, exceptions: 1 },
  });
});

it("tells of an error before there is a log its stack and its causes, but no members and no URLs", () => {
  const cause = failureOf(() => new URL("htt://s3cr3t:s3cr3t@[/"));
  const error = new Error("cannot reach wss://node.example.com/s3cr3t?a=s3cr3t", { cause });
  Object.assign(error, { command: { args: ["s3cr3t"] } });
  const text = crashText(error);
  expect(text).toContain("cannot reach wss://***\n    at ");
  expect(text).toContain("caused by: TypeError: Invalid URL");
  expect(text).not.toContain("s3cr3t");
  expect(crashText("plain")).toBe("plain");
});

function failureOf(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
