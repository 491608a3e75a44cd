// A collector that fails in any way affects neither calls, nor a reload, nor the end of the gateway.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { readGauge } from "../faults/watch.ts";
import { post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { stopwatch } from "../support/served-time.ts";
import { startTraceCollector, type TraceCollector, taken } from "../support/trace-collector.ts";
import { COLLECTOR_TOKEN, callersTrace, TracedGateway } from "./traced-nodes.ts";

let traced: TracedGateway;

beforeAll(async () => {
  traced = await TracedGateway.start();
});
afterAll(() => traced.close());
beforeEach(() => traced.reset());

const outcomes = (outcome: string): Promise<number> =>
  readGauge(traced.gateway, "headgate_traces_total", `outcome="${outcome}"`);

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
      traced.collector.answer = answer;
      const before = await outcomes("failed");
      const elapsedMs = stopwatch(traced.gateway.process);
      await traced.send(traced.call("eth_chainId"), callersTrace("01").headers);
      expect(elapsedMs()).toBeLessThan(1_000);
      await until("it is counted", async () => (await outcomes("failed")) === before + 1);
    }
    const told = traced.gateway.log.filter(({ msg }) => msg?.startsWith("traces do not reach"));
    expect(told).toMatchObject([{ level: 40, why: "HTTP 400" }]);
    traced.collector.answer = taken;
    const { traceId, headers } = callersTrace("01");
    await traced.send(traced.call("eth_chainId"), headers);
    await traced.collector.trace(traceId, 1);
  });

  it("may be changed by a reload, and traces may be turned off", async () => {
    const other = await startTraceCollector();
    await traced.gateway.reload(
      traced.nodes.settingsWith({ endpoint: other.url, sample: 1, queue: 5 }),
    );
    await traced.send(traced.call("eth_chainId"));
    await until("it is sent there", async () => other.spans.length === 1);
    await other.close();
    // The collector is away: traces beyond the queue are dropped while the sender retries.
    for (let time = 0; time < 12; time += 1) await traced.send(traced.call("eth_chainId"));
    expect(await outcomes("dropped")).toBeGreaterThanOrEqual(7);
    const changed = await traced.gateway.reload(traced.nodes.settingsWith(undefined));
    expect(JSON.stringify(changed)).not.toContain(COLLECTOR_TOKEN);
    traced.nodes.reset();
    await traced.send(traced.call("eth_getCode"), callersTrace("01").headers);
    expect(traced.askedFor("eth_getCode")).toEqual([undefined]);
  });
});

describe("the end of a gateway", () => {
  it("sends what waits, of each process that answers, and waits for no collector", async () => {
    const begin = () =>
      startGatewayProcess(
        traced.nodes.settingsWith(undefined, { processes: 2, tail: { calls: 9, slow: "1ms" } }),
        {
          OTEL_EXPORTER_OTLP_ENDPOINT: traced.collector.url,
          OTEL_SERVICE_NAME: "fleet",
          OTEL_TRACES_SAMPLER: "always_on",
        },
      );
    const calls = (own: RunningGateway) =>
      Promise.all(
        Array.from({ length: 40 }, () =>
          post(own.endpoint("main"), JSON.stringify(traced.call("eth_getBalance")), {
            connection: "close",
          }),
        ),
      );
    const before = traced.collector.spans.length;
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
    const mine = traced.collector.spans.slice(before);
    const instances = new Set(mine.map(({ resource }) => resource["service.instance.id"]));
    expect(instances.size).toBe(2);
    expect(mine.filter(({ kind }) => kind === "SPAN_KIND_SERVER")).toHaveLength(40);
    expect(mine[0]?.resource).toMatchObject({ "service.name": "fleet" });
    traced.collector.answer = () => undefined;
    const second = await begin();
    await calls(second);
    const elapsedMs = stopwatch(second.process);
    expect(await second.stop()).toBe(0);
    expect(elapsedMs()).toBeLessThan(4_000);
  });
});
