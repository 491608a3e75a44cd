// The settings of the tail of slow and failed calls, and of tracing. OpenTelemetry's variables fill in the settings of
// tracing that the file leaves out.
import { z } from "zod";
import type { Environment } from "./setting-names.ts";
import {
  amount,
  decoded,
  duration,
  isMapping,
  mappingOf,
  textOf,
  trueOrFalse,
  wholeNumber,
} from "./units.ts";

/** The tail: slow and failed calls that operators can look at. */
export const tail = z
  .strictObject({
    calls: wholeNumber(0, 10_000)
      .prefault(0)
      .describe("The number of slow and failed calls that each process keeps; 0: none."),
    slow: duration.prefault("1s").describe("Calls that take at least this long are slow."),
  })
  .transform(({ calls, slow }) => ({ calls, slowMs: slow }));

const isHttpUrl = (text: string): boolean => /^https?:$/.test(URL.parse(text)?.protocol ?? "");

const endpointExpected =
  "expected a URL such as http://127.0.0.1:4318, here or in OTEL_EXPORTER_OTLP_ENDPOINT";

/** The collector of traces, and the calls that are traced. */
export const tracing = z
  .strictObject({
    endpoint: z
      .string({ error: endpointExpected })
      .refine(isHttpUrl, { error: endpointExpected })
      .describe(
        "The URL of the collector, to which traces are sent as OTLP over HTTP; /v1/traces is added to a URL without a path.",
      ),
    protocol: z
      .literal("http/protobuf", { error: "expected http/protobuf, the only supported protocol" })
      .prefault("http/protobuf")
      .describe("The protocol of the collector; there is no other."),
    headers: mappingOf(
      /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/,
      z.string({ error: "expected a text" }),
      "one of the names is not a valid header name",
    )
      .prefault({})
      .describe("Headers of each request to the collector, such as a token; never shown."),
    sample: amount(0, 1)
      .prefault(0.01)
      .describe("The share of the calls without a caller's trace that is traced; 1: all."),
    callers: trueOrFalse
      .prefault(true)
      .describe(
        "Whether a caller that sends a trace (`traceparent`) decides whether its calls are traced.",
      ),
    failed: trueOrFalse
      .prefault(true)
      .describe("Whether every call that the gateway or its upstreams failed is traced."),
    slow: duration
      .prefault("5s")
      .describe("Calls that take at least this long are traced in any case."),
    upstreams: trueOrFalse
      .prefault(true)
      .describe(
        "Whether the gateway sends `traceparent` and `tracestate` to upstreams, over HTTP.",
      ),
    queue: wholeNumber(1, 100_000)
      .prefault(2_048)
      .describe(
        "The most traced calls that wait to be sent, in each process; further ones are dropped.",
      ),
    timeout: duration.prefault("10s").describe("The time for the collector to accept a request."),
    service: textOf(/^.{1,128}$/, "1 to 128 characters")
      .prefault("headgate")
      .describe("The `service.name` of the traces."),
    attributes: z
      .record(z.string(), z.string({ error: "expected a text" }))
      .prefault({})
      .describe(
        "Further attributes of the gateway in its traces, such as `deployment.environment.name`.",
      ),
  })
  .transform(({ endpoint, slow, timeout, callers, upstreams, protocol: _, ...rest }) => {
    const url = new URL(endpoint);
    if (url.pathname === "/") url.pathname = "/v1/traces";
    const told = { followsCallers: callers, tellsUpstreams: upstreams };
    return { ...rest, ...told, url: url.href, slowMs: slow, timeoutMs: timeout };
  });

/** Adds the settings of OpenTelemetry's variables to `tracing`; written settings win. */
export function withTracingVariables(settings: unknown, variables: Environment): unknown {
  const said = tracingIn(variables);
  if (!isMapping(settings)) return settings;
  const { tracing: written } = settings;
  const isOn = written !== undefined || said["endpoint"] !== undefined;
  if (!isOn || (written !== undefined && !isMapping(written))) return settings;
  return { ...settings, tracing: { ...said, ...written } };
}

function tracingIn(variables: Environment): Record<string, unknown> {
  const named = (name: string): string | undefined => variables[name]?.trim() || undefined;
  // The variable for traces wins over the one for all signals.
  const exported = (name: string): string | undefined =>
    named(`OTEL_EXPORTER_OTLP_TRACES_${name}`) ?? named(`OTEL_EXPORTER_OTLP_${name}`);
  const isOff =
    named("OTEL_SDK_DISABLED")?.toLowerCase() === "true" ||
    named("OTEL_TRACES_EXPORTER") === "none";
  const base = named("OTEL_EXPORTER_OTLP_ENDPOINT")?.replace(/\/+$/, "");
  const timeout = exported("TIMEOUT");
  const said = {
    endpoint: isOff
      ? undefined
      : (named("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") ?? (base && `${base}/v1/traces`)),
    protocol: exported("PROTOCOL"),
    timeout: timeout && `${timeout}ms`,
    headers: pairsIn(exported("HEADERS")),
    service: named("OTEL_SERVICE_NAME"),
    attributes: pairsIn(named("OTEL_RESOURCE_ATTRIBUTES")),
    ...samplingIn(named("OTEL_TRACES_SAMPLER"), named("OTEL_TRACES_SAMPLER_ARG")),
  };
  return Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
}

/** The settings of a sampler. An unknown one gets NaN as its share, which the schema reports. */
function samplingIn(sampler: string | undefined, argument = "1") {
  if (sampler === undefined) return {};
  const [, parent, name] = /^(parentbased_)?(\w+)$/.exec(sampler) ?? [];
  const shares: Readonly<Record<string, number>> = {
    always_on: 1,
    always_off: 0,
    traceidratio: Number(argument),
  };
  return { sample: shares[name ?? ""] ?? Number.NaN, callers: parent !== undefined };
}

/** Reads `name=value,…` with percent-encoded values. */
function pairsIn(text: string | undefined): Record<string, string> | undefined {
  if (text === undefined) return undefined;
  const pairs = text.split(",").map((pair) => {
    const at = pair.indexOf("=");
    return [pair.slice(0, at).trim(), decoded(pair.slice(at + 1).trim())] as const;
  });
  return Object.fromEntries(pairs.filter(([name]) => name.length > 0));
}
