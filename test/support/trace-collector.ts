// A collector of traces: takes OTLP over HTTP, and reads its protobuf with the decoder that was generated from the
// protocol's own definition. It may also answer slowly, at length, or with errors.
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import root from "@opentelemetry/otlp-proto-exporter-base/build/src/generated/root.js";
import { until } from "./processes.ts";

/** A value as the decoder gives it. */
type Message = { readonly [name: string]: unknown };

type Decoder = {
  decode(bytes: Uint8Array): object;
  toObject(message: object, options: object): Message;
};

const { ExportTraceServiceRequest } = (
  root as unknown as {
    opentelemetry: {
      proto: { collector: { trace: { v1: { ExportTraceServiceRequest: Decoder } } } };
    };
  }
).opentelemetry.proto.collector.trace.v1;

type Attributes = Readonly<Record<string, unknown>>;

export type CollectedSpan = {
  readonly name: string;
  readonly kind: string;
  readonly traceId: string;
  readonly spanId: string;
  /** Empty: the span has none. */
  readonly parentSpanId: string;
  readonly traceState: string;
  readonly startMs: number;
  readonly endMs: number;
  readonly status: string;
  readonly attributes: Attributes;
  readonly events: readonly string[];
  readonly links: readonly string[];
  readonly resource: Attributes;
};

export type TraceCollector = {
  readonly url: string;
  readonly spans: readonly CollectedSpan[];
  /** The headers of each request. */
  readonly headers: readonly NodeJS.Dict<string | string[]>[];
  /** Answers the requests from now on. */
  answer: (response: ServerResponse) => void;
  /** The spans of a trace, once so many have come. */
  trace(traceId: string, spans: number): Promise<readonly CollectedSpan[]>;
  close(): Promise<void>;
};

export const taken = (response: ServerResponse): void => void response.writeHead(200).end();

export async function startTraceCollector(port = 0): Promise<TraceCollector> {
  const spans: CollectedSpan[] = [];
  const headers: NodeJS.Dict<string | string[]>[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    if (request.url !== "/v1/traces" || request.method !== "POST")
      return void response.writeHead(404).end();
    headers.push(request.headers);
    if (collector.answer === taken) spans.push(...spansIn(Buffer.concat(chunks)));
    collector.answer(response);
  });
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const collector: TraceCollector = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    spans,
    headers,
    answer: taken,
    trace: (traceId, count) =>
      until(`the collector has ${count} spans of ${traceId}`, async () => {
        const found = spans.filter((span) => span.traceId === traceId);
        return found.length >= count && found;
      }),
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
  return collector;
}

function spansIn(body: Buffer): readonly CollectedSpan[] {
  const request = ExportTraceServiceRequest.toObject(ExportTraceServiceRequest.decode(body), {
    longs: String,
    enums: String,
    bytes: Buffer,
    defaults: true,
  });
  return listOf(request["resourceSpans"]).flatMap(({ resource, scopeSpans }) =>
    listOf(scopeSpans).flatMap(({ spans }) =>
      listOf(spans).map((span) => ({
        name: String(span["name"]),
        kind: String(span["kind"]),
        traceId: hex(span["traceId"]),
        spanId: hex(span["spanId"]),
        parentSpanId: hex(span["parentSpanId"]),
        traceState: String(span["traceState"]),
        startMs: Number(span["startTimeUnixNano"]) / 1e6,
        endMs: Number(span["endTimeUnixNano"]) / 1e6,
        status: String((span["status"] as Message)["code"]),
        attributes: attributesIn(span["attributes"]),
        events: listOf(span["events"]).map(({ name }) => String(name)),
        links: listOf(span["links"]).map(({ traceId, spanId }) => `${hex(traceId)}-${hex(spanId)}`),
        resource: attributesIn((resource as Message)["attributes"]),
      })),
    ),
  );
}

const listOf = (value: unknown): readonly Message[] => value as readonly Message[];
const hex = (value: unknown): string => (value as Buffer).toString("hex");

const attributesIn = (list: unknown): Attributes =>
  Object.fromEntries(
    listOf(list).map(({ key, value }) => {
      const { stringValue, intValue, doubleValue, boolValue } = value as Message;
      return [key, stringValue ?? intValue ?? doubleValue ?? boolValue];
    }),
  );
