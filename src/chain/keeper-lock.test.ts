import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { keeperIn, lockStore, StoreUnavailable } from "./keeper-lock.ts";

let folder: string;
let child: ChildProcess | undefined;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-lock-"));
});
afterEach(() => {
  child?.kill("SIGKILL");
  rmSync(folder, { recursive: true });
});

/** Another process that keeps the folder, until it is killed. */
async function startKeeper(): Promise<ChildProcess> {
  const code = `const { lockStore } = await import(${JSON.stringify(import.meta.resolve("./keeper-lock.ts"))});
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
  const mark = join(below, "keeper.pid");
  expect(readFileSync(mark, "utf8")).toBe(`${process.pid} ${hostname()}`);
  expect(statSync(mark).mode & 0o077).toBe(0);
  expect(statSync(join(below, "keeper.lock")).mode & 0o077).toBe(0);
  unlock();
  expect(() => readFileSync(mark)).toThrow("ENOENT");
  expect(keeperIn(below)).toBeUndefined();
});

it("refuses a folder that is kept already, by this process too", () => {
  const unlock = lockStore(folder);
  expect(() => lockStore(folder)).toThrow(`process ${process.pid} keeps ${folder} already`);
  expect(keeperIn(folder)).toBe(`process ${process.pid}`);
  unlock();
});

it("refuses a folder that another process keeps, and has it at once when that is killed", async () => {
  const keeper = await startKeeper();
  expect(() => lockStore(folder)).toThrow(`process ${keeper.pid} keeps ${folder} already`);
  keeper.kill("SIGKILL");
  await once(keeper, "exit");
  lockStore(folder)();
});

it("is not given away while its process hangs", async () => {
  const keeper = await startKeeper();
  keeper.kill("SIGSTOP");
  expect(keeperIn(folder)).toBe(`process ${keeper.pid}`);
});

it.each(["1", String(process.ppid), "nonsense", ""])(
  "takes no notice of a mark that was left behind, whoever has its number now: '%s'",
  (left) => {
    writeFileSync(join(folder, "keeper.pid"), left);
    lockStore(folder)();
  },
);

it("names the machine, or the container, of a keeper elsewhere", async () => {
  await startKeeper();
  writeFileSync(join(folder, "keeper.pid"), "1 3f2a9c");
  expect(() => lockStore(folder)).toThrow("process 1 on 3f2a9c keeps");
});

it("says why a folder cannot be used", () => {
  writeFileSync(join(folder, "file"), "");
  expect(() => lockStore(join(folder, "file", "below"))).toThrow(StoreUnavailable);
  expect(() => lockStore(join(folder, "file", "below"))).toThrow(/cannot write to .* \(ENOTDIR\)/);
});
