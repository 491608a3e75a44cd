// Checks references: files that the documentation names (`calls/call.ts` is the end of some path), members that it names in
// them (`CallWork` in `calls/call.ts`), and pages of `docs` that sources cite (`docs/decisions/0004` is the beginning of
// a path). Decisions and the changelog describe the past, and are not checked.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";

const FILE = /`((?:[\w.-]+\/)*[\w.-]+\.(?:ts|mjs))`/g;
const MEMBER = /`(#?\w+)` in `((?:[\w.-]+\/)*[\w.-]+\.(?:ts|mjs))`/g;
const PAGE = /\b(docs\/[\w/-]+(?:\.md)?)/g;

const listed = ["ls-files", "--cached", "--others", "--exclude-standard"];
const tracked = execFileSync("git", listed, { encoding: "utf8" })
  .split("\n")
  .filter((path) => path !== "" && existsSync(path));
const documents = tracked.filter(
  (path) => path.endsWith(".md") && !path.startsWith("docs/decisions/") && path !== "CHANGELOG.md",
);
const sources = tracked.filter((path) => /^(src|packages|test|bench)\/.*\.ts$/.test(path));

const lost = [
  ...lostIn(documents, FILE, (name, path) => path === name || path.endsWith(`/${name}`)),
  ...documents.flatMap(membersLostIn),
  ...lostIn(sources, PAGE, (name, path) => path.startsWith(name)),
];
for (const line of lost) process.stderr.write(`${line}\n`);
process.exitCode = lost.length > 0 ? 1 : 0;

function lostIn(
  files: readonly string[],
  names: RegExp,
  isNamed: (name: string, path: string) => boolean,
): string[] {
  return files.flatMap((file) =>
    [...readFileSync(file, "utf8").matchAll(names)]
      .map(([, name = ""]) => name)
      .filter((name) => !tracked.some((path) => isNamed(name, path)))
      .map((name) => `${file} names ${name}, which does not exist`),
  );
}

function membersLostIn(document: string): string[] {
  return [...readFileSync(document, "utf8").matchAll(MEMBER)].flatMap(([, member = "", name]) => {
    const isIn = tracked
      .filter((path) => path === name || path.endsWith(`/${name}`))
      .some((path) => new RegExp(`(?<!\\w)${member}\\b`).test(readFileSync(path, "utf8")));
    return isIn ? [] : [`${document} names ${member} in ${name}, which does not have it`];
  });
}
