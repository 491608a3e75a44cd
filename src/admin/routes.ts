// Declares the admin routes for keys, usage, operation, upstreams and sessions. admin-app.ts has their handlers.
import { STATUS_CODES } from "node:http";
import { createRoute, type RouteConfig, z } from "@hono/zod-openapi";
import type { Role } from "../config/server-settings.ts";
import {
  auditPage,
  callTail,
  drained,
  listOf,
  liveHistory,
  liveStatus,
  madeKey,
  problem,
  reloaded,
  session,
  shownKey,
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

type Failure = {
  description: string;
  content: { "application/problem+json": { schema: typeof problem } };
};

/** The error responses of a route, with those that every route has: 401, 403 and 429. */
export const failures = <Status extends number>(...statuses: readonly Status[]) =>
  Object.fromEntries(
    [401, 403, 429, ...statuses].sort().map((code) => [
      code,
      {
        description: STATUS_CODES[code] ?? "",
        content: { "application/problem+json": { schema: problem } },
      },
    ]),
  ) as Record<Status | 401 | 403 | 429, Failure>;

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
const once = "The key. Its text is in this answer alone.";

/** A route for a change of a key that needs only the key's name. */
const act = <Word extends string>(
  word: Word,
  told: { readonly summary: string; readonly description?: string },
) =>
  createRoute({
    ...ofOneKey,
    ...at("post", `/keys/{name}/${word}`, `${word}Key`, "keys"),
    ...told,
    responses: { 200: json(shownKey, "The key as it is now."), ...failures(404, 409, 503) },
  });

export const keyRoutes = {
  list: createRoute({
    ...at("get", "/keys", "listKeys", "read"),
    summary: "All keys, by name.",
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
    summary: "One key.",
    responses: { 200: json(shownKey, "The key, without its text."), ...failures(404, 503) },
  }),
  update: createRoute({
    tags,
    ...at("patch", "/keys/{name}", "updateKey", "keys"),
    summary: "Changes what a key may do.",
    description:
      "A merge patch (RFC 7396): what is left out stays as it is, and null takes a setting away, also within a group such as `limits`.",
    request: { params: keyParameter, body: body("KeyChange", true) },
    responses: {
      200: json(shownKey, "The key as it is now."),
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
    summary: "Ends a key for good.",
    description: "Everywhere within a second. Its name stays taken.",
  }),
  disable: act("disable", { summary: "Lets a key rest." }),
  enable: act("enable", { summary: "Lets a disabled key work again." }),
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
    description: "The first day, UTC; left out: the first of the month in which the range ends.",
    example: "2026-11-01",
  }),
  to: z.string().optional().openapi({
    description: "The last day, UTC, itself included; left out: today.",
    example: "2026-11-30",
  }),
  network: z.string().optional().openapi({ description: "Of one network alone." }),
  rows: z
    .enum(["all", "none"], { error: "expected all or none" })
    .optional()
    .openapi({ description: "none: the sums alone. Left out: all." }),
  format: z
    .enum(["json", "csv"], { error: "expected json or csv" })
    .optional()
    .openapi({ description: "Left out: as `Accept` says." }),
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
    responses: { 200: json(drained, "As it is now."), ...failures(404, 503) },
  });

export const nodeRoutes = {
  drain: ofNode("drain", {
    summary: "Spares a node.",
    description:
      "It gets no calls while another node of the network is usable; its running calls end. In all processes of this gateway, and over reloads; a gateway that is started anew asks it again.",
  }),
  undrain: ofNode("undrain", {
    summary: "Asks a node again that was spared.",
    description: "Where it was not, nothing is done.",
  }),
};

export const sessionRoutes = {
  show: createRoute({
    ...{ tags: operation, ...open("get", "/session", "showSession") },
    summary: "Who asks: by a session's cookie, by a token, or from this machine.",
    responses: { 200: json(session, "And what it may do."), ...failures() },
  }),
  begin: createRoute({
    ...{ tags: operation, ...open("post", "/session", "beginSession") },
    summary: "Begins a session of the console: a cookie that stands for a token.",
    description: "For 12 hours, and until the gateway is started anew.",
    request: { body: body("Login", true) },
    responses: {
      200: json(session, "With the cookie."),
      ...failures(400, 411, 413, 415, 422),
    },
  }),
  end: createRoute({
    ...{ tags: operation, ...open("post", "/session/end", "endSession") },
    summary: "Ends the session of the cookie.",
    responses: { 200: json(session, "Nobody is logged in."), ...failures() },
  }),
};

