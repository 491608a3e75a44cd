// Serves the console's files, as scripts/console.mjs wrote them: a page at `/`, and files with the hash of their content in
// their names. They hold no secret and need no token: the page asks the API for what it shows.
import { readdir, readFile } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import type { AdminApp, AdminContext } from "./admin-parts.ts";
import { Problem } from "./problem.ts";

/** Beside the bundled code. The sources have none. */
const FOLDER = join(dirname(import.meta.filename), "console");

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The page runs only what is served here, and no other page shows it in a frame. */
const PAGE_HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
} as const;

type Bytes = Uint8Array<ArrayBuffer>;
/** By name; compressed files end in `.br` and `.gz`. */
type Files = ReadonlyMap<string, Bytes>;

export function addConsole(app: AdminApp, folder: string = FOLDER): void {
  let reading: Promise<Files> | undefined; // read once, with the first request
  const files = (): Promise<Files> => {
    reading ??= read(folder);
    return reading;
  };
  // These paths are not part of the API's document.
  app.use("/", async (context, next) => {
    // A program that does not accept HTML gets the API's answer.
    if (!isRead(context) || !/\btext\/html\b/.test(context.req.header("accept") ?? ""))
      return next();
    const page = fileOf(await files(), "index.html", context);
    if (!page) throw new Problem(503, "the console was not built: node scripts/bundle.mjs does it");
    for (const [name, value] of Object.entries(PAGE_HEADERS)) page.headers.set(name, value);
    return page;
  });
  app.use("/assets/:name", async (context, next) => {
    if (!isRead(context)) return next();
    const file = fileOf(await files(), context.req.param("name"), context);
    file?.headers.set("Cache-Control", "public, max-age=31536000, immutable");
    return file ?? next();
  });
}

const isRead = ({ req }: AdminContext): boolean => req.method === "GET" || req.method === "HEAD";

async function read(folder: string): Promise<Files> {
  const names = await readdir(folder).catch(() => []);
  const contents = names.map(async (name) => [name, await readFile(join(folder, name))] as const);
  return new Map(await Promise.all(contents));
}

const ENCODINGS = [
  { encoding: "br", suffix: ".br" },
  { encoding: "gzip", suffix: ".gz" },
] as const;

function fileOf(files: Files, name: string, { req }: AdminContext): Response | undefined {
  const type = TYPES[extname(name)];
  const plain = files.get(name);
  if (type === undefined || plain === undefined) return undefined;
  const headers = new Headers({ "Content-Type": type, Vary: "Accept, Accept-Encoding" });
  const accepted = req.header("accept-encoding") ?? "";
  for (const { encoding, suffix } of ENCODINGS) {
    const compressed = files.get(name + suffix);
    if (!compressed || !new RegExp(`\\b${encoding}\\b`).test(accepted)) continue;
    headers.set("Content-Encoding", encoding);
    return new Response(compressed, { headers });
  }
  return new Response(plain, { headers });
}
