import { expect, it, onTestFinished } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { scriptedAdmin, TOKEN } from "../../test/support/scripted-admin.ts";
import { Metrics } from "../observe/metrics.ts";
import type { AdminAppParts } from "./admin-parts.ts";
import { LiveFeed, PastCharts } from "./live-feed.ts";
import type { LiveHistory, LiveStatus, Status } from "./schemas.ts";

const upstream = {
  ...{ upstream: "a", isUsable: true, head: 7, lagBlocks: 0, lagSeconds: 0, isElsewhere: false },
  isDrained: false,
  ...{ inFlight: 0, groups: [], budget: { pausedForMs: 0 }, lackedMethods: 0 },
};
const network: Status["networks"][number] = {
  ...{ network: "main", family: "evm", chainId: 1, isReady: true, head: 7, upstreams: [upstream] },
};
const call = { network: "main", method: "eth_chainId", computeUnits: 1, seconds: 0.001 } as const;

function feedOf(overrides: Partial<Pick<AdminAppParts, "networks" | "calls" | "incidents">> = {}) {
  const clock = new FakeClock();
  const metrics = new Metrics();
  let looks = 0;
  const feed = new LiveFeed({
    networks: async () => {
      looks += 1;
      return [network];
    },
    calls: async () => [],
    incidents: async () => [],
    ...{ metrics, clock, ...overrides },
  });
  return { feed, metrics, clock, looks: () => looks };
}

/** Watches a feed: `told` has its events, and `next` advances the clock until another event comes. */
function watching({ feed, clock }: { feed: LiveFeed; clock: FakeClock }) {
  const told: (LiveStatus | undefined)[] = [];
  let heard: () => void = () => undefined;
  const end = feed.watch("admin", (json) => {
    told.push(json === undefined ? undefined : (JSON.parse(json) as LiveStatus));
    heard();
  });
  const next = async (ms: number): Promise<void> => {
    const event = new Promise<void>((resolve) => {
      heard = resolve;
    });
    await clock.advance(ms);
    await event;
  };
  return { told, next, end };
}

it("is made once a second for all who look, and not at all while nobody does", async () => {
  const { feed, metrics, clock, looks } = feedOf();
  const first = watching({ feed, clock });
  await first.next(0);
  const second = watching({ feed, clock }); // a new listener gets the last event at once
  expect([first.told.length, second.told.length, looks()]).toEqual([1, 1, 1]);
  for (let calls = 0; calls < 4; calls += 1) metrics.callEnded({ ...call, outcome: "ok" });
  await second.next(1_000);
  expect([first.told.length, second.told.length, looks()]).toEqual([2, 2, 2]);
  const [told, later] = first.told;
  expect(told?.networks[0]).toMatchObject({ network: "main", head: 7, reorganisations: 0 });
  expect(later?.networks[0]?.perSecond).toMatchObject({ calls: 4, failed: 0 });
  first.end();
  second.end();
  await clock.advance(5_000);
  expect([looks(), clock.waiting, feed.watching]).toEqual([2, 0, 0]);
});

it("tells rates over ten seconds", async () => {
  const { feed, metrics, clock } = feedOf();
  const { told, next } = watching({ feed, clock });
  await next(0);
  for (let second = 0; second < 30; second += 1) {
    metrics.callEnded({ ...call, outcome: "ok" });
    await next(1_000);
  }
  expect(told.at(-1)?.networks[0]?.perSecond.calls).toBe(1);
});

it("says when it cannot be made, and goes on", async () => {
  let isAway = true;
  const { feed, clock } = feedOf({
    networks: async () => {
      if (isAway) throw new Error("the state is away");
      return [network];
    },
  });
  const { told, next } = watching({ feed, clock });
  await next(0);
  isAway = false;
  await next(1_000);
  expect(told).toEqual([undefined, expect.objectContaining({ calls: [] })]);
});

it("tells each slow or failed call once", async () => {
  const slowCall = (id: string) => ({ at: "2026", request: "r", id, steps: [], asked: [] });
  let slowCalls = [slowCall("1")];
  const { feed, clock } = feedOf({ calls: async () => slowCalls as never });
  const { told, next } = watching({ feed, clock });
  await next(0);
  slowCalls = [slowCall("3"), slowCall("2"), ...slowCalls];
  await next(1_000);
  await next(1_000);
  const ids = told.map((each) => each?.calls.map(({ id }) => id));
  expect(ids).toEqual([["1"], ["3", "2"], []]);
});

