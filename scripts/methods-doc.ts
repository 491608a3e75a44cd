// Writes docs/METHODS.md from the catalogue.
// With --check it only compares, and fails when the file is stale.
import { readFile, writeFile } from "node:fs/promises";
import { declaredMethods, forwardedMethods } from "../src/methods/catalogue.ts";
import { methodsMarkdown } from "../src/methods/describe.ts";

const file = new URL("../docs/METHODS.md", import.meta.url);
const wanted = methodsMarkdown(declaredMethods, forwardedMethods);

if (process.argv.includes("--check")) {
  const present = await readFile(file, "utf8").catch(() => "");
  if (present !== wanted) {
    console.error("docs/METHODS.md is stale: run node scripts/methods-doc.ts");
    process.exitCode = 1;
  }
} else {
  await writeFile(file, wanted);
}
