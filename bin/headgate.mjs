#!/usr/bin/env -S node --max-semi-space-size=16
// Begins with the code as it was compiled last time: half the start, and a quarter of the memory. The
// option, in MiB, is given by `npm start` too: else short-lived garbage takes up to 64 MiB, not 32.
import module from "node:module";
import { join } from "node:path";

if (Number(process.versions.node.split(".")[0]) < 24) {
  process.stderr.write(
    `headgate runs on Node.js 24, and this is ${process.versions.node}: use "npm start", which brings its own\n`,
  );
  process.exit(1);
}

// In here, where nobody else writes. A folder that cannot be written is no cache, and no error.
module.enableCompileCache(join(import.meta.dirname, "../node_modules/.cache/headgate"));
await import("../src/main.ts");
module.flushCompileCache(); // now: who is killed later has left it all the same
