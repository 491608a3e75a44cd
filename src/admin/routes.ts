// Declares the admin routes for keys, usage, operation, upstreams and sessions. admin-app.ts has their handlers.
import { STATUS_CODES } from "node:http";
import { createRoute, type RouteConfig, z } from "@hono/zod-openapi";
import type { Role } from "../config/server-settings.ts";
import {
  auditPage,
  drained,
  listOf,
  liveHistory,
  liveStatus,
  madeKey,
  problem,
  reloaded,
  session,
  shownKey,
  slowCalls,
  status,
  usageHours,
  usageReport,
} from "./schemas.ts";

/** The member of a declaration, and of the document, that names the role which a route needs. */
export const ROLE = "x-headgate-role";

/** A declaration without a role needs no token. */
export type DeclaredRoute = RouteConfig & {
  readonly [ROLE]?: Role;
  getRoutingPath(): string;
};

type Verb = "get" | "post" | "patch";

/** The method, path, id and role of a route. */
export const at = <Method extends Verb, Path extends string>(
  method: Method,
  path: Path,
  operationId: string,
  role: Role,
) => ({ method, path, operationId, [ROLE]: role });

/** The method, path and id of a route that needs no token. */
const open = <Method extends Verb, Path extends string>(
  method: Method,
  path: Path,
  operationId: string,
) => ({ method, path, operationId, security: [] });

/** A response in JSON. */
export const json = <Schema extends z.ZodType>(schema: Schema, description: string) => ({
  description,
  content: { "application/json": { schema } },
});

/** The error responses of a route, with those that every route has: 401, 403 and 429. */
export const failures = <Status extends number>(...statuses: readonly Status[]) =>
  Object.fromEntries(
    [401, 403, 429, ...statuses].sort().map((code) => [code, failure(code)]),
  ) as Record<Status | 401 | 403 | 429, ReturnType<typeof failure>>;

const failure = (code: number) => ({
  description: STATUS_CODES[code] ?? "",
  content: { "application/problem+json": { schema: problem } },
});

/** The key's name in the path. */
const keyParameter = z.object({
  name: z.string().openapi({ param: { name: "name", in: "path" }, example: "app" }),
});

/** A body with a named schema of the document. The document describes it; the handler checks it. */
export const body = (component: string, required: boolean) => ({
  required,
  content: {
    "application/json": { schema: { $ref: `#/components/schemas/${component}` } },
  },
});

const tags = ["keys"];
const ofOneKey = { tags, request: { params: keyParameter } };
const once = "The key. No other response contains its text.";

/** A route for a change of a key that needs only the key's name. */
const act = <Word extends string>(
  word: Word,
  told: { readonly summary: string; readonly description?: string },
) =>
  createRoute({
    ...ofOneKey,
    ...at("post", `/keys/{name}/${word}`, `${word}Key`, "keys"),
    ...told,
    responses: { 200: json(shownKey, "The key after the change."), ...failures(404, 409, 503) },
  });

export const keyRoutes = {
  list: createRoute({
    ...at("get", "/keys", "listKeys", "read"),
    summary: "Lists all keys by name.",
    tags,
    responses: {
      200: json(z.strictObject({ keys: listOf(shownKey) }), "The keys, without their texts."),
      ...failures(503),
    },
  }),
  create: createRoute({
    ...at("post", "/keys", "createKey", "keys"),
    summary: "Makes a key.",
    tags,
    request: { body: body("KeyRequest", true) },
    responses: { 201: json(madeKey, once), ...failures(400, 409, 411, 413, 415, 422, 503) },
  }),
  show: createRoute({
    ...ofOneKey,
    ...at("get", "/keys/{name}", "showKey", "read"),
    summary: "Shows one key.",
    responses: { 200: json(shownKey, "The key, without its text."), ...failures(404, 503) },
  }),
  update: createRoute({
    tags,
    ...at("patch", "/keys/{name}", "updateKey", "keys"),
    summary: "Changes the settings of a key.",
    description:
      "A merge patch (RFC 7396): a setting that is left out stays as it is, and null removes a setting, also within a group such as `limits`.",
    request: { params: keyParameter, body: body("KeyChange", true) },
    responses: {
      200: json(shownKey, "The key after the change."),
      ...failures(400, 404, 409, 411, 413, 415, 422, 503),
    },
  }),
  rotate: createRoute({
    tags,
    ...at("post", "/keys/{name}/rotate", "rotateKey", "keys"),
    summary: "Gives a key a new text.",
    description: "The old text works until the overlap ends.",
    request: { params: keyParameter, body: body("Rotation", false) },
    responses: { 200: json(madeKey, once), ...failures(400, 404, 409, 411, 413, 415, 422, 503) },
  }),
  revoke: act("revoke", {
    summary: "Revokes a key for good.",
    description: "The key stops working everywhere within a second. Its name stays taken.",
  }),
  disable: act("disable", { summary: "Disables a key until it is enabled again." }),
  enable: act("enable", { summary: "Enables a disabled key." }),
};

