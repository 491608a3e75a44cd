#!/usr/bin/env -S node --max-semi-space-size=16
// Begins with the code as it was bundled and compiled last time: half the start, and a quarter of the memory. The
// option, in MiB, is given by `npm start` too: else short-lived garbage takes up to 64 MiB, not 32.
import { existsSync } from "node:fs";
import module from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { setFlagsFromString } from "node:v8";
import { bundleFolder, CACHE, nameSourcesIn } from "./bundled.mjs";

if (Number(process.versions.node.split(".")[0]) < 24) {
  process.stderr.write(
    `headgate runs on Node.js 24, and this is ${process.versions.node}: use "npm start", which brings its own\n`,
  );
  process.exit(1);
}

const bundle = bundleFolder();
const bundled = join(bundle, "main.mjs");
const isBundled = existsSync(bundled) && !process.env["HEADGATE_UNBUNDLED"];
if (isBundled) nameSourcesIn(bundle);
// A folder that cannot be written is no cache, and no error.
module.enableCompileCache(isBundled ? join(bundle, "compiled") : CACHE);
await (isBundled ? import(pathToFileURL(bundled).href) : import("../src/main.ts"));
module.flushCompileCache(); // now: who is killed later has left it all the same
// Behind the compiled code, which is good for one set of options. In percent of what is in use: by default a heap that
// grew in a burst stays up to four times as large as that.
setFlagsFromString("--heap-growing-percent=150");
