import { describe, expect, it } from "vitest";
import { parseConfig } from "./parse-config.ts";

const NETWORKS = {
  main: { family: "evm", chainId: 1, upstreams: [{ url: "http://127.0.0.1:1" }] },
};

const parsed = (tracing: unknown, environment: Record<string, string> = {}) => {
  const settings = { networks: NETWORKS, ...(tracing === undefined ? {} : { tracing }) };
  return parseConfig(JSON.stringify(settings), environment);
};
const tracingOf = (tracing: unknown, environment?: Record<string, string>) => {
  const read = parsed(tracing, environment);
  return read.kind === "config" ? read.config.tracing : read.mistakes;
};

describe("where traces go", () => {
  it("is nowhere, unless something says so", () => {
    expect(tracingOf(undefined)).toBeUndefined();
    expect(tracingOf(undefined, { OTEL_SERVICE_NAME: "x" })).toBeUndefined();
  });

  it("has a default for all but the collector", () => {
    expect(tracingOf({ endpoint: "http://127.0.0.1:4318" })).toEqual({
      ...{ url: "http://127.0.0.1:4318/v1/traces", headers: {}, timeoutMs: 10_000, queue: 2_048 },
      ...{ sample: 0.01, followsCallers: true, failed: true, slowMs: 5_000, tellsUpstreams: true },
      ...{ service: "headgate", attributes: {} },
    });
  });

  it.each([
    ["https://c.example/", "https://c.example/v1/traces"],
    ["https://c.example/otlp", "https://c.example/otlp"],
  ])("%s is asked at %s", (endpoint, url) => {
    expect(tracingOf({ endpoint })).toMatchObject({ url });
  });

  it.each([
    [
      {},
      /^tracing\.endpoint: .*http:\/\/127\.0\.0\.1:4318, here or in OTEL_EXPORTER_OTLP_ENDPOINT/,
    ],
    [{ endpoint: "127.0.0.1:4318" }, /^tracing\.endpoint: .*expected a URL/],
    [{ endpoint: "grpc://a" }, /^tracing\.endpoint: .*expected a URL/],
    [{ endpoint: "http://a", sample: 2 }, /^tracing\.sample: .*expected a number from 0 to 1/],
    [{ endpoint: "http://a", protocol: "grpc" }, /^tracing\.protocol: .*expected http\/protobuf/],
    [
      { endpoint: "http://a", headers: { "a b": "c" } },
      /^tracing\.headers: .*not a valid header name/,
    ],
  ])("mistakes of %j are told in a line", (tracing, line) => {
    expect(tracingOf(tracing)).toEqual([expect.stringMatching(line)]);
  });
});

it("a mistake shows no value that a key may be in", () => {
  for (const tracing of [
    { endpoint: "collector:12345678" },
    { endpoint: "http://a", headers: { "x-team": 12345678 } },
  ]) {
    const mistakes = tracingOf(tracing);
    expect(mistakes).toHaveLength(1);
    expect(JSON.stringify(mistakes)).not.toContain("12345678");
  }
});

describe("OpenTelemetry's variables", () => {
  it("say all that the file may", () => {
    expect(
      tracingOf(undefined, {
        OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/",
        OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20x, x-tenant=a=b",
        OTEL_EXPORTER_OTLP_TIMEOUT: "2500",
        OTEL_EXPORTER_OTLP_PROTOCOL: "http/protobuf",
        OTEL_SERVICE_NAME: "gateway",
        OTEL_RESOURCE_ATTRIBUTES: "deployment.environment.name=prod,team=",
        OTEL_TRACES_SAMPLER: "parentbased_traceidratio",
        OTEL_TRACES_SAMPLER_ARG: "0.25",
      }),
    ).toMatchObject({
      url: "http://collector:4318/v1/traces",
      headers: { authorization: "Bearer x", "x-tenant": "a=b" },
      ...{ timeoutMs: 2_500, service: "gateway", sample: 0.25, followsCallers: true },
      attributes: { "deployment.environment.name": "prod", team: "" },
    });
  });

  it("of traces go before those of all that is exported, and the file before both", () => {
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://all",
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://traces/own",
      OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
      OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "http/protobuf",
    };
    expect(tracingOf(undefined, environment)).toMatchObject({ url: "http://traces/own" });
    expect(tracingOf({ endpoint: "http://file" }, environment)).toMatchObject({
      url: "http://file/v1/traces",
    });
    expect(tracingOf({ sample: 1 }, environment)).toMatchObject({ sample: 1 });
  });

  it.each([
    ["always_on", { sample: 1, followsCallers: false }],
    ["always_off", { sample: 0, followsCallers: false }],
    ["parentbased_always_on", { sample: 1, followsCallers: true }],
    ["jaeger_remote", [expect.stringMatching(/^tracing\.sample: /)]],
  ])("sampler %s", (sampler, expected) => {
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://a", OTEL_TRACES_SAMPLER: sampler };
    const told = tracingOf(undefined, environment);
    if (Array.isArray(expected)) expect(told).toEqual(expected);
    else expect(told).toMatchObject(expected);
  });

  it.each([{ OTEL_SDK_DISABLED: "true" }, { OTEL_TRACES_EXPORTER: "none" }])(
    "%j: nothing is traced",
    (more) => {
      const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://a", ...more } as Record<
        string,
        string
      >;
      expect(tracingOf(undefined, environment)).toBeUndefined();
    },
  );
});
