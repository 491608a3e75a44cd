// Writes docs/openapi.json from the declarations of the admin API's routes.
// With --check it only compares, and fails when the file is stale.
import { readFile, writeFile } from "node:fs/promises";
import { adminDocument } from "../src/admin/document.ts";

const file = new URL("../docs/openapi.json", import.meta.url);
const wanted = `${JSON.stringify(adminDocument(), undefined, 2)}\n`;

if (process.argv.includes("--check")) {
  const present = await readFile(file, "utf8").catch(() => "");
  if (present !== wanted) {
    console.error("docs/openapi.json is stale: run node scripts/openapi-doc.ts");
    process.exitCode = 1;
  }
} else {
  await writeFile(file, wanted);
}
