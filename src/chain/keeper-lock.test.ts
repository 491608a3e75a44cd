import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { lockStore, StoreUnavailable } from "./keeper-lock.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "headgate-lock-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const LONG_DEAD = 2 ** 22 + 1; // above the largest process id of Linux

it("makes the folder, marks it, and takes the mark away", () => {
  const unlock = lockStore(join(folder, "a", "b"));
  const mark = join(folder, "a", "b", "keeper.pid");
  expect(readFileSync(mark, "utf8")).toBe(String(process.pid));
  unlock();
  expect(() => readFileSync(mark)).toThrow("ENOENT");
});

it("refuses a folder that a living process keeps, and says which", () => {
  writeFileSync(join(folder, "keeper.pid"), String(process.ppid));
  expect(() => lockStore(folder)).toThrow(`process ${process.ppid} keeps ${folder} already`);
});

it.each([String(LONG_DEAD), "nonsense", ""])("takes over a mark of nobody: '%s'", (left) => {
  writeFileSync(join(folder, "keeper.pid"), left);
  lockStore(folder)();
});

it("says why a folder cannot be used", () => {
  writeFileSync(join(folder, "file"), "");
  expect(() => lockStore(join(folder, "file", "below"))).toThrow(StoreUnavailable);
  expect(() => lockStore(join(folder, "file", "below"))).toThrow(/cannot write to .* \(ENOTDIR\)/);
});
