import { describe, expect, it } from "vitest";
import { CombinedMetrics, type Measured } from "./combined-metrics.ts";
import { Metrics } from "./metrics.ts";

const callEnded = (metrics: Metrics, times: number): void => {
  for (let time = 0; time < times; time += 1)
    metrics.callEnded({
      network: "main",
      method: "eth_call",
      outcome: "ok",
      computeUnits: 1,
      seconds: 0.001,
    });
};
const lineOf = (text: string, name: string): string | undefined =>
  text.split("\n").find((line) => line.startsWith(name));

const gateway = () => {
  const processes = new Map([
    ["writer", new Metrics()],
    ["server 1", new Metrics()],
    ["server 2", new Metrics()],
  ]);
  const hanging = new Set<string>();
  const measure = async (): Promise<Measured> => {
    const told = new Map<string, readonly object[]>();
    for (const [name, metrics] of processes)
      if (!hanging.has(name)) told.set(name, structuredClone(await metrics.values()));
    return told;
  };
  const of = (name: string): Metrics => processes.get(name) as Metrics;
  return { of, processes, hanging, combined: new CombinedMetrics({ measure }) };
};

describe("the metrics of several processes", () => {
  it("add up what is counted, and do not add up what is measured by one", async () => {
    const { of, combined } = gateway();
    callEnded(of("server 1"), 3);
    callEnded(of("server 2"), 4);
    of("writer").headMoved("main", { number: 9, removed: 0, bytes: 1, blocks: 5 });
    for (const name of ["writer", "server 1", "server 2"])
      of(name).upstreamUsable("main", "a", true);
    const text = await combined.exposition();
    expect(lineOf(text, "headgate_calls_total{")).toMatch(/ 7$/);
    expect(lineOf(text, "headgate_call_seconds_count{")).toMatch(/ 7$/);
    expect(lineOf(text, "headgate_head_block{")).toMatch(/ 9$/);
    expect(lineOf(text, "headgate_upstream_usable{")).toMatch(/ 1$/);
  });

  it("tell a node that one of them does not use", async () => {
    const { of, combined } = gateway();
    of("server 1").upstreamUsable("main", "a", true);
    of("server 2").upstreamUsable("main", "a", false);
    expect(lineOf(await combined.exposition(), "headgate_upstream_usable{")).toMatch(/ 0$/);
  });

  it("compute what each call costs the nodes from all of them", async () => {
    const { of, combined } = gateway();
    callEnded(of("server 1"), 4);
    for (let call = 0; call < 2; call += 1)
      of("writer").upstreamAnswered({
        ...{ network: "main", upstream: "a", kind: "result", purpose: "follow" },
        ...{ seconds: 0.01, bytes: 1 },
      });
    const text = await combined.exposition();
    expect(lineOf(text, "headgate_upstream_calls_per_call{")).toMatch(/ 0.5$/);
    expect(text.match(/# TYPE headgate_upstream_calls_per_call /g)).toHaveLength(1);
  });

  it("never count down: neither when a process hangs nor when it ends", async () => {
    const { of, combined, hanging, processes } = gateway();
    callEnded(of("server 1"), 3);
    callEnded(of("server 2"), 4);
    await combined.exposition();
    hanging.add("server 1");
    expect(lineOf(await combined.exposition(), "headgate_calls_total{")).toMatch(/ 7$/);
    await combined.processEnded("server 1", "hung");
    expect(lineOf(await combined.exposition(), "headgate_calls_total{")).toMatch(/ 7$/);
    processes.set("server 1", new Metrics());
    hanging.clear();
    callEnded(of("server 1"), 1);
    expect(lineOf(await combined.exposition(), "headgate_calls_total{")).toMatch(/ 8$/);
    for (const name of ["server 1", "server 2"]) await combined.processEnded(name, "ended");
    processes.clear();
    const text = await combined.exposition();
    expect(lineOf(text, "headgate_calls_total{")).toMatch(/ 8$/);
    expect(lineOf(text, "headgate_call_seconds_count{")).toMatch(/ 8$/);
    expect(
      lineOf(text, 'headgate_processes_replaced_total{process="server 1",why="hung"}'),
    ).toMatch(/ 1$/);
  });
});
