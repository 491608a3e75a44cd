// Writes docs/headgate.schema.json, with which editors check and complete a configuration file.
// With --check it only compares, and fails when the file is stale.
import { readFile, writeFile } from "node:fs/promises";
import { configJsonSchema } from "./config-json-schema.ts";

const file = new URL("../docs/headgate.schema.json", import.meta.url);
const wanted = `${JSON.stringify(configJsonSchema(), undefined, 2)}\n`;

if (process.argv.includes("--check")) {
  const present = await readFile(file, "utf8").catch(() => "");
  if (present !== wanted) {
    console.error("docs/headgate.schema.json is stale: run node scripts/config-schema.ts");
    process.exitCode = 1;
  }
} else {
  await writeFile(file, wanted);
}
