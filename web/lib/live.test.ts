import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { LiveStream } from "./live.ts";

type Listener = (event: unknown) => void;

/** A stream over event sources that a test controls. */
function opened() {
  const clock = new FakeClock();
  const sources: { say: (name: string, data?: string) => void; readyState: number }[] = [];
  const history: number[] = [];
  let refused = 0;
  const platform = {
    now: () => clock.now(),
    after: (ms: number, act: () => void) => clock.after(ms, act),
    every: (ms: number, act: () => void) => {
      const again = (): void => {
        act();
        clock.after(ms, again);
      };
      clock.after(ms, again);
      return () => undefined;
    },
  };
  const stream = new LiveStream({
    platform,
    open: () => {
      const listeners = new Map<string, Listener>();
      const source = {
        readyState: 0,
        addEventListener: (name: string, listener: unknown) =>
          void listeners.set(name, listener as Listener),
        close: () => undefined,
        say: (name: string, data = "{}") => listeners.get(name)?.({ data }),
      };
      sources.push(source);
      return source as never;
    },
    onHistory: ({ past }) => void history.push(...past.map(({ ageSeconds }) => ageSeconds)),
    onRefused: () => {
      refused += 1;
    },
    onStatus: () => undefined,
  });
  stream.open();
  return { stream, clock, sources, history, refusals: () => refused };
}

it("is stale when nothing came for four seconds, and live again with the next event", async () => {
  const { stream, clock, sources } = opened();
  sources[0]?.say("status");
  expect(stream.store.value.state).toBe("live");
  for (let second = 0; second < 6; second += 1) await clock.advance(1_000);
  expect(stream.store.value).toMatchObject({ state: "stale", status: {} });
  sources[0]?.say("status");
  expect(stream.store.value.state).toBe("live");
});

it("begins again later and later, one at a time, and asks who is logged in when it was refused", async () => {
  const { clock, sources, refusals } = opened();
  const last = () => sources.at(-1) as (typeof sources)[number];
  last().say("error");
  await clock.advance(500);
  expect(sources).toHaveLength(2);
  expect(refusals()).toBe(0);
  last().readyState = 2;
  last().say("error");
  sources[0]?.say("error"); // the stream ended
  await clock.advance(500);
  expect(sources).toHaveLength(2);
  await clock.advance(500);
  expect(sources).toHaveLength(3);
  expect(refusals()).toBe(1);
});

it("tells what was before, which is no status", () => {
  const { stream, sources, history } = opened();
  sources[0]?.say("history", JSON.stringify({ past: [{ ageSeconds: 20, networks: [] }] }));
  expect([history, stream.store.value.state]).toEqual([[20], "connecting"]);
});

it("is stale too when it was refused again and again", async () => {
  const { stream, clock, sources } = opened();
  for (let times = 0; times < 3; times += 1) {
    expect(stream.store.value.state).toBe("connecting");
    const last = sources.at(-1) as (typeof sources)[number];
    last.readyState = 2;
    last.say("error");
    await clock.advance(10_000);
  }
  expect(stream.store.value).toEqual({ state: "stale" });
  sources.at(-1)?.say("status");
  expect(stream.store.value.state).toBe("live");
});
