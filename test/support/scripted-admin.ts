// The admin API for tests: over a real state in a folder of its own, called without a socket. Every answer must match
// the declaration of its route.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { RouteConfig } from "@hono/zod-openapi";
import { AuditTrail } from "../../src/access/audit-trail.ts";
import { KeyBook } from "../../src/access/keys/key-book.ts";
import { Guesses } from "../../src/access/scope/guesses.ts";
import { adminApp } from "../../src/admin/admin-app.ts";
import type { AdminAppParts } from "../../src/admin/admin-parts.ts";
import { tokensOf } from "../../src/admin/admission.ts";
import { declaredRoutes, isAt } from "../../src/admin/document.ts";
import { problem } from "../../src/admin/schemas.ts";
import { hashOf } from "../../src/config/key-settings.ts";
import { LmdbState } from "../../src/state/lmdb-state.ts";
import { FakeClock } from "./fake-clock.ts";

export const TOKEN = "a-token-of-the-tests";

/** One token of each lesser role, and a second one for the role `keys`. */
const TOKENS = (["read", "keys", "more"] as const).map((name) => ({
  ...{ name, role: name === "more" ? ("keys" as const) : name },
  hash: hashOf(`${TOKEN}-${name}`),
}));

export type Asked = { body?: unknown; headers?: Record<string, string> };
export type AdminResponse = { status: number; headers: Headers; text: string; json: unknown };
type Sender = (path: string, request: RequestInit) => Response | Promise<Response>;

export async function scriptedAdmin(
  overrides: Partial<AdminAppParts> = {},
  options: { readonly ending?: AbortSignal } = {},
) {
  const folder = await mkdtemp(join(tmpdir(), "headgate-admin-"));
  const state = new LmdbState({ path: folder });
  const clock = new FakeClock();
  const logged: object[] = [];
  const note = (about: object, text: string): void => void logged.push({ ...about, text });
  const log = { info: note, warn: note, error: note } as AdminAppParts["log"];
  const keys = new KeyBook(
    {
      keys: [configuredKey],
      networks: ["eth-mainnet"],
      openMethods: [],
      secret: "a secret of the tests",
    },
    { state, clock },
  );
  const app = adminApp(
    { ...options, tokens: () => tokensOf({ token: TOKEN, tokens: TOKENS }) },
    {
      metrics: {
        exposition: async () => "headgate_up 1\n",
        values: async () => [],
        contentType: "text/plain; version=0.0.4",
        certificateExpires: () => undefined,
        callbackFailed: () => undefined,
        adminRefused: (why) => void logged.push({ refused: why }),
      },
      keys,
      state,
      prices: () => undefined,
      networks: async () => [],
      whyNotReady: async () => [],
      notes: async () => [],
      calls: async () => [],
      audit: new AuditTrail({ state, clock, log }),
      incidents: async () => [],
      drain: async () => undefined,
      reload: async () => ({ kind: "reloaded", changed: [] }),
      trials: {
        try: async () => ({ kind: "unknown", what: "network" }),
        describe: async () => undefined,
      },
      configuration: {
        shown: async () => ({ pending: { mistakes: [], changed: [] }, reloads: [] }),
        validate: async () => ({ mistakes: [], changed: [] }),
        apply: async () => ({ kind: "refused", why: "there is no file" }),
      },
      guesses: new Guesses(),
      clock,
      log,
      ...overrides,
    },
  );
  const send: Sender = (path, request) => app.request(path, request);
  const close = async (): Promise<void> => {
    await state.close();
    await rm(folder, { recursive: true });
  };
  return { ask: asker(send), state, clock, logged, close, app };
}

const configuredKey = {
  name: "in-file",
  hash: `sha256:${"ab".repeat(32)}`,
  computeUnits: {},
  limits: { logs: {} },
};

/** Sends requests with the token, in JSON. @throws When an answer does not match the declaration of its route. */
export const asker =
  (send: Sender) =>
  async (
    verb: string,
    path: string,
    { body, headers = {} }: Asked = {},
  ): Promise<AdminResponse> => {
    const response = await send(path, {
      method: verb,
      headers: {
        authorization: `Bearer ${TOKEN}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
    const type = response.headers.get("content-type") ?? "";
    const isStream = type.startsWith("text/event-stream");
    const text = isStream ? await firstEvent(response) : await response.text();
    const json: unknown = isStream || /json/.test(type) ? JSON.parse(text) : undefined;
    check({
      verb,
      path: path.replace(/\?.*/, ""),
      status: response.status,
      type,
      value: json ?? text,
    });
    return { status: response.status, headers: response.headers, text, json };
  };

/** The data of a stream's first event; the rest is dropped. */
async function firstEvent({ body }: Response): Promise<string> {
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return /^data: (.*)$/m.exec(value)?.[1] ?? "";
}

type Answer = { verb: string; path: string; status: number; type: string; value: unknown };

function check({ verb, path, status, type, value }: Answer): void {
  const route = declaredRoutes.find(
    (each) => each.method === verb.toLowerCase() && isAt(each, path),
  );
  if (!route || status === 500) return void problem.parse(value);
  const [mediaType = ""] = type.split(";");
  const schema = schemaOf(route, status, mediaType);
  if (!schema) throw new Error(`${verb} ${path} answered ${status} ${type}, which is not declared`);
  schema.parse(value);
}

function schemaOf(route: RouteConfig, status: number, mediaType: string) {
  const declared = route.responses[status];
  const content = declared && "content" in declared ? declared.content : undefined;
  const media = content?.[mediaType];
  const schema = media && "schema" in media ? media.schema : undefined;
  return schema && "parse" in schema ? schema : undefined;
}
