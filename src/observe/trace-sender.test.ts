import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { Story } from "./story.ts";
import { type SpanExporter, TraceSender } from "./trace-sender.ts";

const OPTIONS = {
  ...{ url: "http://collector/v1/traces", headers: {}, timeoutMs: 5_000, queue: 250 },
  ...{ service: "headgate", attributes: {}, version: "1", instance: "i" },
};

type Sending = { readonly size: number; readonly settle: (why?: string) => void };

function world({ load }: { load?: () => Promise<SpanExporter> } = {}) {
  const clock = new FakeClock();
  const counted: Record<string, number> = {};
  const logged: unknown[] = [];
  const requests: Sending[] = [];
  let cuts = 0;
  const exporter: SpanExporter = {
    send: (stories) => new Promise((settle) => requests.push({ size: stories.length, settle })),
    cut: () => {
      cuts += 1;
      for (const { settle } of requests) settle("cut");
    },
  };
  let loads = 0;
  const sender = new TraceSender(OPTIONS, {
    load: () => {
      loads += 1;
      return load ? load() : Promise.resolve(exporter);
    },
    metrics: {
      traced: (outcome, calls) => {
        counted[outcome] = (counted[outcome] ?? 0) + calls;
      },
    },
    clock,
    log: { warn: (about: object) => logged.push(about), info: () => undefined } as never,
  });
  const add = (calls: number): void => {
    for (let call = 0; call < calls; call += 1)
      sender.add(new Story({ network: "main", key: "k", requestId: "r" }, { clock }));
  };
  return { sender, add, clock, counted, logged, requests, loads: () => loads, cuts: () => cuts };
}

describe("what sends traces", () => {
  it("loads what they are made of with the first of them, and sends many together, one request after the other", async () => {
    const { add, clock, counted, requests, loads } = world();
    await clock.advance(10_000);
    expect(loads()).toBe(0);
    add(150);
    await clock.advance(500);
    expect([loads(), requests.map(({ size }) => size)]).toEqual([1, [100]]);
    requests[0]?.settle();
    await clock.advance(0);
    expect(requests.map(({ size }) => size)).toEqual([100, 50]);
    requests[1]?.settle();
    await clock.advance(0);
    expect(counted).toEqual({ sent: 150 });
  });

  it("holds no more than its queue while the collector takes its time, and counts the rest", async () => {
    const { add, clock, counted, requests, logged } = world();
    add(1);
    await clock.advance(500);
    add(1_000);
    expect(counted).toEqual({ dropped: 750 });
    requests[0]?.settle("HTTP 400");
    await clock.advance(0);
    requests[1]?.settle("HTTP 400");
    await clock.advance(0);
    expect(counted).toEqual({ dropped: 750, failed: 101 });
    expect(logged).toEqual([{ why: "HTTP 400" }]);
  });

  it("cuts a collector off that answers without end", async () => {
    const { add, clock, counted, cuts } = world();
    add(1);
    await clock.advance(500);
    await clock.advance(5_999);
    expect(cuts()).toBe(0);
    await clock.advance(1);
    expect([cuts(), counted]).toEqual([1, { failed: 1 }]);
  });

  it("counts what could not be made", async () => {
    const { add, clock, counted, logged } = world({
      load: () => Promise.reject(new TypeError("no such module")),
    });
    add(2);
    await clock.advance(500);
    expect([counted, logged]).toEqual([{ failed: 2 }, [{ why: "TypeError" }]]);
  });

  it("sends what waits at its end, and waits a second for that at most", async () => {
    const { sender, add, clock, counted, requests, cuts } = world();
    add(120);
    const closed = sender.close();
    await clock.advance(0);
    requests[0]?.settle();
    await clock.advance(999);
    expect([requests.length, cuts()]).toEqual([2, 0]);
    await clock.advance(1);
    await closed;
    add(1);
    expect(cuts()).toBe(1);
    await clock.advance(0);
    expect(counted).toEqual({ sent: 100, failed: 20, dropped: 1 });
  });
});
