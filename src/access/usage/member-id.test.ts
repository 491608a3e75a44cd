import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { memberId } from "./member-id.ts";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "headgate-member-"));
});
afterEach(() => rm(folder, { recursive: true }));

describe("the id of a member", () => {
  it("is the same after a restart, and another one for each process and each folder", async () => {
    const data = join(folder, "made", "here");
    const first = memberId({ data, slot: 0 });
    expect(first).toMatch(/^[0-9a-f]{16}-0$/);
    expect(memberId({ data, slot: 0 })).toBe(first);
    expect(memberId({ data, slot: 1 })).toBe(first.replace(/0$/, "1"));
    expect(memberId({ data: folder, slot: 0 })).not.toBe(first);
    expect(await readdir(data)).toEqual(["_member"]);
  });

  it("is not made anew where its file cannot be understood: somebody should look", async () => {
    await writeFile(join(folder, "_member"), "");
    expect(() => memberId({ data: folder, slot: 0 })).toThrow("_member");
  });
});
