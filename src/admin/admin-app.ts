// The admin API as one function from request to response: it admits requests, checks roles, runs the handlers and answers
// errors. The routes are declared in routes.ts.

import type { Socket } from "node:net";
import { getRequestListener } from "@hono/node-server";
import { OpenAPIHono } from "@hono/zod-openapi";
import type { Next } from "hono";
import { HTTPException } from "hono/http-exception";
import type { Change } from "../access/audit-trail.ts";
import { type KeyBook, OVERLAP_MS } from "../access/keys/key-book.ts";
import {
  CSV_HEADER,
  csvLines,
  readUsageHours,
  type UsageReport,
  UsageSums,
  usageRows,
} from "../access/usage/usage-report.ts";
import { RpcError } from "../jsonrpc/rpc-error.ts";
import { readRange } from "../lib/calendar.ts";
import type { SlowCall } from "../observe/stories.ts";
import { requestIds } from "../server/listener.ts";
import {
  type AdminApp,
  type AdminAppParts,
  type AdminContext,
  actorOf,
  addressOf,
  MOST_TEXT_BYTES,
  mistakesIn,
  noteChange,
  readBody,
  readBodyAs,
  requestOf,
  shownCall,
} from "./admin-parts.ts";
import { type AdminRequest, admitted, covers, type Operator, type Tokens } from "./admission.ts";
import { addConfigurationAnswers } from "./configuration-routes.ts";
import { addConsole } from "./console-files.ts";
import { adminDocument, declaredRoutes, verbsOf, version } from "./document.ts";
import { addLiveAnswer } from "./live-feed.ts";
import { oneAtATime } from "./one-at-a-time.ts";
import { Problem, problemResponse, problems } from "./problem.ts";
import { type DeclaredRoute, keyRoutes, nodeRoutes, operationRoutes, ROLE } from "./routes.ts";
import { rotation } from "./schemas.ts";
import { addSessionAnswers, Sessions, sessionTextOf } from "./sessions.ts";
import { addTryAnswers } from "./try-routes.ts";

const MOST_BODY_BYTES = 64 * 1024;
/** In bytes: a configuration is longer than other bodies, and its JSON string is longer than its text. */
const mostBytesFor = (path: string): number =>
  path.startsWith("/configuration/") ? 2 * MOST_TEXT_BYTES : MOST_BODY_BYTES;

type AdminAppOptions = {
  /** The tokens of the present configuration; a reload may change them. */
  readonly tokens: () => Tokens;
  /** Left out: sessions of its own. */
  readonly sessions?: Sessions;
  /** Aborts when the admin server closes. */
  readonly ending?: AbortSignal;
  /** Called with the connection of each admitted request. */
  readonly onAdmitted?: (socket: Socket) => void;
};

export type AdminListener = {
  /** Answers a request of Node's HTTP server. */
  readonly answer: ReturnType<typeof getRequestListener>;
  /** Whether a request has a right token, or the cookie of a session. */
  readonly admits: (request: AdminRequest) => boolean;
};

/** The admin API as a listener for Node's HTTP server. */
export function adminListener(
  options: Omit<AdminAppOptions, "sessions">,
  parts: AdminAppParts,
): AdminListener {
  const sessions = new Sessions();
  const app = adminApp({ ...options, sessions }, parts);
  const nextUnreadableId = requestIds();
  const answer = getRequestListener((request, bindings) => app.fetch(request, bindings), {
    overrideGlobalObjects: false,
    errorHandler: () => unreadable(nextUnreadableId()),
  });
  const admit = admissionOver({ ...options, sessions }, parts);
  return { answer, admits: (request) => !(admit(request) instanceof Problem) };
}

const LONG_READS = [
  operationRoutes.usage,
  operationRoutes.usageOfKey,
  operationRoutes.usageHours,
  operationRoutes.audit,
  operationRoutes.calls,
];

type AdmissionOptions = Pick<AdminAppOptions, "tokens"> & { readonly sessions: Sessions };

const admissionOver =
  ({ tokens, sessions }: AdmissionOptions, { clock }: Pick<AdminAppParts, "clock">) =>
  (request: AdminRequest): Operator | Problem => {
    const session = sessionTextOf(request);
    const digest = session ? sessions.tokenDigestOf(session, clock.now()) : undefined;
    return admitted(request, tokens(), digest);
  };

