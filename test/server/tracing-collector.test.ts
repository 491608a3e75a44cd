// A collector of traces is in nobody's way, whatever it does: while calls are answered, over a reload, and at the end.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readGauge } from "../faults/watch.ts";
import { post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { startTraceCollector, type TraceCollector, taken } from "../support/trace-collector.ts";
import { callersTrace, startTracedNodes, type TracedNodes } from "./traced-nodes.ts";

let nodes: TracedNodes;
let collector: TraceCollector;
let gateway: RunningGateway;

const TOKEN = "a-token-for-the-collector";
const TRACING = () => ({
  endpoint: collector.url,
  headers: { "x-collector-token": TOKEN },
  sample: 0,
  slow: "1h",
  timeout: "2s",
  attributes: { "deployment.environment.name": "test" },
});

beforeAll(async () => {
  nodes = await startTracedNodes();
  collector = await startTraceCollector();
  gateway = await startGatewayProcess(nodes.settingsWith(TRACING()));
});
afterAll(async () => {
  await gateway.stop();
  await collector.close();
  nodes.close();
});
beforeEach(() => {
  nodes.reset();
  collector.answer = taken;
});

const call = (method: string, id: number | string = 1) => ({
  ...{ jsonrpc: "2.0", id, method },
  params: method === "eth_gasPrice" ? [] : [nodes.anvil.sender, "latest"],
});
const send = async (body: object, headers: Record<string, string> = {}) =>
  (await post(gateway.endpoint("main"), JSON.stringify(body), headers)).json() as Promise<unknown>;

/** What the nodes were sent of traces with calls of the method. */
const askedFor = (wanted: string) =>
  Object.values(nodes.fronts)
    .flatMap(({ asked }) => asked)
    .filter(({ method }) => method === wanted)
    .map(({ headers }) => headers["traceparent"]);

const outcomes = (outcome: string): Promise<number> =>
  readGauge(gateway, "headgate_traces_total", `outcome="${outcome}"`);

describe("a collector", () => {
  it("that refuses, answers without end or not at all, keeps nobody waiting: its traces are counted", async () => {
    const refusing: TraceCollector["answer"] = (response) => void response.writeHead(400).end();
    const endless: TraceCollector["answer"] = (response) => {
      response.writeHead(200);
      const more = (): boolean => response.write(Buffer.alloc(65_536)) && more();
      response.on("drain", more);
      more();
    };
    for (const answer of [refusing, endless, () => undefined]) {
      collector.answer = answer;
      const before = await outcomes("failed");
      const sentAt = Date.now();
      await send(call("eth_chainId"), callersTrace("01").headers);
      expect(Date.now() - sentAt).toBeLessThan(1_000);
      await until("it is counted", async () => (await outcomes("failed")) === before + 1);
    }
    const told = gateway.log.filter(({ msg }) => msg?.startsWith("traces do not reach"));
    expect(told).toMatchObject([{ level: 40, why: "HTTP 400" }]);
    collector.answer = taken;
    const { traceId, headers } = callersTrace("01");
    await send(call("eth_chainId"), headers);
    await collector.trace(traceId, 1);
  });

  it("may be changed by a reload, and traces may be turned off", async () => {
    const other = await startTraceCollector();
    await gateway.reload(nodes.settingsWith({ endpoint: other.url, sample: 1, queue: 5 }));
    await send(call("eth_chainId"));
    await until("it is sent there", async () => other.spans.length === 1);
    await other.close();
    // Away: what comes beyond the queue is dropped while the sender tries again.
    for (let time = 0; time < 12; time += 1) await send(call("eth_chainId"));
    expect(await outcomes("dropped")).toBeGreaterThanOrEqual(7);
    const changed = await gateway.reload(nodes.settingsWith(undefined));
    expect(JSON.stringify(changed)).not.toContain(TOKEN);
    nodes.reset();
    await send(call("eth_getCode"), callersTrace("01").headers);
    expect(askedFor("eth_getCode")).toEqual([undefined]);
  });
});

describe("the end of a gateway", () => {
  it("sends what waits, of each process that answers, and waits for no collector", async () => {
    const begin = () =>
      startGatewayProcess(
        nodes.settingsWith(undefined, { processes: 2, tail: { calls: 9, slow: "1ms" } }),
        {
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
          OTEL_SERVICE_NAME: "fleet",
          OTEL_TRACES_SAMPLER: "always_on",
        },
      );
    const calls = (own: RunningGateway) =>
      Promise.all(
        Array.from({ length: 40 }, () =>
          post(own.endpoint("main"), JSON.stringify(call("eth_getBalance")), {
            connection: "close",
          }),
        ),
      );
    const before = collector.spans.length;
    const first = await begin();
    await calls(first);
    const { calls: tail } = (await (
      await fetch(first.metricsUrl.replace("/metrics", "/calls"))
    ).json()) as { calls: readonly { at: string }[] };
    expect(tail.length).toBeGreaterThan(9);
    expect(tail.map(({ at }) => at)).toEqual(
      tail
        .map(({ at }) => at)
        .sort()
        .reverse(),
    );
    expect(await first.stop()).toBe(0);
    const mine = collector.spans.slice(before);
    const instances = new Set(mine.map(({ resource }) => resource["service.instance.id"]));
    expect(instances.size).toBe(2);
    expect(mine.filter(({ kind }) => kind === "SPAN_KIND_SERVER")).toHaveLength(40);
    expect(mine[0]?.resource).toMatchObject({ "service.name": "fleet" });
    collector.answer = () => undefined;
    const second = await begin();
    await calls(second);
    const stoppedAt = Date.now();
    expect(await second.stop()).toBe(0);
    expect(Date.now() - stoppedAt).toBeLessThan(4_000);
  });
});
