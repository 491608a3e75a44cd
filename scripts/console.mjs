// Writes the console, `web/`, as the files that the gateway serves: a page, one script, one style and an icon, named by
// their content and compressed. The bundle (bundle.mjs) and the package contain them.
import { createHash } from "node:crypto";
import { globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";

const ROOT = join(import.meta.dirname, "..");
const WEB = join(ROOT, "web");

/** @param folder Where the console is written. @returns The bundled script with its modules. */
export async function writeConsole(folder) {
  mkdirSync(folder, { recursive: true });
  const script = await bundled();
  const styles = [join(ROOT, "node_modules/uplot/dist/uPlot.min.css"), ...stylesOf(WEB)];
  const style = styles.map((path) => readFileSync(path, "utf8")).join("\n");
  const icon = readFileSync(join(WEB, "icon.svg"), "utf8");
  const names = {
    "console.js": write(folder, "console.js", script.code),
    "console.css": write(folder, "console.css", style),
    "icon.svg": write(folder, "icon.svg", icon),
  };
  const page = readFileSync(join(WEB, "index.html"), "utf8");
  const named = Object.entries(names).reduce(
    (text, [name, hashed]) => text.replaceAll(`"${name}"`, `"assets/${hashed}"`),
    page,
  );
  compress(join(folder, "index.html"), named);
  return [script];
}

const stylesOf = (folder) =>
  globSync("styles/*.css", { cwd: folder })
    .sort()
    .map((name) => join(folder, name));

async function bundled() {
  const { rolldown } = await import("rolldown");
  const build = await rolldown({
    cwd: ROOT,
    input: join(WEB, "main.tsx"),
    platform: "browser",
    logLevel: "silent",
    transform: {
      target: "es2023",
      jsx: { runtime: "automatic", importSource: "preact" },
    },
  });
  const { output } = await build.generate({ format: "esm", minify: true, sourcemap: false });
  await build.close();
  if (output.length !== 1)
    throw new Error("the console must be one script, without dynamic imports");
  return output[0];
}

/** @returns The name with a hash of the content, so that browsers may cache the file forever. */
function write(folder, name, text) {
  const digest = createHash("sha256").update(text).digest("base64url").slice(0, 12);
  const hashed = name.replace(".", `.${digest}.`);
  compress(join(folder, hashed), text);
  return hashed;
}

function compress(path, text) {
  writeFileSync(path, text);
  writeFileSync(`${path}.gz`, gzipSync(text, { level: 9 }));
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9 };
  writeFileSync(`${path}.br`, brotliCompressSync(text, { params }));
}
