// The parts that the admin API gets from the gateway, and the functions by which its routes read requests.
import type { HttpBindings } from "@hono/node-server";
import type { OpenAPIHono, z } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Logger } from "pino";
import type { Actor, AuditTrail, Change } from "../access/audit-trail.ts";
import type { KeyBook } from "../access/keys/key-book.ts";
import { plainAddress } from "../access/scope/client-address.ts";
import type { Guesses } from "../access/scope/guesses.ts";
import type { PriceList } from "../access/usage/usage-report.ts";
import { isMapping } from "../config/units.ts";
import type { Clock } from "../lib/clock.ts";
import type { NetworkIncidents } from "../observe/incidents.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { SlowCall } from "../observe/stories.ts";
import type { UpstreamSnapshot } from "../observe/upstream-gauges.ts";
import type { CallTrials } from "../server/try-call.ts";
import type { State } from "../state/state.ts";
import type { NodeDrain } from "../upstream/drains.ts";
import { type AdminRequest, isJson, type Operator } from "./admission.ts";
import { type Problem, problems } from "./problem.ts";
import type { CheckedAnswer, ConfigurationAnswer, Status } from "./schemas.ts";

/** In bytes: reading a larger configuration could delay callers for seconds. */
export const MOST_TEXT_BYTES = 131_072;

export type Reloaded =
  /** One line for each change; empty when the configuration is the same. */
  | { readonly kind: "reloaded"; readonly changed: readonly string[] }
  /** One line for each mistake in the file; the gateway goes on with its old configuration. */
  | { readonly kind: "mistakes"; readonly mistakes: readonly string[] }
  /** A reload is not possible here, or not now. */
  | { readonly kind: "refused"; readonly why: string };

export type FileReplaced =
  | (Extract<Reloaded, { kind: "reloaded" }> & { readonly version: string })
  | Exclude<Reloaded, { kind: "reloaded" }>
  /** The file was changed after the operator read it. */
  | { readonly kind: "changed meanwhile" };

type ConfigurationFile = {
  shown(): Promise<ConfigurationAnswer>;
  /** Checks a text, in which marks stand for hidden values, without applying it. */
  validate(text: string): Promise<CheckedAnswer>;
  /**
   * Replaces the file and reloads. Where the reload is refused, the file stays as it was. Never rejects.
   *
   * @param asked.version The version of the file from which the operator made the text.
   */
  apply(
    asked: { readonly text: string; readonly version: string },
    by: Actor,
  ): Promise<FileReplaced>;
};

export type AdminAppParts = {
  readonly metrics: Pick<
    Metrics,
    "exposition" | "values" | "contentType" | "adminRefused" | "callbackFailed"
  > & {
    certificateExpires(port: "admin", atMs: number): void;
  };
  readonly keys: Pick<
    KeyBook,
    "list" | "create" | "show" | "update" | "rotate" | "revoke" | "disable" | "enable"
  >;
  readonly state: Pick<State, "list">;
  /** The prices of the present configuration. */
  readonly prices: () => PriceList | undefined;
  readonly networks: () => Promise<Status["networks"]>;
  /** The reasons why networks are not ready, one line each; empty when all are ready. */
  readonly whyNotReady: () => Promise<readonly string[]>;
  /** Lines about networks that are ready but not as they should be. */
  readonly notes: () => Promise<readonly string[]>;
  /** The slow and failed calls, newest first. */
  readonly calls: () => Promise<readonly SlowCall[]>;
  /** Makes the calls that operators try as one of the keys. */
  readonly trials: Pick<CallTrials, "try" | "describe">;
  /** The recent incidents of each process. */
  readonly incidents: () => Promise<readonly NetworkIncidents[]>;
  /** @returns Whether the state keeps the drain already; undefined: there is no such upstream. */
  readonly drain: (node: NodeDrain, by: Actor) => Promise<{ isKept: boolean } | undefined>;
  readonly reload: (by: Actor) => Promise<Reloaded>;
  readonly configuration: ConfigurationFile;
  readonly audit: Pick<AuditTrail, "note" | "read">;
  readonly guesses: Pick<Guesses, "judge">;
  readonly clock: Pick<Clock, "now" | "wallTime" | "sleep" | "yield" | "after">;
  readonly log: Pick<Logger, "info" | "warn" | "error">;
};

