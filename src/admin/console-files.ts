// Serves the console's files as scripts/console.mjs wrote them: a page at `/`, and files with the hash of their content
// in their names. The files hold no secret and need no token: the page reads all data from the API.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { serveStatic } from "@hono/node-server/serve-static";
import type { AdminApp } from "./admin-parts.ts";
import { Problem } from "./problem.ts";

/** The folder beside the bundled code; the sources have none. */
const FOLDER = join(dirname(import.meta.filename), "console");

/** The page runs only scripts of this server, and no other page shows it in a frame. */
const PAGE_HEADERS = {
  "Content-Security-Policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "Cross-Origin-Opener-Policy": "same-origin",
  "Referrer-Policy": "no-referrer",
  Vary: "Accept",
} as const;

/** Adds the console's paths, which are not part of the API's document. */
export function addConsole(app: AdminApp): void {
  const isBuilt = existsSync(FOLDER);
  const files = serveStatic({
    ...{ root: FOLDER, precompressed: true },
    rewriteRequestPath: (path) => path.replace(/^\/assets\//, "/"),
  });
  app.use("/", async (context, next) => {
    const { method } = context.req;
    const isRead = method === "GET" || method === "HEAD";
    // A program that does not accept HTML gets the API's response.
    if (!isRead || !/\btext\/html\b/.test(context.req.header("accept") ?? "")) return next();
    const page = isBuilt ? await files(context, next) : undefined;
    if (!(page instanceof Response))
      throw new Problem(503, "the console was not built: run node scripts/bundle.mjs");
    for (const [name, value] of Object.entries(PAGE_HEADERS)) page.headers.append(name, value);
    return page;
  });
  if (!isBuilt) return;
  app.use("/assets/:name", async (context, next) => {
    const file = await files(context, next);
    if (!(file instanceof Response)) return; // `next` has answered
    file.headers.set("Cache-Control", "public, max-age=31536000, immutable");
    return file;
  });
}
