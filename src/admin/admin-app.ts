// Admin as one function from request to response: which requests are let in, what is done, and what an operator
// is told when it cannot be.
import type { Socket } from "node:net";
import { OpenAPIHono } from "@hono/zod-openapi";
import { HTTPException } from "hono/http-exception";
import { RpcError } from "../jsonrpc/rpc-error.ts";
import { requestIds } from "../server/listener.ts";
import {
  type AdminApp,
  type AdminContext,
  type AdminServerParts,
  addressOf,
} from "./admin-parts.ts";
import { refusalOf, type Token } from "./admission.ts";
import { addHealthAnswers, addKeyAnswers, addOperationAnswers } from "./answers.ts";
import { verbsOf } from "./document.ts";
import { Problem, problemResponse, problems } from "./problem.ts";

const MOST_BODY_BYTES = 64 * 1024;

/** @param options.token As it is now: it may be changed by a reload. */
export function adminApp(
  options: {
    readonly token: () => Token | undefined;
    /** Called with the connection of each request that is let in. */
    readonly onLetIn?: (socket: Socket) => void;
  },
  parts: AdminServerParts,
): AdminApp {
  const nextRequestId = requestIds();
  const app: AdminApp = new OpenAPIHono({
    defaultHook: (result) => {
      if (!result.success) throw problems.mistakes(result.error.issues.map(mistakeLine));
    },
  });
  app.use("*", async (context, next) => {
    const requestId = nextRequestId();
    context.set("requestId", requestId);
    await next();
    context.header("X-Request-Id", requestId);
    context.header("Cache-Control", "no-store");
    context.header("X-Content-Type-Options", "nosniff");
  });
  addHealthAnswers(app, parts);
  app.use("*", async (context, next) => {
    const { method: verb } = context.req;
    const header = (name: string): string | undefined => context.req.header(name);
    const refusal = refusalOf({ verb, header }, options.token());
    if (refusal?.status === 401) await slowDown(context, parts);
    if (refusal) throw refusal;
    const socket = context.env?.incoming?.socket;
    if (socket) options.onLetIn?.(socket);
    await next();
  });
  app.use("*", async ({ req }, next) => {
    // node:http lets no body be longer than it was announced.
    if (req.header("Transfer-Encoding") !== undefined) throw problems.lengthNotTold();
    if (Number(req.header("Content-Length") ?? 0) > MOST_BODY_BYTES)
      throw problems.bodyTooLarge(MOST_BODY_BYTES);
    await next();
  });
  addKeyAnswers(app, parts);
  addOperationAnswers(app, parts);
  app.notFound(({ req }) => {
    const verbs = verbsOf(req.path);
    return problemResponse(
      verbs.length > 0 ? problems.verbNotAllowed(req.method, verbs) : problems.unknownPath(),
    );
  });
  app.onError((error, context) =>
    // That an operator went away in the middle of a request is no fault.
    problemResponse(
      context.req.raw.signal.aborted
        ? problems.broken(error)
        : problemOf(error, { log: parts.log, requestId: context.get("requestId") }),
    ),
  );
  return app;
}

/** A wrong token, or none: the refusal comes the later the more of them an address sends. */
async function slowDown(context: AdminContext, parts: AdminServerParts): Promise<void> {
  const { guesses, clock, log } = parts;
  const address = addressOf(context);
  const verdict = guesses.judge(address, clock.now());
  if (verdict.kind === "at once") return;
  if (verdict.kind === "turned away") throw problems.tooManyGuesses(verdict.retryAfterMs);
  log.warn({ address }, "administration was asked many times without its token");
  await clock.sleep(verdict.delayMs).finally(verdict.done);
}

const mistakeLine = ({ path, message }: { path: PropertyKey[]; message: string }): string =>
  `${path.length > 0 ? path.join(".") : "the query"}: ${message}`;

function problemOf(
  error: Error,
  { log, requestId }: { log: AdminServerParts["log"]; requestId: string },
): Problem {
  if (error instanceof Problem) return error;
  // What a part says to a caller of the server holds here as well: that the state is away.
  if (error instanceof RpcError && error.status >= 500)
    return new Problem(error.status, error.message, { cause: error, ...retryAfterOf(error) });
  if (error instanceof HTTPException)
    return new Problem(error.status, error.message, { cause: error });
  log.error({ requestId, err: error }, "administration failed");
  return problems.internal(requestId, error);
}

const retryAfterOf = ({ retryAfter }: RpcError) =>
  retryAfter === undefined ? {} : { headers: { "Retry-After": String(retryAfter) } };
