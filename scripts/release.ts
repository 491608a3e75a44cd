// `npm run release -- patch|minor|major [--dry-run]`: sets the version of both packages, cuts the changelog's section,
// commits, tags, and packs the packages. It prints the commands that push and publish, for a person to run. With --dry-run
// all of it happens in a temporary clone.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";

const STEPS = ["patch", "minor", "major"];
const PACKAGES = [".", "packages/devnet"];
const say = (text: string): void => void process.stdout.write(`${text}\n`);

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { "dry-run": { type: "boolean", default: false } },
});
const isDry = values["dry-run"];
const [step = ""] = positionals;
if (!STEPS.includes(step)) {
  process.stderr.write(
    `release: expected one of ${STEPS.join(", ")}, and --dry-run to see what would happen\n`,
  );
  process.exit(2);
}

const folder = isDry ? clone() : process.cwd();
try {
  release();
} catch (error) {
  const { stderr = "", message } = error as Error & { stderr?: string };
  process.stderr.write(`release: ${message}\n${stderr}`);
  process.exitCode = 1;
} finally {
  if (isDry) rmSync(folder, { recursive: true, force: true });
}

function release(): void {
  if (run("git", "status", "--porcelain") !== "")
    throw new Error("the working tree has uncommitted changes");
  run(
    "npm",
    "version",
    step,
    "--workspaces",
    "--include-workspace-root",
    "--no-git-tag-version",
    "--no-workspaces-update",
  );
  const { version } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  run("npm", "run", "--silent", "lock");
  const section = cutChangelog(version);
  run("npm", "run", "--silent", "generate");
  run("git", "commit", "--quiet", "--all", "--message", `Headgate ${version}`);
  run("git", "tag", "--annotate", `v${version}`, "--message", section);
  say(run("git", "show", "--stat", "--format=commit %s", "HEAD"));
  say(`\ntag v${version}, with the text:\n\n${section}\n`);
  const tarballs = PACKAGES.flatMap(pack);
  const publish = tarballs.map((path) => `npm publish ${path}`);
  say(`${isDry ? "The steps that would remain" : "The steps that remain"}:\n`);
  for (const command of ["git push --follow-tags", ...publish]) say(`  ${command}`);
  if (isDry) say("\nNothing was changed here: the steps ran in a clone that is removed now.");
}

/** Clones the committed state, and warns of changes that are not committed. */
function clone(): string {
  const there = mkdtempSync(join(tmpdir(), "headgate-release-"));
  const changes = execFileSync("git", ["status", "--porcelain"], { encoding: "utf8" });
  if (changes !== "")
    say("The uncommitted changes of this working tree are not in the following.\n");
  execFileSync("git", ["clone", "--quiet", "--shared", ".", there]);
  writeFileSync(join(there, ".git/info/exclude"), "node_modules\n");
  symlinkSync(resolve("node_modules"), join(there, "node_modules"));
  return there;
}

/** Turns the section of unreleased changes into the version's. @returns The section. */
function cutChangelog(version: string): string {
  const path = join(folder, "CHANGELOG.md");
  const text = readFileSync(path, "utf8");
  const [, section = ""] = /^## Unreleased\n([\s\S]*?)(?=^## )/m.exec(text) ?? [];
  if (section.trim() === "") throw new Error("CHANGELOG.md has no unreleased entries");
  const today = new Date().toISOString().slice(0, 10);
  writeFileSync(
    path,
    text.replace("## Unreleased\n", `## Unreleased\n\n## ${version} (${today})\n`),
  );
  return section.trim();
}

/** Packs a package and prints its contents and sizes. @returns The path of the tarball. */
function pack(of: string): string {
  const said = run(
    "npm",
    "pack",
    of === "." ? "--json" : `--workspace=${of}`,
    "--json",
    "--loglevel=error",
  );
  const [packed] = JSON.parse(said.slice(said.search(/^\[/m)));
  say(
    `${packed.filename}: ${packed.entryCount} files, ${kib(packed.size)} packed, ${kib(packed.unpackedSize)} unpacked`,
  );
  for (const { path, size } of packed.files) say(`  ${kib(size).padStart(10)}  ${path}`);
  say("");
  return packed.filename;
}

function kib(bytes: number): string {
  return `${(bytes / 1024).toFixed(1)} KiB`;
}

function run(file: string, ...args: readonly string[]): string {
  return execFileSync(file, args, {
    cwd: folder,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();
}
