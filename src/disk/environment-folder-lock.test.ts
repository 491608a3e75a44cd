import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { lockStore, StoreUnavailable, writerIn } from "./environment-folder.ts";

let folder: string;
let child: ChildProcess | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-lock-"));
});
afterEach(() => {
  child?.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** Starts another process, which locks the folder until the test kills the process. */
async function startWriter(): Promise<ChildProcess> {
  const code = `const { lockStore } = await import(${JSON.stringify(import.meta.resolve("./environment-folder.ts"))});
    globalThis.unlock = lockStore(${JSON.stringify(folder)});
    process.send("locked");
    setInterval(() => undefined, 1000);`;
  child = spawn(process.execPath, ["--input-type=module", "-e", code], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  await once(child, "message");
  return child;
}

it("makes the folder, says who keeps it, and lets go of it", () => {
  const below = join(folder, "a", "b");
  const unlock = lockStore(below);
  const mark = join(below, "writer.pid");
  expect(readFileSync(mark, "utf8")).toBe(`${process.pid} ${hostname()}`);
  expect(statSync(mark).mode & 0o077).toBe(0);
  expect(statSync(join(below, "writer.lock")).mode & 0o077).toBe(0);
  unlock();
  expect(() => readFileSync(mark)).toThrow("ENOENT");
  expect(writerIn(below)).toBeUndefined();
});

it("refuses a folder that is kept already, by this process too", () => {
  const unlock = lockStore(folder);
  expect(() => lockStore(folder)).toThrow(`process ${process.pid} uses ${folder} already`);
  expect(writerIn(folder)).toBe(`process ${process.pid}`);
  unlock();
});

it("refuses a folder that another process keeps, and has it at once when that is killed", async () => {
  const writer = await startWriter();
  expect(() => lockStore(folder)).toThrow(`process ${writer.pid} uses ${folder} already`);
  writer.kill("SIGKILL");
  await once(writer, "exit");
  lockStore(folder)();
});

it("is not given away while its process hangs", async () => {
  const writer = await startWriter();
  writer.kill("SIGSTOP");
  expect(writerIn(folder)).toBe(`process ${writer.pid}`);
});

it.each(["1", String(process.ppid), "nonsense", ""])(
  "takes no notice of a mark that was left behind, whoever has its number now: '%s'",
  (left) => {
    writeFileSync(join(folder, "writer.pid"), left);
    lockStore(folder)();
  },
);

it("names the machine, or the container, of a writer elsewhere", async () => {
  await startWriter();
  writeFileSync(join(folder, "writer.pid"), "1 3f2a9c");
  expect(() => lockStore(folder)).toThrow("process 1 on 3f2a9c uses");
});

it("says why a folder cannot be used", () => {
  writeFileSync(join(folder, "file"), "");
  expect(() => lockStore(join(folder, "file", "below"))).toThrow(StoreUnavailable);
  expect(() => lockStore(join(folder, "file", "below"))).toThrow(/cannot write to .* \(ENOTDIR\)/);
});
