// What admin is given: the gateway's parts, and a request with what is known of it beside HTTP.
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
import type { TailedCall } from "../observe/stories.ts";
import type { UpstreamSnapshot } from "../observe/upstream-gauges.ts";
import type { CallTrials } from "../server/try-call.ts";
import type { State } from "../state/state.ts";
import { type AdminRequest, isJson, type Operator } from "./admission.ts";
import { type Problem, problems } from "./problem.ts";
import type { Status } from "./schemas.ts";

export type Reloaded =
  /** What was changed, one line each; none when nothing was to be changed. */
  | { readonly kind: "reloaded"; readonly changed: readonly string[] }
  /** What is wrong with the file; nothing was changed. */
  | { readonly kind: "mistakes"; readonly mistakes: readonly string[] }
  /** It cannot be done here or now. */
  | { readonly kind: "refused"; readonly why: string };

/** A reload that was asked for. */
export type PastReload = Actor & {
  /** ISO 8601. */
  readonly at: string;
  readonly outcome: Reloaded["kind"];
  /** What was changed, what is wrong with the file, or why it was refused; without secrets. */
  readonly lines: readonly string[];
};

/** What a text would do in the place of the configuration. */
export type Checked = {
  readonly mistakes: readonly string[];
  /** What would change, a line each; secrets are not shown. */
  readonly changed: readonly string[];
};

export type ShownConfiguration = {
  readonly path?: string;
  /** Without secrets; undefined where it is not known what in it is one, or there is no file. */
  readonly text?: string;
  /** Of the file as it is now, for this process alone: of a hash of secrets these could be guessed. */
  readonly version?: string;
  /** undefined: it can be replaced here. */
  readonly whyNotWritable?: string;
  /** What a reload would do now: nothing where the file is what runs. */
  readonly pending: Checked;
  /** The newest first. */
  readonly reloads: readonly PastReload[];
};

export type FileReplaced =
  | (Extract<Reloaded, { kind: "reloaded" }> & { readonly version: string })
  | Exclude<Reloaded, { kind: "reloaded" }>
  /** Somebody else wrote it since it was looked at. */
  | { readonly kind: "changed meanwhile" };

type ConfigurationFile = {
  shown(): Promise<ShownConfiguration>;
  /** In the text what is hidden stands for itself. Nothing is done. */
  validate(text: string): Promise<Checked>;
  /**
   * Replaces the file and reloads; where that is refused, the file is as it was. Never rejects.
   *
   * @param asked.version Of the file that the text was made from.
   */
  apply(
    asked: { readonly text: string; readonly version: string },
    by: Actor,
  ): Promise<FileReplaced>;
};

/** An operator spares a node, or does so no longer. */
export type NodeDrain = {
  readonly network: string;
  readonly upstream: string;
  readonly isDrained: boolean;
};

export type AdminServerParts = {
  readonly metrics: Pick<Metrics, "exposition" | "values" | "contentType" | "adminRefused"> & {
    certificateExpires(port: "admin", atMs: number): void;
  };
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
  /** Calls that operators make as one of the keys. */
  readonly trials: Pick<CallTrials, "try" | "describe">;
  /** What nodes were caught at, and reorganisations, of late; of each process. */
  readonly incidents: () => Promise<readonly NetworkIncidents[]>;
  /** @returns Whether there is such a node. */
  readonly drain: (node: NodeDrain) => Promise<boolean>;
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

/** The socket's: a caller behind a proxy is seen as that proxy. */
export const addressOf = ({ env }: AdminContext): string =>
  plainAddress(env?.incoming?.socket.remoteAddress ?? "") ?? "unknown";

/** What admission looks at. */
export const requestOf = ({ req, env }: AdminContext): AdminRequest => ({
  verb: req.method,
  header: (name) => req.header(name),
  isEncrypted: env?.incoming !== undefined && "encrypted" in env.incoming.socket,
});

/** The body as an object; nothing at all is an empty one. @throws Problem */
export async function readBody(context: AdminContext): Promise<Readonly<Record<string, unknown>>> {
  const text = await context.req.text();
  if (text.length === 0) return {};
  if (!isJson(context.req.header("content-type"))) throw problems.notJson();
  const value = parse(text);
  if (!isMapping(value)) throw problems.malformed(undefined);
  return value;
}

/** The body as a schema reads it. @throws Problem with its mistakes */
export async function readBodyAs<Schema extends z.ZodType>(
  context: AdminContext,
  schema: Schema,
): Promise<z.output<Schema>> {
  const read = schema.safeParse(await readBody(context));
  if (read.success) return read.data;
  throw mistakesIn(read.error, "the body");
}

/** @param whole What is wrong where an issue has no path. */
export const mistakesIn = ({ issues }: z.ZodError, whole: string): Problem =>
  problems.mistakes(issues.map(({ path, message }) => `${path.join(".") || whole}: ${message}`));

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
  const { upstream, head, lagBlocks, lagSeconds, isElsewhere, isDrained } = snapshot;
  const { inFlight, lackedMethods, lacked, reaches } = snapshot;
  const { perSecond, pausedForMs, monthUsed, monthLeft } = snapshot.budget;
  return {
    upstream,
    isUsable,
    head,
    lagBlocks,
    lagSeconds,
    isElsewhere,
    isDrained,
    inFlight,
    lackedMethods,
    ...(lacked && { lacked: [...lacked] }),
    ...(reaches && { reaches }),
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
