// npm runs this before it packs: bundles the sources into `dist`, as for `npm start`, and adds the other files of the
// published package: the configuration's type and schema, the licences of its dependencies, and the commit. With the
// argument `devnet` it packs the development nodes instead, in their folder.
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { compile } from "json-schema-to-typescript";
import { commit } from "../src/cli/version.ts";
import { ENTRIES, placesOfSources, write, writeConsoleIn } from "./bundle.mjs";

const ROOT = join(import.meta.dirname, "..");
const SCHEMA = join(ROOT, "docs/headgate.schema.json");

if (process.argv[2] === "devnet") await packDevnet(join(ROOT, "packages/devnet"));
else await packGateway(join(ROOT, "dist"));

async function packGateway(folder) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder);
  const code = await write(folder, ENTRIES, [placesOfSources(folder)]);
  const files = [...code, ...(await writeConsoleIn(folder))];
  writeFileSync(join(folder, "THIRD-PARTY-LICENSES.txt"), licencesOf(files));
  writeFileSync(join(folder, "commit"), `${commit()}\n`);
  copyFileSync(SCHEMA, join(folder, "headgate.schema.json"));
  writeFileSync(join(folder, "index.mjs"), "export const defineConfig = (config) => config;\n");
  writeFileSync(join(folder, "index.d.ts"), await configTypes());
}

async function packDevnet(folder) {
  rmSync(join(folder, "dist"), { recursive: true, force: true });
  const entries = ["devnet", "conflux-process"].map((name) => `packages/devnet/src/${name}.ts`);
  const files = await write(join(folder, "dist"), entries);
  writeFileSync(join(folder, "dist/THIRD-PARTY-LICENSES.txt"), licencesOf(files));
  copyFileSync(join(ROOT, "LICENSE"), join(folder, "LICENSE"));
}

async function configTypes() {
  const { title: _, ...schema } = JSON.parse(readFileSync(SCHEMA, "utf8"));
  const types = await compile(schema, "HeadgateConfig", {
    additionalProperties: false,
    bannerComment:
      "// What may be written in headgate.yaml, which may be JSON: made from headgate.schema.json.",
  });
  return `${types}
/** Returns what it is given: for the types of a configuration that a program writes. */
export declare const defineConfig: (config: HeadgateConfig) => HeadgateConfig;
`;
}

/** The licences of all packages with modules in the bundle. */
function licencesOf(files) {
  const modules = files.flatMap(({ moduleIds = [] }) => moduleIds);
  const folders = modules.flatMap((id) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id) ?? []);
  const told = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(
      readFileSync(join(folder, "package.json"), "utf8"),
    );
    const texts = globSync("{LICEN[CS]E,license,licence,COPYING}*", { cwd: folder });
    const said = texts.map((file) => readFileSync(join(folder, file), "utf8").trim()).join("\n\n");
    return `${name} ${version} (${license})\n\n${said}\n`;
  });
  return told.join(`\n${"-".repeat(80)}\n\n`);
}