async function openStream(overrides: Partial<AdminAppParts> = {}, token = TOKEN) {
  const admin = await scriptedAdmin(overrides);
  onTestFinished(admin.close);
  const leaving = new AbortController();
  const headers = { authorization: `Bearer ${token}` };
  const response = await admin.app.request("/events", { headers, signal: leaving.signal });
  const clock = admin.clock as FakeClock;
  return { admin, response, clock, leave: () => leaving.abort() };
}

it("is an event stream, which ends with its reader", async () => {
  const { response, clock, leave } = await openStream({ networks: async () => [network] });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  await clock.advance(0);
  const { value = "" } = (await reader?.read()) ?? {};
  expect(value).toMatch(/^event: status\ndata: \{"at":"[^\n]*"network":"main"[^\n]*\}\n\n$/);
  leave();
  await clock.advance(1_000);
  expect(clock.waiting).toBe(0);
});

it("refuses more streams than it can hold, and callers without a token", async () => {
  const { admin, response } = await openStream();
  const headers = { authorization: `Bearer ${TOKEN}` };
  expect(response.status).toBe(200);
  for (let more = 1; more < 50; more += 1)
    expect((await admin.app.request("/events", { headers })).status).toBe(200);
  expect((await admin.app.request("/events", { headers })).status).toBe(503);
  expect((await admin.app.request("/events")).status).toBe(401);
  // One token, such as that of a program that does not read its streams, cannot take all streams.
  const reader = { authorization: `Bearer ${TOKEN}-read` };
  for (let more = 50; more < 60; more += 1)
    expect((await admin.app.request("/events", { headers: reader })).status).toBe(200);
  expect((await admin.app.request("/events", { headers: reader })).status).toBe(503);
});

it("is asked for its head as often as anybody likes, which opens no stream", async () => {
  const { admin, clock, leave } = await openStream();
  leave();
  const asked = { headers: { authorization: `Bearer ${TOKEN}` }, method: "HEAD" };
  for (let asks = 0; asks <= 50; asks += 1) {
    const head = await admin.app.request("/events", asked);
    expect([head.status, head.headers.get("content-type")]).toEqual([200, "text/event-stream"]);
  }
  await clock.advance(1_000);
  expect(clock.waiting).toBe(0);
});

it("remembers half an hour of what charts show, every ten seconds, also while nobody looks", async () => {
  const { feed, metrics, clock, looks } = feedOf();
  const ending = new AbortController();
  expect(feed.history).toBeUndefined();
  void feed.remember(ending.signal);
  for (let step = 0; step <= 200; step += 1) {
    await new Promise(setImmediate);
    for (let calls = 0; calls < step; calls += 1) metrics.callEnded({ ...call, outcome: "ok" });
    await clock.advance(10_000);
  }
  const { past } = JSON.parse(feed.history ?? "") as LiveHistory;
  expect(past.map(({ ageSeconds }) => ageSeconds)).toEqual(
    Array.from({ length: 181 }, (_, at) => 1_800 - 10 * at),
  );
  expect(past.at(-1)?.networks).toMatchObject([
    { network: "main", perSecond: { calls: 20, failed: 0 }, upstreams: [{ upstream: "a" }] },
  ]);
  const before = looks();
  const { next, end } = watching({ feed, clock });
  await next(0);
  for (let second = 0; second < 30; second += 1) await next(1_000);
  end();
  expect(looks()).toBe(before + 31); // one look per second, and none for the charts beside them
  expect(JSON.parse(feed.history ?? "").past).toHaveLength(181);
  ending.abort();
  await new Promise(setImmediate);
  expect(clock.waiting).toBe(0);
});

it("remembers less of very many networks", () => {
  const charts = new PastCharts();
  const large = "x".repeat(300_000);
  for (let step = 0; step < 10; step += 1) charts.note(step * 10_000, () => large);
  const told = charts.toldAt(90_000) ?? "";
  expect(told.length).toBeLessThan(2 ** 20 + 1_000);
  expect(JSON.parse(told).past).toHaveLength(3);
});

it("tells what was before to who begins to look", async () => {
  const ending = new AbortController();
  const admin = await scriptedAdmin({ networks: async () => [network] }, { ending: ending.signal });
  onTestFinished(admin.close);
  const clock = admin.clock as FakeClock;
  for (let step = 0; step < 3; step += 1) {
    await new Promise(setImmediate);
    await clock.advance(10_000);
  }
  const headers = { authorization: `Bearer ${TOKEN}` };
  const { body } = await admin.app.request("/events", { headers });
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  const { value = "" } = (await reader?.read()) ?? {};
  expect(value).toMatch(/^event: history\ndata: \{"past":\[\{"ageSeconds":\d+,[^\n]*\}\n\n$/);
  ending.abort();
});