const number = (description: string) =>
  wholeText("a whole number", /^\d{1,9}$/)
    .optional()
    .openapi({ description });

const wholeText = (expected: string, form: RegExp) =>
  z
    .string()
    .regex(form, { error: `expected ${expected}` })
    .transform(Number);

const range = {
  from: z.string().optional().openapi({
    description:
      "The first day, UTC; left out: the first day of the month in which the range ends.",
    example: "2026-11-01",
  }),
  to: z.string().optional().openapi({
    description: "The last day, UTC, inclusive; left out: today.",
    example: "2026-11-30",
  }),
  network: z
    .string()
    .optional()
    .openapi({ description: "The network whose usage is wanted; left out: all networks." }),
  rows: z
    .enum(["all", "none"], { error: "expected all or none" })
    .optional()
    .openapi({ description: "none: the response has only the sums. Left out: all." }),
  format: z.enum(["json", "csv"], { error: "expected json or csv" }).optional().openapi({
    description: "The format of the response; left out: the format that `Accept` asks for.",
  }),
};

const usageAnswer = {
  description: "The bill.",
  content: { "application/json": { schema: usageReport }, "text/csv": { schema: z.string() } },
};

const plainText = (description: string) => ({
  description,
  content: { "text/plain": { schema: z.string() } },
});

const operation = ["operation"];

const nodeParameters = z.object({
  network: z.string().openapi({ param: { name: "network", in: "path" }, example: "eth-mainnet" }),
  name: z.string().openapi({ param: { name: "name", in: "path" }, example: "own-node" }),
});

/** A route for a change of an upstream. */
const ofNode = <Word extends string>(
  word: Word,
  told: { readonly summary: string; readonly description: string },
) =>
  createRoute({
    ...at("post", `/networks/{network}/upstreams/{name}/${word}`, `${word}Upstream`, "all"),
    tags: operation,
    request: { params: nodeParameters },
    ...told,
    responses: { 200: json(drained, "The upstream after the change."), ...failures(404, 503) },
  });

export const nodeRoutes = {
  drain: ofNode("drain", {
    summary: "Drains a node.",
    description:
      "The node gets no calls while another node of the network is usable; its running calls end. The drain holds for all gateways that share a state, over reloads and restarts, until an operator undrains the node.",
  }),
  undrain: ofNode("undrain", {
    summary: "Ends the drain of a node.",
    description: "For a node that is not drained, nothing changes.",
  }),
};

export const sessionRoutes = {
  show: createRoute({
    ...{ tags: operation, ...open("get", "/session", "showSession") },
    summary:
      "Shows the operator of the request, known by the cookie of a session, by a token, or as this machine.",
    responses: { 200: json(session, "The operator and its role."), ...failures() },
  }),
  begin: createRoute({
    ...{ tags: operation, ...open("post", "/session", "beginSession") },
    summary: "Begins a session of the console: a cookie that stands for a token.",
    description: "A session lasts for 12 hours, at most until the gateway is restarted.",
    request: { body: body("Login", true) },
    responses: {
      200: json(session, "The operator; a header of the response sets the cookie."),
      ...failures(400, 411, 413, 415, 422),
    },
  }),
  end: createRoute({
    ...{ tags: operation, ...open("post", "/session/end", "endSession") },
    summary: "Ends the session of the cookie.",
    responses: { 200: json(session, "Nobody is logged in any more."), ...failures() },
  }),
};

