// Where the code of these sources is in a few files, with which a process begins in little more than half the
// processor time; scripts/bundle.mjs writes them. Each state of the sources has a folder of its own, so that no
// process begins with an old one. The published package has one bundle, and no sources.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { SourceMap } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const ROOT = join(import.meta.dirname, "..");

export const IS_PACKAGE = !existsSync(join(ROOT, "src"));

/** In here, where nobody else writes: bundles, and what V8 compiled. */
export const CACHE = join(ROOT, "node_modules/.cache/headgate");
export const BUNDLES = join(CACHE, "bundles");

/** What a bundle is made of beside `src`: the packages, and how it is written. */
const BESIDE = [
  "node_modules/.package-lock.json",
  "bin/bundled.mjs",
  "scripts/bundle.mjs",
  "scripts/console.mjs",
];

/** The folder of the bundle of the sources as they are now, whether or not it is there. */
export function bundleFolder() {
  if (IS_PACKAGE) return join(ROOT, "dist");
  const sources = ["src", "web"].flatMap(sourcesIn);
  const states = [...sources.sort(), ...BESIDE].map(stateOf);
  return join(BUNDLES, createHash("sha1").update(states.join("\n")).digest("hex"));
}

const sourcesIn = (folder) =>
  existsSync(join(ROOT, folder))
    ? readdirSync(join(ROOT, folder), { recursive: true })
        .filter((path) => /\.(tsx?|css|html|svg)$/.test(path) && !path.endsWith(".test.ts"))
        .map((path) => join(folder, path))
    : [];

function stateOf(path) {
  const { mtimeMs, size } = statSync(join(ROOT, path), { throwIfNoEntry: false }) ?? {};
  return `${path} ${mtimeMs} ${size}`;
}

/** Stack traces name the sources. A map is read when a trace needs it: all of them take a third of the start. */
export function nameSourcesIn(folder) {
  const url = pathToFileURL(folder).href;
  const position = new RegExp(`${url}/([^/:)]+):(\\d+):(\\d+)`, "g");
  const maps = new Map();
  const inBundle = Error.prepareStackTrace;
  Error.prepareStackTrace = (error, trace) =>
    String(inBundle(error, trace)).replace(position, (whole, file, line, column) => {
      if (!maps.has(file)) maps.set(file, mapOf(join(folder, file)));
      const origin = maps.get(file)?.findOrigin(Number(line), Number(column));
      if (origin?.fileName === undefined) return whole;
      const source = new URL(origin.fileName, `${url}/`).href;
      return `${source}:${origin.lineNumber}:${origin.columnNumber}`;
    });
}

function mapOf(file) {
  const path = `${file}.map`;
  return existsSync(path) ? new SourceMap(JSON.parse(readFileSync(path, "utf8"))) : undefined;
}