const unreadable = (requestId: string): Response => {
  const headers = { "X-Request-Id": requestId };
  return problemResponse(new Problem(400, "the request cannot be read", { headers }));
};

export function adminApp(options: AdminAppOptions, parts: AdminAppParts): AdminApp {
  const nextRequestId = requestIds();
  const app: AdminApp = new OpenAPIHono({
    defaultHook: (result) => {
      if (!result.success) throw mistakesIn(result.error, "the query");
    },
  });
  app.use("*", async (context, next) => {
    const requestId = nextRequestId();
    context.set("requestId", requestId);
    await next();
    context.header("X-Request-Id", requestId);
    if (!context.res.headers.has("Cache-Control")) context.header("Cache-Control", "no-store");
    context.header("X-Content-Type-Options", "nosniff");
    context.header("Cross-Origin-Resource-Policy", "same-origin");
  });
  addHealthAnswers(app, parts);
  addConsole(app);
  const { sessions = new Sessions() } = options;
  const admit = admissionOver({ ...options, sessions }, parts);
  const refuse = async (context: AdminContext, problem: Problem): Promise<never> => {
    parts.metrics.adminRefused(problem.status === 401 ? "token" : "origin");
    if (problem.status === 401) await slowDown(context, parts);
    throw problem;
  };
  app.use("/session", boundedBody);
  addSessionAnswers(app, { ...options, sessions, admit, refuse, clock: parts.clock });
  app.use("*", async (context, next) => {
    const operator = admit(requestOf(context));
    if (operator instanceof Problem) return refuse(context, operator);
    context.set("operator", operator);
    const socket = context.env?.incoming?.socket;
    if (socket) options.onAdmitted?.(socket);
    await next();
  });
  app.use("*", boundedBody);
  for (const route of declaredRoutes) addRoleCheck(app, route, parts);
  const inTurn = oneAtATime(parts);
  for (const route of LONG_READS) app.get(route.getRoutingPath(), inTurn);
  addKeyAnswers(app, parts);
  addOperationAnswers(app, parts);
  addNodeAnswers(app, parts);
  addConfigurationAnswers(app, parts);
  addTryAnswers(app, parts);
  addLiveAnswer(app, { admit, ending: options.ending }, parts);
  app.notFound(({ req }) => {
    const verbs = verbsOf(req.path);
    return problemResponse(
      verbs.length > 0 ? problems.verbNotAllowed(req.method, verbs) : problems.unknownPath(),
    );
  });
  app.onError((error, context) =>
    // A caller that disconnects during its request is no fault of the gateway.
    problemResponse(
      context.req.raw.signal.aborted
        ? problems.broken(error)
        : problemOf(error, { log: parts.log, requestId: context.get("requestId") }),
    ),
  );
  return app;
}

async function boundedBody({ req }: AdminContext, next: Next): Promise<void> {
  // node:http ends every body at its Content-Length.
  if (req.header("Transfer-Encoding") !== undefined) throw problems.lengthNotTold();
  const mostBytes = mostBytesFor(req.path);
  if (Number(req.header("Content-Length") ?? 0) > mostBytes) throw problems.bodyTooLarge(mostBytes);
  await next();
}

/** The router finds the check by the same path as the handler, so no request reaches the handler without the check. */
function addRoleCheck(app: AdminApp, route: DeclaredRoute, { metrics }: AdminAppParts): void {
  const needed = route[ROLE];
  if (needed === undefined) return; // this route needs no token
  app.on(route.method.toUpperCase(), route.getRoutingPath(), async (context, next) => {
    const { role } = context.get("operator");
    if (!covers(role, needed)) {
      metrics.adminRefused("role");
      throw problems.notOfRole(role, needed);
    }
    await next();
  });
}

/** Delays the refusal of a wrong or missing token, the longer the more of them an address sends. */
async function slowDown(context: AdminContext, parts: AdminAppParts): Promise<void> {
  const { guesses, clock, log } = parts;
  const address = addressOf(context);
  const verdict = guesses.judge(address, clock.now());
  if (verdict.kind === "at once") return;
  if (verdict.kind === "turned away") throw problems.tooManyGuesses(verdict.retryAfterMs);
  log.warn({ address }, "the admin API got many requests without a valid token");
  await clock.sleep(verdict.delayMs).finally(verdict.done);
}

