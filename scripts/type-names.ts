// An exported type name exists once in `src` and `packages`: a reader of an error message then knows which type it is.
import { globSync, readFileSync } from "node:fs";

const EXPORTED = /^export (?:declare )?(?:abstract )?(?:type|interface|class|enum) (\w+)/gm;

const files = globSync("{src,packages/*/src}/**/*.ts").filter((file) => !file.endsWith(".test.ts"));
const places = files.flatMap((file) =>
  [...readFileSync(file, "utf8").matchAll(EXPORTED)].map(([, name = ""]) => ({ name, file })),
);
const twice = [...Map.groupBy(places, ({ name }) => name)].filter(([, at]) => at.length > 1);
for (const [name, at] of twice)
  console.error(`${name} is exported by ${at.map(({ file }) => file).join(" and ")}`);
process.exitCode = twice.length === 0 ? 0 : 1;
