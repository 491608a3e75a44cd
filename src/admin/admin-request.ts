// What is known of a request beside HTTP: from where it came, what it sent, and what is told of it.
import type { HttpBindings } from "@hono/node-server";
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import { plainAddress } from "../access/scope/ip-address.ts";
import { isMapping } from "../config/units.ts";
import type { AdminServerParts } from "./admin-server-parts.ts";
import { isJson } from "./admission.ts";
import { problems } from "./problem.ts";

type AdminEnvironment = {
  Bindings: Partial<HttpBindings>;
  Variables: { readonly requestId: string };
};
export type AdminApp = OpenAPIHono<AdminEnvironment>;
export type AdminContext = Context<AdminEnvironment>;

/** The socket's: whoever puts a proxy before administration is seen as that proxy. */
export const addressOf = ({ env }: AdminContext): string =>
  plainAddress(env?.incoming?.socket.remoteAddress ?? "") ?? "unknown";

/** The body as an object; nothing at all is an empty one. @throws Problem */
export async function readBody(context: AdminContext): Promise<Readonly<Record<string, unknown>>> {
  const text = await context.req.text();
  if (text.length === 0) return {};
  if (!isJson(context.req.header("content-type"))) throw problems.notJson();
  const value = parse(text);
  if (!isMapping(value)) throw problems.malformed(undefined);
  return value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw problems.malformed(cause);
  }
}

/** One line for each change: what, which key, from where. */
export function tellChange(
  context: AdminContext,
  { log }: Pick<AdminServerParts, "log">,
  change: { readonly what: string; readonly key?: string },
): void {
  const { what, ...about } = change;
  log.info({ ...about, address: addressOf(context) }, what);
}
