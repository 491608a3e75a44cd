// Turns stories into OpenTelemetry spans, and sends them to a collector over OTLP. Loaded only if tracing is
// configured: its packages take time and memory.
import { Agent as HttpAgent } from "node:http";
import { Agent as HttpsAgent } from "node:https";
import {
  type Attributes,
  createTraceState,
  type HrTime,
  type Link,
  type SpanContext,
  SpanKind,
  type SpanStatus,
  SpanStatusCode,
  TraceFlags,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { resourceFromAttributes } from "@opentelemetry/resources";
import type { AttemptStory, Story } from "./story.ts";
import type { RemoteContext, TraceContext } from "./trace-context.ts";
import type { SpanExporter, TraceSenderOptions } from "./trace-sender.ts";

type ReadableSpan = Parameters<OTLPTraceExporter["export"]>[0][number];
type Resource = ReadableSpan["resource"];

const SCOPE = { name: "headgate" };

/** One request to the collector, and a previous one that is being aborted. */
const MOST_AT_ONCE = 2;

/** Makes an exporter. Never throws for options that the configuration allows. */
export function spanExporter(options: TraceSenderOptions): SpanExporter {
  const { url, headers, timeoutMs, service, attributes, version, instance } = options;
  const resource = resourceFromAttributes({
    "service.name": service,
    "service.version": version,
    "service.instance.id": instance,
    ...attributes,
  });
  const Agent = url.startsWith("https:") ? HttpsAgent : HttpAgent;
  const agent = new Agent({ keepAlive: true, maxSockets: MOST_AT_ONCE });
  const exporter = new OTLPTraceExporter({
    url,
    headers: { ...headers },
    timeoutMillis: timeoutMs,
    concurrencyLimit: MOST_AT_ONCE,
    httpAgentOptions: () => agent,
  });
  return {
    send: (stories) =>
      new Promise((resolve) => {
        const spans = stories.flatMap((story) => spansOf(story, resource));
        exporter.export(spans, ({ code, error }) =>
          resolve(code === 0 ? undefined : reasonOf(error)),
        );
      }),
    cut: () => agent.destroy(),
  };
}

/** The reason why sending failed. The collector's own text may be anything, so it is not logged. */
function reasonOf(error: Error | undefined): string {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  if (typeof code === "number") return `HTTP ${code}`;
  return typeof code === "string" ? code : "no answer in time";
}

/** The span of the call, and one within it for each attempt; none if the call is not traced. */
export function spansOf(story: Story, resource: Resource): readonly ReadableSpan[] {
  const { trace } = story.options;
  if (!trace) return [];
  const timeOf = (at: number): HrTime => hrTimeOf(story.begunAtWallMs + (at - story.begunAt));
  const endedAt = story.endedAt ?? story.begunAt;
  const call = {
    name: story.end?.method ?? "other",
    kind: SpanKind.SERVER,
    trace,
    from: timeOf(story.begunAt),
    to: timeOf(endedAt),
    status: statusOf(story),
    attributes: attributesOf(story),
    links: linksOf(story.options.opener),
    events: story.steps.map(({ step, at }) => ({ name: step, time: timeOf(at) })),
  };
  const attempts = story.attempts.map((attempt) => ({
    name: attempt.method,
    kind: SpanKind.CLIENT,
    trace: attempt.trace ?? trace,
    from: timeOf(attempt.begunAt),
    // An attempt without an end was slower than another one, and is still running.
    to: timeOf(attempt.endedAt ?? Math.max(endedAt, attempt.begunAt)),
    status: attemptStatusOf(attempt),
    attributes: attemptAttributesOf(attempt, story),
    links: [],
    events: [],
  }));
  return [call, ...attempts].map((span) => readable(span, resource));
}

type SpanParts = Pick<ReadableSpan, "name" | "kind" | "status" | "attributes" | "links"> &
  Pick<ReadableSpan, "events"> & {
    readonly trace: TraceContext;
    readonly from: HrTime;
    readonly to: HrTime;
  };

function readable({ trace, from, to, ...rest }: SpanParts, resource: Resource): ReadableSpan {
  const context = contextOf(trace, false);
  const { parent } = trace;
  return {
    ...rest,
    spanContext: () => context,
    ...(parent && { parentSpanContext: contextOf(parent, !("parent" in parent)) }),
    startTime: from,
    endTime: to,
    duration: [0, 0], // not sent
    ended: true,
    resource,
    instrumentationScope: SCOPE,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  };
}

/** @param isRemote Whether another program began the span. */
const contextOf = (
  { traceId, spanId, isSampled, state }: RemoteContext,
  isRemote: boolean,
): SpanContext => ({
  traceId,
  spanId,
  isRemote,
  traceFlags: isSampled ? TraceFlags.SAMPLED : TraceFlags.NONE,
  ...(state !== undefined && { traceState: createTraceState(state) }),
});

const linksOf = (opener: RemoteContext | undefined): Link[] =>
  opener ? [{ context: contextOf(opener, true) }] : [];

/** Attributes by OpenTelemetry's conventions for JSON-RPC. Names come from the configuration and the catalogue. */
function attributesOf({ options, end, attemptsLeftOut }: Story): Attributes {
  if (!end) return {};
  const { method, id, outcome, code, source, proof, block, computeUnits, bytes, members } = end;
  return withoutUnknown({
    "rpc.system": "jsonrpc", // the older convention, which most tools expect
    "rpc.system.name": "jsonrpc",
    "rpc.method": method,
    "jsonrpc.protocol.version": "2.0",
    "jsonrpc.request.id": members === undefined ? id : undefined,
    "rpc.response.status_code": code === undefined ? undefined : String(code),
    "error.type": outcome === "ok" || outcome === "refused" ? undefined : outcome,
    "headgate.network": options.network,
    "headgate.key": options.key,
    "headgate.request": options.requestId,
    "headgate.outcome": outcome,
    "headgate.source": source,
    "headgate.proof": proof,
    "headgate.block": block?.number,
    "headgate.compute_units": computeUnits,
    "headgate.answer.bytes": bytes,
    "headgate.batch.members": members,
    "headgate.attempts.left_out": attemptsLeftOut === 0 ? undefined : attemptsLeftOut,
  });
}

const attemptAttributesOf = (
  { method, upstream, why, outcome }: AttemptStory,
  { options }: Story,
): Attributes =>
  withoutUnknown({
    "rpc.system": "jsonrpc",
    "rpc.system.name": "jsonrpc",
    "rpc.method": method,
    "rpc.response.status_code": outcome?.code === undefined ? undefined : String(outcome.code),
    "error.type": outcome && FAILED.has(outcome.kind) ? outcome.kind : undefined,
    "headgate.network": options.network,
    "headgate.upstream": upstream,
    "headgate.attempt.why": why,
    "headgate.attempt.outcome": outcome?.kind ?? "outrun",
  });

const withoutUnknown = (attributes: Attributes): Attributes =>
  Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));

/** A caller's mistake, or a node's refusal, is not an error of the gateway. */
const statusOf = ({ end }: Story): SpanStatus =>
  end?.outcome === "failed" || end?.outcome === "unavailable"
    ? { code: SpanStatusCode.ERROR, message: end.outcome }
    : { code: SpanStatusCode.UNSET };

const FAILED: ReadonlySet<string> = new Set(["failed", "timeout", "busy", "occupied"]);

const attemptStatusOf = ({ outcome }: AttemptStory): SpanStatus =>
  outcome && FAILED.has(outcome.kind)
    ? { code: SpanStatusCode.ERROR, message: outcome.reason ?? outcome.kind }
    : { code: SpanStatusCode.UNSET };

const NANOSECONDS = 1_000_000;

/** @param wallMs Milliseconds since 1970. @returns Seconds and nanoseconds. */
function hrTimeOf(wallMs: number): HrTime {
  const seconds = Math.floor(wallMs / 1_000);
  return [seconds, Math.round((wallMs - seconds * 1_000) * NANOSECONDS)];
}