function problemOf(
  error: Error,
  { log, requestId }: { log: AdminAppParts["log"]; requestId: string },
): Problem {
  if (error instanceof Problem) return error;
  // Operators get some errors of calls too, such as the one that the state cannot be reached.
  if (error instanceof RpcError && error.status >= 500)
    return new Problem(error.status, error.message, { cause: error, ...retryAfterOf(error) });
  if (error instanceof HTTPException)
    return new Problem(error.status, error.message, { cause: error });
  log.error({ requestId, err: error }, "a request to the admin API failed unexpectedly");
  return problems.internal(requestId, error);
}

const retryAfterOf = ({ retryAfter }: RpcError) =>
  retryAfter === undefined ? {} : { headers: { "Retry-After": String(retryAfter) } };

type KeyParts = Pick<AdminAppParts, "keys" | "log" | "audit">;

function addKeyAnswers(app: AdminApp, parts: KeyParts): void {
  const { keys } = parts;
  app.openapi(keyRoutes.list, async (context) => context.json({ keys: await keys.list() }, 200));
  app.openapi(keyRoutes.create, async (context) => {
    const body = await readBody(context);
    const change = { context, parts, what: "a key was made", details: settingsIn(body) };
    return context.json(await keyAfter(await keys.create(body), change), 201);
  });
  app.openapi(keyRoutes.show, async (context) =>
    context.json(await keyOf(context.req.valid("param").name, parts), 200),
  );
  addChanges(app, parts);
}

/** @throws Problem 404 when there is no key with this name. */
async function keyOf(name: string, { keys }: Pick<KeyParts, "keys">): Promise<KeyView> {
  const key = await keys.show(name);
  if (!key) throw problems.unknown(`there is no key of the name ${name}`);
  return key;
}

function addChanges(app: AdminApp, parts: KeyParts): void {
  const { keys } = parts;
  app.openapi(keyRoutes.update, async (context) => {
    const { name } = context.req.valid("param");
    const body = await readBody(context);
    const what = "a key's settings were changed";
    const change = { context, parts, what, details: settingsIn(body) };
    return context.json(await keyAfter(await keys.update(name, body), change), 200);
  });
  app.openapi(keyRoutes.rotate, async (context) => {
    const { name } = context.req.valid("param");
    const { overlap: overlapMs = OVERLAP_MS } = await readBodyAs(context, rotation);
    const outcome = await keys.rotate(name, { overlapMs });
    return context.json(
      await keyAfter(outcome, { context, parts, what: "a key was rotated" }),
      200,
    );
  });
  for (const [act, done] of [
    ["revoke", "revoked"],
    ["disable", "disabled"],
    ["enable", "enabled"],
  ] as const)
    app.openapi(keyRoutes[act], async (context) => {
      const outcome = await keys[act](context.req.valid("param").name);
      const change = { context, parts, what: `a key was ${done}` };
      return context.json(await keyAfter(outcome, change), 200);
    });
}

type KeyChange = {
  readonly context: AdminContext;
  readonly parts: KeyParts;
} & Pick<Change, "what" | "details">;
type KeyMadeOutcome = Awaited<ReturnType<KeyBook["create"]>>;
type KeyChangedOutcome = Awaited<ReturnType<KeyBook["revoke"]>>;
type KeyView = Extract<KeyChangedOutcome, { kind: "changed" }>["key"];

/** The names of the settings in the body of a request, without the key's name. */
const settingsIn = (body: Readonly<Record<string, unknown>>): readonly string[] =>
  Object.keys(body).filter((name) => name !== "name");