type AdminEnvironment = {
  Bindings: Partial<HttpBindings>;
  Variables: { readonly requestId: string; readonly operator: Operator };
};
export type AdminApp = OpenAPIHono<AdminEnvironment>;
export type AdminContext = Context<AdminEnvironment>;

/** The remote address of the connection; behind a proxy, this is the proxy's. */
export const addressOf = ({ env }: AdminContext): string =>
  plainAddress(env?.incoming?.socket.remoteAddress ?? "") ?? "unknown";

/** The part of a request that admission reads. */
export const requestOf = ({ req, env }: AdminContext): AdminRequest => ({
  verb: req.method,
  header: (name) => req.header(name),
  isEncrypted: env?.incoming !== undefined && "encrypted" in env.incoming.socket,
});

/** The JSON body as an object; an empty body is an empty object. @throws Problem 400 or 415 */
export async function readBody(context: AdminContext): Promise<Readonly<Record<string, unknown>>> {
  const text = await context.req.text();
  if (text.length === 0) return {};
  if (!isJson(context.req.header("content-type"))) throw problems.notJson();
  const value = parse(text);
  if (!isMapping(value)) throw problems.malformed(undefined);
  return value;
}

/** The body as the schema reads it. @throws Problem 422 with the mistakes in it, or as `readBody` */
export async function readBodyAs<Schema extends z.ZodType>(
  context: AdminContext,
  schema: Schema,
): Promise<z.output<Schema>> {
  const read = schema.safeParse(await readBody(context));
  if (read.success) return read.data;
  throw mistakesIn(read.error, "the body");
}

/** @param whole The name for mistakes without a path. */
export const mistakesIn = ({ issues }: z.ZodError, whole: string): Problem =>
  problems.mistakes(issues.map(({ path, message }) => `${path.join(".") || whole}: ${message}`));

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw problems.malformed(cause);
  }
}

/** The operator of a request as the audit trail names it. */
export const actorOf = (context: AdminContext): Actor => ({
  who: context.get("operator").name,
  from: addressOf(context),
});

/** Logs a change, and adds it to the audit trail. */
export async function noteChange(
  context: AdminContext,
  { log, audit }: Pick<AdminAppParts, "log" | "audit">,
  change: Change,
): Promise<void> {
  const { what, details: _, ...about } = change;
  const { who, from: address } = actorOf(context);
  log.info({ ...about, who, address }, what);
  await audit.note({ who, from: address }, change);
}

/** The status of one upstream: a part of its snapshot, copied field by field. */
export function shownUpstream(
  snapshot: UpstreamSnapshot,
  isUsable: boolean,
): Status["networks"][number]["upstreams"][number] {
  const { upstream, head, lagBlocks, lagSeconds, isOnOtherBranch, drained } = snapshot;
  const { inFlight, lackedMethods, lacked, reaches } = snapshot;
  const { perSecond, pausedForMs, monthUsed, monthLeft } = snapshot.budget;
  return {
    upstream,
    isUsable,
    head,
    lagBlocks,
    lagSeconds,
    isElsewhere: isOnOtherBranch,
    isDrained: drained !== undefined,
    ...(drained && { drained: { who: drained.who, at: drained.at } }),
    inFlight,
    lackedMethods,
    lacked,
    reaches,
    groups: snapshot.groups.map(({ group, breaker, errorRate, medianMs, p95Ms }) => {
      return { group, breaker, errorRate, medianMs, p95Ms };
    }),
    budget: { perSecond, pausedForMs, monthUsed, monthLeft },
  };
}

/** A slow or failed call without `members`, which only the story of a batch has. */
export const shownCall = ({ members: _, ...call }: SlowCall) => call;
