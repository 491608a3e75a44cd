// Prints the number of files in `src` that a call passes. `--files` lists them, with the functions that ran in each.
import { parseArgs } from "node:util";
import { journeys } from "../test/support/journeys.ts";

const { values } = parseArgs({ options: { files: { type: "boolean", default: false } } });

for (const { name, most, files } of await journeys()) {
  console.log(`${name}: ${files.size} files, ${most} at most`);
  if (!values.files) continue;
  for (const file of [...files.keys()].sort())
    console.log(`  ${file}: ${[...new Set(files.get(file))].join(", ")}`);
}
