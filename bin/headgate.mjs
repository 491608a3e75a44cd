#!/usr/bin/env node
// Begins with the code as it was bundled and compiled last time: half the start, and a quarter of the memory.
import { existsSync } from "node:fs";
import module from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { bundleFolder, CACHE, IS_PACKAGE, nameSourcesIn } from "./bundled.mjs";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
refuseOldNode();
becomeFrugal();
const bundle = bundleFolder();
const bundled = join(bundle, "main.mjs");
const isBundled = existsSync(bundled) && (IS_PACKAGE || !process.env["HEADGATE_UNBUNDLED"]);
if (isBundled) nameSourcesIn(bundle);
// A folder that cannot be written is no cache, and no error.
module.enableCompileCache(isBundled ? join(bundle, "compiled") : CACHE);
await (isBundled ? import(pathToFileURL(bundled).href) : import("../src/main.ts"));
module.flushCompileCache?.(); // now: who is killed later has left it all the same
// Behind the compiled code, which is good for one set of options. In percent of what is in use: by default a heap that
// grew in a burst stays up to four times as large as that.
setFlagsFromString("--heap-growing-percent=150");

function refuseOldNode() {
  const isNewEnough = IS_PACKAGE ? major > 22 || (major === 22 && minor >= 15) : major >= 24;
  if (isNewEnough) return;
  const what = IS_PACKAGE
    ? `headgate runs on Node.js 22.15 and later, and this is ${process.versions.node}`
    : `headgate runs on Node.js 24 here, and this is ${process.versions.node}: use "npm start", which brings its own`;
  process.stderr.write(`${what}\n`);
  process.exit(1);
}

/**
 * Begins anew, as the same process, with what can only be said at a beginning, and what `npm start` says: that short-lived
 * garbage takes up to 32 MiB, not 64, that one thread at a time helps another to find garbage, so that callers do not wait
 * for their core, and that large memory is given back. A command that is over at once has no need of it.
 */
function becomeFrugal() {
  const isOver = /^(--help|--version|-h|-v|audit|check|help|init|keys|methods|store)$/.test(
    process.argv[2],
  );
  const heap = ["--max-semi-space-size=16", "--concurrent-marking-max-worker-num=1"];
  const isSaid =
    process.env["MALLOC_MMAP_THRESHOLD_"] !== undefined &&
    heap.every((word) => process.execArgv.includes(word));
  // Node.js 22 warns of SQLite, which it has as 24 has.
  const isQuiet =
    major > 22 || process.execArgv.some((word) => word.startsWith("--disable-warning"));
  if ((isOver || isSaid) && isQuiet) return;
  if (process.send || process.platform === "win32") return; // another process would not have the channel
  const options = [...heap, ...(isQuiet ? [] : ["--disable-warning=ExperimentalWarning"])];
  const allocation = { MALLOC_MMAP_THRESHOLD_: "262144", MALLOC_TRIM_THRESHOLD_: "262144" };
  const program = [process.execPath, ...options, ...process.execArgv, ...process.argv.slice(1)];
  process.execve(process.execPath, program, { ...allocation, ...process.env });
}