/** Notes a change in the audit trail, and returns the key after it. @throws Problem when the key was not changed. */
async function keyAfter(
  outcome: KeyMadeOutcome,
  change: KeyChange,
): Promise<KeyView & { key: string }>;
async function keyAfter(outcome: KeyChangedOutcome, change: KeyChange): Promise<KeyView>;
async function keyAfter(
  outcome: KeyMadeOutcome | KeyChangedOutcome,
  { context, parts, ...change }: KeyChange,
): Promise<KeyView & { key?: string }> {
  switch (outcome.kind) {
    case "mistakes":
      throw problems.mistakes(outcome.mistakes);
    case "unknown":
      throw problems.unknown(outcome.why);
    case "taken":
    case "refused":
      throw problems.conflict(outcome.why);
    case "changed":
      await noteChange(context, parts, { ...change, key: outcome.key.name });
      return outcome.key;
    case "made":
      await noteChange(context, parts, { ...change, key: outcome.key.name });
      return { ...outcome.key, key: outcome.text };
  }
}

const AUDIT_LIMIT = 100;

type WantedCalls = Partial<Record<"network" | "key" | "method" | "outcome", string | undefined>> & {
  readonly slowerThanMs?: number | undefined;
};

const isWanted = (call: SlowCall, { slowerThanMs = 0, ...wanted }: WantedCalls): boolean =>
  call.ms >= slowerThanMs &&
  (["network", "key", "method", "outcome"] as const).every(
    (name) => wanted[name] === undefined || wanted[name] === call[name],
  );

type UsageAsked = Readonly<
  Partial<Record<"from" | "to" | "key" | "network" | "rows", string | undefined>>
>;

function addOperationAnswers(app: AdminApp, parts: AdminAppParts): void {
  const { metrics, networks, clock } = parts;
  const startedAtMs = clock.now();
  let document: ReturnType<typeof adminDocument> | undefined; // made at the first request for it, since it takes memory
  addUsageReports(app, parts);
  app.openapi(operationRoutes.status, async (context) => {
    const uptimeSeconds = Math.round((clock.now() - startedAtMs) / 1000);
    return context.json({ version, uptimeSeconds, networks: await networks() }, 200);
  });
  app.openapi(operationRoutes.calls, async (context) => {
    const { limit, ...wanted } = context.req.valid("query");
    const calls = (await parts.calls()).filter((call) => isWanted(call, wanted));
    return context.json({ calls: calls.slice(0, limit).map(shownCall) }, 200);
  });
  app.openapi(operationRoutes.reload, async (context) => {
    const outcome = await parts.reload(actorOf(context));
    if (outcome.kind === "mistakes") throw problems.mistakes(outcome.mistakes);
    if (outcome.kind === "refused") throw problems.conflict(outcome.why);
    parts.log.info(
      { who: context.get("operator").name, address: addressOf(context) },
      "the configuration was reloaded",
    );
    return context.json({ changed: outcome.changed }, 200);
  });
  app.openapi(operationRoutes.audit, async (context) => {
    const { before, limit = AUDIT_LIMIT } = context.req.valid("query");
    return context.json(await parts.audit.read({ before, limit }), 200);
  });
  app.openapi(operationRoutes.metrics, async (context) =>
    context.text(await metrics.exposition(), 200, { "Content-Type": metrics.contentType }),
  );
  app.openapi(operationRoutes.document, (context) => {
    document ??= adminDocument();
    return context.json(document, 200);
  });
}

function addNodeAnswers(app: AdminApp, parts: AdminAppParts): void {
  for (const [act, isDrained] of [
    ["drain", true],
    ["undrain", false],
  ] as const)
    app.openapi(nodeRoutes[act], async (context) => {
      const { network, name: upstream } = context.req.valid("param");
      const node = { network, upstream, isDrained };
      const done = await parts.drain(node, actorOf(context));
      if (!done) throw problems.unknown("there is no such node");
      const what = isDrained ? "a node was drained" : "a node was undrained";
      await noteChange(context, parts, { what, details: [`${network}/${upstream}`] });
      return context.json({ ...node, ...(done.isKept ? {} : { isKept: false as const }) }, 200);
    });
}

/** Answers health probes, which have no token. On this port they do not use up callers' connections. */
function addHealthAnswers(
  app: AdminApp,
  { whyNotReady, notes }: Pick<AdminAppParts, "whyNotReady" | "notes">,
): void {
  app.openapi(operationRoutes.health, (context) => context.text("ok\n", 200));
  app.openapi(operationRoutes.readiness, async (context) => {
    const reasons = await whyNotReady().catch(() => ["the status of the networks cannot be read"]);
    if (reasons.length > 0) return context.text(`${reasons.join("\n")}\n`, 503);
    const lines = ["ready", ...(await notes().catch(() => []))];
    return context.text(`${lines.join("\n")}\n`, 200);
  });
}

