// Writes the code of `src`, and of the packages that it needs, into a few files: a process that reads a thousand
// begins later. `npm start` and the tests over real processes begin with this; bin/headgate.mjs finds it.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import { BUNDLES, bundleFolder } from "../bin/bundled.mjs";

const ROOT = join(import.meta.dirname, "..");

/** What a process begins with, and a thread of it. */
export const ENTRIES = ["src/main.ts", "src/chain/thread/thread-main.ts"];

/** They have native code. The last two are nowhere: `ws` looks for them, and goes on without. */
const APART = ["lmdb", "@xcfx/node", "bufferutil", "utf-8-validate"];

/** Of a package that is one file with all of its hashes in it, one. */
const ONLY_A_PART = { "hash-wasm": "hash-wasm/dist/keccak.umd.min.js" };

/** A process may still read an older one; and what a killed writer left is here too. */
const KEPT = 6;

/** Nothing is done where the bundle is there already. Without rolldown for this platform there is none. */
export async function setup() {
  const folder = bundleFolder();
  if (existsSync(folder)) return;
  if (!(await hasRolldown())) return;
  mkdirSync(BUNDLES, { recursive: true });
  const written = mkdtempSync(join(BUNDLES, "written-"));
  chmodSync(written, 0o755); // a gateway may run as another user than who installed it
  await write(written, ENTRIES, [placesOfSources(written)]);
  await writeConsoleIn(written);
  // Several may write at once, and sources may change meanwhile: only what is whole gets the name.
  if (bundleFolder() === folder && !existsSync(folder)) {
    try {
      renameSync(written, folder);
    } catch (error) {
      if (!existsSync(folder)) throw error;
    }
  }
  rmSync(written, { recursive: true, force: true });
  removeOld();
}

/** Beside the code, which finds it there. @returns The files that are in its script. */
export async function writeConsoleIn(folder) {
  if (!existsSync(join(ROOT, "web"))) return [];
  const { writeConsole } = await import("./console.mjs");
  return writeConsole(join(folder, "console"));
}

const hasRolldown = () =>
  import("rolldown").then(
    () => true,
    () => false,
  );

/** @param entries Paths from the root of the repository. @returns The files that are in it. */
export async function write(folder, entries, plugins = []) {
  const { rolldown } = await import("rolldown");
  const build = await rolldown({
    cwd: ROOT,
    input: entries.filter((path) => existsSync(join(ROOT, path))),
    platform: "node",
    logLevel: "silent",
    external: APART,
    resolve: { alias: ONLY_A_PART },
    plugins: [onlyWhatIsNamed, ...plugins],
  });
  const { output } = await build.write({
    dir: folder,
    format: "esm",
    entryFileNames: "[name].mjs",
    chunkFileNames: "[name]-[hash].mjs",
    sourcemap: "hidden",
    sourcemapExcludeSources: true,
  });
  await build.close();
  return output;
}

/**
 * Of a module of Node.js that is imported each member is looked up, and some are made by that: for `node:http` a second
 * `undici`, which takes 45 ms. The code gets the members that it names, and no others.
 */
const onlyWhatIsNamed = {
  name: "only-what-is-named",
  // Each stays on its line, as the maps have it.
  renderChunk: (code) => ({ code: code.replace(IMPORT_OF_NODE, namedOf), map: null }),
};

const IMPORT_OF_NODE = /^import ([^;"']+?) from "(node:[a-z0-9_/]+)";$/gm;

function namedOf(whole, clause, module) {
  const [, own, names] = /^(?:([\w$]+)(?:, )?)?(?:(\{.+\}))?$/.exec(clause) ?? [];
  const bound = [own, names?.replace(/\bdefault as\b/g, "default:").replace(/ as /g, ": ")].filter(
    Boolean,
  );
  if (bound.length === 0 || names?.includes("default:")) return whole;
  return `const ${bound.map((to) => `${to} = process.getBuiltinModule("${module}")`).join(", ")};`;
}

/** What a source finds beside itself it finds there still. */
export const placesOfSources = (folder) => ({
  name: "places-of-sources",
  transform: {
    filter: { id: /\.ts$/, code: /import\.meta\.(dirname|url)/ },
    // Lines stay the lines they were: traces need no other map.
    handler: (code, id) => ({
      map: null,
      code: code.replace(/import\.meta\.(dirname|url)/g, (_, what) =>
        what === "url"
          ? `new URL(${JSON.stringify(relative(folder, id))}, import.meta.url).href`
          : `(import.meta.dirname + ${JSON.stringify(`/${relative(folder, dirname(id))}`)})`,
      ),
    }),
  },
});

function removeOld() {
  const changedAt = (name) =>
    statSync(join(BUNDLES, name), { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const newestFirst = readdirSync(BUNDLES).sort((a, b) => changedAt(b) - changedAt(a));
  for (const name of newestFirst.slice(KEPT))
    rmSync(join(BUNDLES, name), { recursive: true, force: true });
}

if (import.meta.main) await setup();
