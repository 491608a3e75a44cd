// Traces of calls, over the real process, a real node, and a collector that parses its requests: the attempts of a
// call, and its place in its caller's trace.
import { once } from "node:events";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { post } from "../support/ask.ts";
import { startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import type { CollectedSpan } from "../support/trace-collector.ts";
import { COLLECTOR_TOKEN, callersTrace, TracedGateway } from "./traced-nodes.ts";

let traced: TracedGateway;

const KEY = "test-key";
beforeAll(async () => {
  traced = await TracedGateway.start();
});
afterAll(() => traced.close());
beforeEach(() => traced.reset());

const rootOf = (spans: readonly CollectedSpan[]) =>
  spans.find(({ kind }) => kind === "SPAN_KIND_SERVER");
const attemptsIn = (spans: readonly CollectedSpan[]) =>
  spans
    .filter(({ kind }) => kind === "SPAN_KIND_CLIENT")
    .sort((one, other) => one.startMs - other.startMs);

type Span = CollectedSpan | undefined;

const nodesIn = (spans: readonly Span[]) =>
  spans.map((span) => span?.attributes["headgate.upstream"]);
const frontOf = (span: Span) =>
  traced.nodes.fronts[span?.attributes["headgate.upstream"] as "first" | "second"];

describe("the trace of a call", () => {
  it("stands in its caller's, and shows both nodes that were asked, who are told where they stand", async () => {
    traced.nodes.once.holds = "eth_getBalance";
    const { traceId, headers } = callersTrace("01");
    const before = Date.now();
    expect(
      await traced.send(traced.call("eth_getBalance", "x".repeat(500)), headers),
    ).toHaveProperty("result");
    const spans = await traced.collector.trace(traceId, 3);
    const root = rootOf(spans);
    expect(root).toMatchObject({
      ...{ name: "eth_getBalance", parentSpanId: "b".repeat(16), traceState: "app=7" },
      ...{ status: "STATUS_CODE_UNSET", events: ["authorized", "charged"] },
      attributes: {
        ...{ "rpc.system": "jsonrpc", "rpc.system.name": "jsonrpc" },
        ...{ "rpc.method": "eth_getBalance", "jsonrpc.request.id": `"${"x".repeat(63)}` },
        ...{ "headgate.network": "main", "headgate.key": "test", "headgate.outcome": "ok" },
        ...{ "headgate.source": "upstream", "headgate.proof": "none" },
        "headgate.compute_units": "2",
      },
      resource: {
        ...{ "service.name": "headgate", "service.version": expect.stringMatching(/^\d/) },
        "service.instance.id": expect.stringMatching(/./),
        "deployment.environment.name": "test",
      },
    });
    expect(root?.startMs).toBeGreaterThan(before - 2);
    expect(root?.endMs).toBeGreaterThanOrEqual((root?.startMs ?? 0) + 20);
    const [first, second] = attemptsIn(spans);
    expect(first?.attributes).toMatchObject({
      "headgate.attempt.outcome": "outrun",
    });
    expect(second?.attributes).toMatchObject({
      ...{ "headgate.attempt.why": "slow", "headgate.attempt.outcome": "result" },
    });
    expect(nodesIn([first, second]).sort()).toEqual(["first", "second"]);
    for (const span of [first, second]) {
      const front = frontOf(span);
      expect(span?.parentSpanId).toBe(root?.spanId);
      const asked = front.asked.filter(({ method }) => method === "eth_getBalance");
      expect(asked.map(({ headers: sent }) => [sent["traceparent"], sent["tracestate"]])).toEqual([
        [`00-${traceId}-${span?.spanId}-01`, "app=7"],
      ]);
    }
    expect(JSON.stringify(spans)).not.toContain(KEY);
    expect(traced.collector.headers.at(-1)).toMatchObject({ "x-collector-token": COLLECTOR_TOKEN });
    expect(traced.gateway.log.find((line) => line["trace_id"] === traceId)).toMatchObject({
      ...{ msg: "call", span_id: root?.spanId, method: "eth_getBalance" },
    });
  });

  it("shows the node that failed, and the one that was asked then", async () => {
    traced.nodes.once.fails = "eth_getTransactionCount";
    const { traceId, headers } = callersTrace("01");
    await traced.send(traced.call("eth_getTransactionCount"), headers);
    const [first, second] = attemptsIn(await traced.collector.trace(traceId, 3));
    expect(first).toMatchObject({
      status: "STATUS_CODE_ERROR",
      attributes: { "error.type": "failed" },
    });
    expect(nodesIn([first, second]).sort()).toEqual(["first", "second"]);
    expect(second?.attributes).toMatchObject({
      ...{ "headgate.attempt.why": "failed", "headgate.attempt.outcome": "result" },
    });
  });

  it("is not sent when its caller decided so, and nodes are told; unless the call fails", async () => {
    const { traceId, headers } = callersTrace("00");
    await traced.send(traced.call("eth_getCode"), headers);
    expect(traced.askedFor("eth_getCode")).toEqual([
      expect.stringMatching(new RegExp(`^00-${traceId}-[0-9a-f]{16}-00$`)),
    ]);
    for (const front of Object.values(traced.nodes.fronts)) front.fails = "eth_gasPrice";
    const other = callersTrace("00");
    await traced.send(traced.call("eth_gasPrice"), other.headers);
    const root = rootOf(await traced.collector.trace(other.traceId, 2));
    expect(root).toMatchObject({
      status: "STATUS_CODE_ERROR",
      attributes: { "error.type": "unavailable", "rpc.response.status_code": "-32603" },
    });
    expect(traced.gateway.log.filter((line) => line["trace_id"] === other.traceId)).toContainEqual(
      expect.objectContaining({ level: 50 }),
    );
    expect(traced.collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
  });

  it("of a batch holds its members together", async () => {
    const { traceId, headers } = callersTrace("01");
    await traced.send(
      [traced.call("eth_chainId", 1), traced.call("eth_getCode", 2), { id: 3 }],
      headers,
    );
    const spans = await traced.collector.trace(traceId, 4);
    const batch = spans.find(({ name }) => name === "batch");
    expect(batch).toMatchObject({
      parentSpanId: "b".repeat(16),
      attributes: { "headgate.batch.members": "3" },
    });
    for (const name of ["eth_chainId", "eth_getCode"])
      expect(spans.filter((span) => span.parentSpanId === batch?.spanId)).toContainEqual(
        expect.objectContaining({ name }),
      );
  });

  it("of a socket's message begins with it, and points to where the socket was opened", async () => {
    const { traceId, headers } = callersTrace("01");
    for (const front of Object.values(traced.nodes.fronts)) front.fails = "eth_gasPrice";
    const socket = new WebSocket(traced.gateway.endpoint("main").replace("http:", "ws:"), {
      headers,
    });
    socket.on("open", () => socket.send(JSON.stringify(traced.call("eth_gasPrice", 99))));
    await once(socket, "message");
    socket.terminate();
    const root = await until("the trace is there", async () =>
      traced.collector.spans.find(({ attributes }) => attributes["jsonrpc.request.id"] === "99"),
    );
    expect(root).toMatchObject({ parentSpanId: "", links: [`${traceId}-${"b".repeat(16)}`] });
    expect(root.traceId).not.toBe(traceId);
  });

  it("has no method that only its caller knows as its name", async () => {
    const { traceId, headers } = callersTrace("01");
    await traced.send(traced.call(`eth_${"invented".repeat(9)}`), headers);
    expect(await traced.collector.trace(traceId, 1)).toMatchObject([{ name: "other" }]);
  });
});

describe("the packages that traces are made of", () => {
  const HOOK = new URL("../support/loaded-modules.mjs", import.meta.url).href;
  const loadedBy = async (tracing: object | undefined) => {
    const own = await startGatewayProcess(traced.nodes.settingsWith(tracing), {
      NODE_OPTIONS: `--import ${HOOK}`,
      HEADGATE_UNBUNDLED: "1",
    });
    const body = JSON.stringify(traced.call("eth_chainId"));
    await post(own.endpoint("main"), body, callersTrace("01").headers);
    if (tracing)
      await until("a trace is sent", async () => traced.collector.headers.length > requests);
    expect(await own.stop()).toBe(0);
    return own.log.map(({ ["url"]: url }) => String(url)).filter((url) => SDK.test(url));
  };
  const SDK = /node_modules\/@opentelemetry\/(?!api\/)/;
  let requests = 0;

  it("are loaded where traces are configured, and only there", async () => {
    requests = traced.collector.headers.length;
    expect(await loadedBy(undefined)).toEqual([]);
    expect((await loadedBy({ endpoint: traced.collector.url, sample: 1 })).length).toBeGreaterThan(
      5,
    );
  });
});
