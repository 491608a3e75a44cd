// Bundles `src` and the packages that it needs into a few files: reading a thousand files delays the start of a process.
// `npm start` and the tests over real processes use the bundle; bin/headgate.mjs finds it.
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

/** The entry points of a process and of a thread. */
export const ENTRIES = ["src/main.ts", "src/chain/thread/thread-main.ts"];

/** Packages with native code. The last two are not installed: `ws` tries to import them, and works without. */
const APART = ["lmdb", "@xcfx/node", "bufferutil", "utf-8-validate"];

/** The one file of a package that is used: its main file contains all of its hash functions. */
const ONLY_A_PART = { "hash-wasm": "hash-wasm/dist/keccak.umd.min.js" };

/** The number of bundles that stay: a process may still read an older one, and a killed run leaves its folder. */
const KEPT = 6;

/** Writes the bundle unless it exists. Does nothing where rolldown has no build for this platform. */
export async function setup() {
  const folder = bundleFolder();
  if (existsSync(folder)) return;
  if (!(await hasRolldown())) return;
  mkdirSync(BUNDLES, { recursive: true });
  const written = mkdtempSync(join(BUNDLES, "written-"));
  chmodSync(written, 0o755); // the gateway may run as another user than the installer
  await write(written, ENTRIES, [placesOfSources(written)]);
  await writeConsoleIn(written);
  // Several runs may write at once, and sources may change meanwhile: only a complete bundle gets the final name.
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

/** Writes the console beside the code, where the gateway finds it. @returns The bundled script with its modules. */
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

/** @param entries Paths from the root of the repository. @returns The written files with their modules. */
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
 * An import of a module of Node.js reads all of its members, and some getters are slow: that of `node:http` loads a
 * second `undici`, which takes 45 ms. This plugin binds only the members that the code names.
 */
const onlyWhatIsNamed = {
  name: "only-what-is-named",
  // Each import stays on its line, so that the source maps stay right.
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

/** Replaces `import.meta.dirname` and `import.meta.url`, so that a bundled source still finds the files beside it. */
export const placesOfSources = (folder) => ({
  name: "places-of-sources",
  transform: {
    filter: { id: /\.ts$/, code: /import\.meta\.(dirname|url)/ },
    // No line moves, so that stack traces need no other map.
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