export const operationRoutes = {
  usage: createRoute({
    ...at("get", "/usage", "readUsage", "read"),
    summary: "The bill of all keys, or of one.",
    tags: ["usage"],
    request: { query: z.strictObject({ ...range, key: z.string().optional() }) },
    responses: { 200: usageAnswer, ...failures(422, 503) },
  }),
  usageOfKey: createRoute({
    ...at("get", "/keys/{name}/usage", "readKeyUsage", "read"),
    summary: "The bill of one key.",
    tags: ["keys", "usage"],
    request: { params: keyParameter, query: z.strictObject(range) },
    responses: { 200: usageAnswer, ...failures(404, 422, 503) },
  }),
  usageHours: createRoute({
    ...at("get", "/keys/{name}/usage/hours", "readKeyUsageHours", "read"),
    summary: "What one key did by hour.",
    tags: ["keys", "usage"],
    request: { params: keyParameter },
    responses: { 200: json(usageHours, "The last 48 hours."), ...failures(404, 503) },
  }),
  status: createRoute({
    ...{ tags: operation, ...at("get", "/status", "readStatus", "read") },
    summary: "How the networks and their upstreams do.",
    responses: { 200: json(status, "As this moment knows it."), ...failures(503) },
  }),
  calls: createRoute({
    ...{ tags: operation, ...at("get", "/calls", "readCalls", "read") },
    summary: "The slow and failed calls of late, with their stories.",
    description:
      "As many as `tail.calls` says, of each process; none where nothing is configured. Of these, those that fit.",
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
        slowerThanMs: number("Those that took as long, in milliseconds."),
        limit: number("How many at most."),
      }),
    },
    responses: { 200: json(callTail, "The newest first."), ...failures(422, 503) },
  }),
  events: createRoute({
    ...{ tags: operation, ...at("get", "/events", "watchStatus", "read") },
    summary: "How the networks do, each second: server-sent events.",
    description:
      "The first event may be `history`, a LiveHistory: what was before. The data of each event `status` is a LiveStatus. Who reads slowly misses some; one that the gateway cannot make is an event `unknown`.",
    responses: {
      200: {
        description: "Until the caller or the gateway ends it.",
        content: { "text/event-stream": { schema: z.union([liveStatus, liveHistory]) } },
      },
      ...failures(503),
    },
  }),
  reload: createRoute({
    ...{ tags: operation, ...at("post", "/reload", "reload", "all") },
    summary: "Reads the configuration again and applies what changed in it, as one step.",
    responses: {
      200: json(reloaded, "What changed; secrets are not shown."),
      ...failures(409, 422, 503),
    },
  }),
  audit: createRoute({
    ...{ tags: operation, ...at("get", "/audit", "readAudit", "read") },
    summary: "Who changed what, and when; newest first.",
    description:
      "Of all gateways over one state, by this API, the command line and signals; the newest 10,000 at least.",
    request: {
      query: z.strictObject({
        before: wholeText("a whole number", /^\d{1,15}$/)
          .optional()
          .openapi({ description: "Entries of lower numbers: `next` of the page before." }),
        limit: wholeText("1 to 1000", /^([1-9]\d{0,2}|1000)$/)
          .optional()
          .openapi({ description: "How many; left out: 100." }),
      }),
    },
    responses: { 200: json(auditPage, "A page of it."), ...failures(422, 503) },
  }),
  metrics: createRoute({
    ...{ tags: operation, ...at("get", "/metrics", "readMetrics", "read") },
    summary: "What is counted, for Prometheus.",
    responses: { 200: plainText("The text format."), ...failures(503) },
  }),
  health: createRoute({
    ...{ tags: operation, ...open("get", "/healthz", "readHealth") },
    summary: "Whether the process lives. Needs no token.",
    responses: { 200: plainText("It does.") },
  }),
  readiness: createRoute({
    ...{ tags: operation, ...open("get", "/readyz", "readReadiness") },
    summary: "Whether every network can be served. Needs no token.",
    responses: { 200: plainText("It can."), 503: plainText("Why not, one line each.") },
  }),
  document: createRoute({
    ...{ tags: operation, ...at("get", "/openapi.json", "readDocument", "read") },
    summary: "This document.",
    responses: { 200: json(z.object({ openapi: z.string() }), "OpenAPI 3.1."), ...failures() },
  }),
};
