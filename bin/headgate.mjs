#!/usr/bin/env node
// Starts the bundled code with V8's compile cache, or the sources where no bundle exists. A bundle halves the time of the
// start, and takes a quarter of the memory.
import { existsSync } from "node:fs";
import module from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { bundleFolder, CACHE, IS_PACKAGE, nameSourcesIn } from "./bundled.mjs";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
refuseOldNode();
hideUrls();
becomeFrugal();
const bundle = bundleFolder();
const bundled = join(bundle, "main.mjs");
const isBundled = existsSync(bundled) && (IS_PACKAGE || !process.env["HEADGATE_UNBUNDLED"]);
if (isBundled) nameSourcesIn(bundle);
// Where the folder cannot be written, Node.js runs without a cache, and reports no error.
module.enableCompileCache(isBundled ? join(bundle, "compiled") : CACHE);
await (isBundled ? import(pathToFileURL(bundled).href) : import("../src/main.ts"));
module.flushCompileCache?.(); // now, since a process that is killed later would not write the cache at its end
// Set after the code was loaded: V8 accepts compiled code only under the options with which it was compiled. The heap may
// grow to 150 % of its live bytes; by default a heap that grew in a burst stays up to four times as large as those.
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
 * Hides the URLs of nodes, which may hold keys, from `ps`: every user of the machine can read command lines. The program
 * gets them from its environment when it is executed again, here and in src/processes/end-process.ts.
 */
function hideUrls() {
  const passedOn = process.env["HEADGATE_ARGUMENTS"];
  delete process.env["HEADGATE_ARGUMENTS"];
  if (passedOn !== undefined) process.argv.splice(2, Infinity, ...JSON.parse(passedOn));
  const words = process.argv.slice(2);
  if (words.some((word) => word.includes("://")))
    process.title = ["headgate", ...words.map((word) => word.replace(/:\/\/.*/s, "://***"))].join(
      " ",
    );
}

/**
 * Executes the program again in the same process with the options of `npm start`, which only a starting process can take:
 * short-lived garbage takes up to 32 MiB, not 64 MiB; one helper thread at a time marks garbage, so that callers do not
 * wait for their core; malloc returns large blocks to the system. Short commands do not need these options.
 */
function becomeFrugal() {
  const isOver = /^(--help|--version|-h|-v|audit|check|help|init|keys|methods|store)$/.test(
    process.argv[2],
  );
  const heap = ["--max-semi-space-size=16", "--concurrent-marking-max-worker-num=1"];
  const isSaid =
    process.env["MALLOC_MMAP_THRESHOLD_"] !== undefined &&
    heap.every((word) => process.execArgv.includes(word));
  // Node.js 22 prints a warning that SQLite is experimental; Node.js 24 does not.
  const isQuiet =
    major > 22 || process.execArgv.some((word) => word.startsWith("--disable-warning"));
  if ((isOver || isSaid) && isQuiet) return;
  if (process.send || process.platform === "win32") return; // a new program would lose the IPC channel
  const options = [...heap, ...(isQuiet ? [] : ["--disable-warning=ExperimentalWarning"])];
  const allocation = { MALLOC_MMAP_THRESHOLD_: "262144", MALLOC_TRIM_THRESHOLD_: "262144" };
  const [, main, ...words] = process.argv;
  const hasUrls = words.some((word) => word.includes("://"));
  const passedOn = hasUrls ? { HEADGATE_ARGUMENTS: JSON.stringify(words) } : {};
  const program = [process.execPath, ...options, ...process.execArgv, main];
  const variables = { ...allocation, ...process.env, ...passedOn };
  process.execve(process.execPath, hasUrls ? program : [...program, ...words], variables);
}
