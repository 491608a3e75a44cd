// Finds the bundle: a few files with all code, with which a process starts in little more than half the processor time.
// scripts/bundle.mjs writes a folder for each state of the sources, so that no process starts with outdated code. The
// published package has one bundle, and no sources.
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { SourceMap } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const ROOT = join(import.meta.dirname, "..");

export const IS_PACKAGE = !existsSync(join(ROOT, "src"));

/** The folder of the bundles and of V8's compile cache. No other program writes in it. */
export const CACHE = join(ROOT, "node_modules/.cache/headgate");
export const BUNDLES = join(CACHE, "bundles");

/** The inputs of a bundle beside the sources: the installed packages, and the scripts that write it. */
const BESIDE = [
  "node_modules/.package-lock.json",
  "bin/bundled.mjs",
  "scripts/bundle.mjs",
  "scripts/console.mjs",
];

/** The folder for the bundle of the current sources, whether or not the folder exists. */
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

/** Makes stack traces name the sources. Reads a map when a trace needs it: all maps would take a third of the start. */
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
