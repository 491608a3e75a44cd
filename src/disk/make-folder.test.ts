import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeFolder } from "./make-folder.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "headgate-folders-"));
});
afterEach(() => rmSync(root, { recursive: true }));

describe("a folder", () => {
  it("is made with those above it, for this user alone, once", () => {
    const path = join(root, "a", "b", "c");
    for (let time = 0; time < 2; time += 1) makeFolder(path);
    for (const each of [path, join(root, "a")]) expect(statSync(each).mode & 0o777).toBe(0o700);
  });

  it("is not made in the place of a file, or below one", () => {
    writeFileSync(join(root, "file"), "");
    expect(() => makeFolder(join(root, "file"))).toThrow("EEXIST");
    expect(() => makeFolder(join(root, "file", "a"))).toThrow("ENOTDIR");
  });

  it.runIf(process.platform === "linux")(
    "is refused, and not tried for ever, where no folder can be made",
    () => {
      expect(() => makeFolder("/proc/nope")).toThrow("ENOENT");
      expect(() => makeFolder("/proc/nope/state")).toThrow("ENOENT");
    },
  );
});
