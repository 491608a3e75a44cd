// `npm run release -- … --dry-run` tells the whole release, and changes nothing.
import { execFileSync, spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";

const git = (...args: readonly string[]): string => execFileSync("git", args, { encoding: "utf8" });
const here = (): unknown[] => [git("rev-parse", "HEAD"), git("tag"), git("status", "--porcelain")];

it("shows versions, the changelog's section, tag, contents and what is left to do", () => {
  const before = here();
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  const [major, minor] = version.split(".").map(Number);
  const next = `${major}.${minor + 1}.0`;
  const said = execFileSync(process.execPath, ["scripts/release.ts", "minor", "--dry-run"], {
    encoding: "utf8",
  });
  expect(said).toContain(`commit Headgate ${next}`);
  for (const file of [
    "package.json",
    "packages/devnet/package.json",
    "package-lock.json",
    "CHANGELOG.md",
  ])
    expect(said).toMatch(new RegExp(`^ ${file} +\\| +\\d`, "m"));
  expect(said).toContain(`tag v${next}, with the text:\n\n### `);
  for (const name of ["headgate", "headgate-devnet"])
    expect(said).toMatch(new RegExp(`^${name}-${next}\\.tgz: \\d+ files, [\\d.]+ KiB packed`, "m"));
  expect(said).toMatch(/^ +[\d.]+ KiB {2}dist\/main\.mjs$/m);
  expect(said).toContain(`  npm publish headgate-${next}.tgz\n`);
  expect(here()).toEqual(before);
});

it("says what it wants", () => {
  const { status, stderr } = spawnSync(process.execPath, ["scripts/release.ts", "huge"]);
  expect([status, stderr.toString()]).toEqual([
    2,
    expect.stringContaining("expected one of patch, minor, major"),
  ]);
});