function addUsageReports(app: AdminApp, parts: AdminAppParts): void {
  app.openapi(operationRoutes.usage, async (context) => {
    const { format, ...asked } = context.req.valid("query");
    const report = await readUsageReport(parts, asked, context);
    return answerUsageReport(context, report, { format, clock: parts.clock });
  });
  app.openapi(operationRoutes.usageOfKey, async (context) => {
    const { name: key } = context.req.valid("param");
    const { format, ...asked } = context.req.valid("query");
    const report = await readUsageReport(parts, { ...asked, key }, context);
    // A key that was removed from the file may still have usage.
    if (Object.keys(report.days).length === 0) await keyOf(key, parts);
    return answerUsageReport(context, report, { format, clock: parts.clock });
  });
  app.openapi(operationRoutes.usageHours, async (context) => {
    const { name: key } = context.req.valid("param");
    const hours = await readUsageHours(parts.state, { key, nowMs: parts.clock.wallTime() });
    if (hours.every(({ calls, refused }) => calls + refused === 0)) await keyOf(key, parts);
    return context.json({ hours }, 200);
  });
}

/** Enough days to begin with the first of this month a year ago. */
const MOST_DAYS = 400;
/** The most rows of one response: some 35 MB of JSON. */
const MOST_ROWS = 50_000;

/**
 * Checks the range, reads the usage, and adds costs, with turns for other work.
 * @throws Problem 422 for a wrong range, or for too many rows.
 */
async function readUsageReport(
  { state, clock, prices }: Pick<AdminAppParts, "state" | "clock" | "prices">,
  { from, to, rows: wanted, ...which }: UsageAsked,
  context: AdminContext,
): Promise<UsageReport> {
  const range = readRange({ from, to }, { wallTimeMs: clock.wallTime(), mostDays: MOST_DAYS });
  if (range.kind === "mistake") throw problems.mistakes([`${range.field}: ${range.why}`]);
  const sums = new UsageSums(prices());
  const rows: UsageReport["rows"][number][] = [];
  for await (const some of usageRows(state, { ...range, ...which }, { clock })) {
    const priced = some.map((row) => sums.add(row));
    if (wanted !== "none") rows.push(...priced);
    if (rows.length > MOST_ROWS) throw problems.mistakes([TOO_MANY_ROWS]);
    if (context.req.raw.signal.aborted) break;
  }
  return { ...sums.report(range), rows };
}

const TOO_MANY_ROWS = `rows: more than ${MOST_ROWS}: ask for fewer days, for one key or one network, or for rows=none`;

/** Writes the report with turns for other work. */
async function answerUsageReport(
  context: AdminContext,
  { rows, ...sums }: UsageReport,
  { format, clock }: Pick<AdminAppParts, "clock"> & { readonly format: "json" | "csv" | undefined },
) {
  const isCsv = format === undefined ? prefersCsv(context.req.header("accept")) : format === "csv";
  context.header("Vary", "Accept");
  const lines = (some: UsageReport["rows"]): string =>
    isCsv ? csvLines(some, sums.currency) : some.map((row) => JSON.stringify(row)).join(",");
  const pieces: string[] = [];
  for (let from = 0; from < rows.length; from += WRITTEN_AT_ONCE) {
    if (from > 0) await clock.yield();
    pieces.push(lines(rows.slice(from, from + WRITTEN_AT_ONCE)));
  }
  if (isCsv) {
    const type = { "Content-Type": "text/csv; charset=utf-8; header=present" };
    return context.text(CSV_HEADER + pieces.join(""), 200, type);
  }
  const text = `{"rows":[${pieces.join(",")}],${JSON.stringify(sums).slice(1)}`;
  return context.body(text, 200, { "Content-Type": "application/json" }) as never;
}

/** The rows that are written in one turn: a millisecond. */
const WRITTEN_AT_ONCE = 200;

/** Whether the caller accepts CSV and does not name JSON; a caller that accepts everything gets JSON. */
const prefersCsv = (accept = ""): boolean =>
  /\btext\/csv\b/i.test(accept) && !/\bapplication\/json\b/i.test(accept);