export const operationRoutes = {
  usage: createRoute({
    ...at("get", "/usage", "readUsage", "read"),
    summary: "Reads the bill of all keys, or of one key.",
    tags: ["usage"],
    request: { query: z.strictObject({ ...range, key: z.string().optional() }) },
    responses: { 200: usageAnswer, ...failures(422, 503) },
  }),
  usageOfKey: createRoute({
    ...at("get", "/keys/{name}/usage", "readKeyUsage", "read"),
    summary: "Reads the bill of one key.",
    tags: ["keys", "usage"],
    request: { params: keyParameter, query: z.strictObject(range) },
    responses: { 200: usageAnswer, ...failures(404, 422, 503) },
  }),
  usageHours: createRoute({
    ...at("get", "/keys/{name}/usage/hours", "readKeyUsageHours", "read"),
    summary: "Reads the usage of one key by hour.",
    tags: ["keys", "usage"],
    request: { params: keyParameter },
    responses: { 200: json(usageHours, "The usage of the last 48 hours."), ...failures(404, 503) },
  }),
  status: createRoute({
    ...{ tags: operation, ...at("get", "/status", "readStatus", "read") },
    summary: "Reads the status of the networks and their upstreams.",
    responses: { 200: json(status, "The present status."), ...failures(503) },
  }),
  calls: createRoute({
    ...{ tags: operation, ...at("get", "/calls", "readCalls", "read") },
    summary: "Reads the recent slow and failed calls, with their stories.",
    description:
      "Each process keeps as many calls as `tail.calls` says, by default none. The parameters select some of these calls.",
    request: {
      query: z.strictObject({
        network: z.string().optional(),
        key: z.string().optional(),
        method: z.string().optional(),
        outcome: z
          .enum(["ok", "refused", "unavailable", "failed"], {
            error: "expected ok, refused, unavailable or failed",
          })
          .optional(),
        slowerThanMs: number("Only calls that took at least this many milliseconds."),
        limit: number("The most calls in the response; left out: all."),
      }),
    },
    responses: { 200: json(slowCalls, "The calls, newest first."), ...failures(422, 503) },
  }),
  events: createRoute({
    ...{ tags: operation, ...at("get", "/events", "watchStatus", "read") },
    summary: "Watches the status of the networks, as server-sent events once a second.",
    description:
      "The first event may be `history`; its data is a LiveHistory, with the rates of the last half an hour. The data of each event `status` is a LiveStatus. A caller that reads slowly misses events. An event `unknown` says that the gateway could not make the status.",
    responses: {
      200: {
        description: "A stream of events, until the caller or the gateway ends it.",
        content: { "text/event-stream": { schema: z.union([liveStatus, liveHistory]) } },
      },
      ...failures(503),
    },
  }),
  reload: createRoute({
    ...{ tags: operation, ...at("post", "/reload", "reload", "all") },
    summary: "Reads the configuration again and applies all its changes in one step.",
    responses: {
      200: json(reloaded, "The changes, without secrets."),
      ...failures(409, 422, 503),
    },
  }),
  audit: createRoute({
    ...{ tags: operation, ...at("get", "/audit", "readAudit", "read") },
    summary: "Reads the audit trail: each change with its author and time, newest first.",
    description:
      "The trail has the changes by this API, by the command line and by signals, of all gateways that share a state. At least the newest 10,000 changes are kept.",
    request: {
      query: z.strictObject({
        before: wholeText("a whole number", /^\d{1,15}$/)
          .optional()
          .openapi({
            description: "Only entries with lower numbers: the `next` of the previous page.",
          }),
        limit: wholeText("1 to 1000", /^([1-9]\d{0,2}|1000)$/)
          .optional()
          .openapi({ description: "The most entries in the response; left out: 100." }),
      }),
    },
    responses: { 200: json(auditPage, "A page of the audit trail."), ...failures(422, 503) },
  }),
  metrics: createRoute({
    ...{ tags: operation, ...at("get", "/metrics", "readMetrics", "read") },
    summary: "Reads the metrics, for Prometheus.",
    responses: { 200: plainText("The metrics in Prometheus' text format."), ...failures(503) },
  }),
  health: createRoute({
    ...{ tags: operation, ...open("get", "/healthz", "readHealth") },
    summary: "Checks whether the process is alive. Needs no token.",
    responses: { 200: plainText("The process is alive.") },
  }),
  readiness: createRoute({
    ...{ tags: operation, ...open("get", "/readyz", "readReadiness") },
    summary: "Checks whether every network can be served. Needs no token.",
    responses: {
      200: plainText("Every network can be served."),
      503: plainText("The reasons why not, one line each."),
    },
  }),
  document: createRoute({
    ...{ tags: operation, ...at("get", "/openapi.json", "readDocument", "read") },
    summary: "Reads this document.",
    responses: { 200: json(z.object({ openapi: z.string() }), "OpenAPI 3.1."), ...failures() },
  }),
};
