// What admin is given: the gateway's parts, and a request with what is known of it beside HTTP.
import type { HttpBindings } from "@hono/node-server";
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { Logger } from "pino";
import type { Actor, AuditTrail, Change } from "../access/audit-trail.ts";
import type { KeyBook } from "../access/keys/key-book.ts";
import { plainAddress } from "../access/scope/client-address.ts";
import type { Guesses } from "../access/scope/guesses.ts";
import type { PriceList } from "../access/usage/usage-report.ts";
import { isMapping } from "../config/units.ts";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { TailedCall } from "../observe/stories.ts";
import type { UpstreamSnapshot } from "../observe/upstream-gauges.ts";
import type { State } from "../state/state.ts";
import { isJson, type Operator } from "./admission.ts";
import { problems } from "./problem.ts";
import type { Status } from "./schemas.ts";

export type Reloaded =
  /** What was changed, one line each; none when nothing was to be changed. */
  | { readonly kind: "reloaded"; readonly changed: readonly string[] }
  /** What is wrong with the file; nothing was changed. */
  | { readonly kind: "mistakes"; readonly mistakes: readonly string[] }
  /** It cannot be done here or now. */
  | { readonly kind: "refused"; readonly why: string };

export type AdminServerParts = {
  readonly metrics: Pick<Metrics, "exposition" | "values" | "contentType" | "adminRefused">;
  readonly keys: Pick<
    KeyBook,
    "list" | "create" | "show" | "update" | "rotate" | "revoke" | "disable" | "enable"
  >;
  readonly state: Pick<State, "list">;
  /** As they are configured now. */
  readonly prices: () => PriceList | undefined;
  readonly networks: () => Promise<Status["networks"]>;
  /** Why some network is not ready; empty when all are. */
  readonly whyNotReady: () => Promise<readonly string[]>;
  /** The slow and failed calls of late, the newest first. */
  readonly calls: () => Promise<readonly TailedCall[]>;
  readonly reload: (by: Actor) => Promise<Reloaded>;
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

/** The socket's: a caller behind a proxy is seen as that proxy. */
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

/** Who asks. */
export const actorOf = (context: AdminContext): Actor => ({
  who: context.get("operator").name,
  from: addressOf(context),
});

/** One line in the log for each change, and its entry in the audit trail: what, which key, who, from where. */
export async function noteChange(
  context: AdminContext,
  { log, audit }: Pick<AdminServerParts, "log" | "audit">,
  change: Change,
): Promise<void> {
  const { what, details: _, ...about } = change;
  const { who, from: address } = actorOf(context);
  log.info({ ...about, who, address }, what);
  await audit.note({ who, from: address }, change);
}

type ShownUpstream = Status["networks"][number]["upstreams"][number];

/** How one upstream does, as an operator is told. Field by field: a snapshot may have more. */
export function shownUpstream(snapshot: UpstreamSnapshot, isUsable: boolean): ShownUpstream {
  const { upstream, head, lagBlocks, lagSeconds, isElsewhere, inFlight, lackedMethods } = snapshot;
  const { perSecond, pausedForMs, monthUsed, monthLeft } = snapshot.budget;
  return {
    upstream,
    isUsable,
    head,
    lagBlocks,
    lagSeconds,
    isElsewhere,
    inFlight,
    lackedMethods,
    groups: snapshot.groups.map(({ group, breaker, errorRate, medianMs, p95Ms }) => {
      return { group, breaker, errorRate, medianMs, p95Ms };
    }),
    budget: { perSecond, pausedForMs, monthUsed, monthLeft },
  };
}

/** A call of the tail: lists that are read only are copied for the answer. */
export const shownCall = ({ steps, asked, members: _, ...call }: TailedCall) => ({
  ...call,
  steps: [...steps],
  asked: [...asked],
});
