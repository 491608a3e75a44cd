import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { type SamplingOptions, Stories, type StoriesOptions } from "./stories.ts";
import type { Story, StoryEnd } from "./story.ts";

const NO_TAIL = { calls: 0, slowMs: 1_000 };
const TRACEPARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const SAMPLING: SamplingOptions = {
  sample: 0.5,
  followsCallers: true,
  failed: true,
  slowMs: 5_000,
  tellsUpstreams: true,
};

type Asked = {
  readonly mayExplain?: boolean;
  readonly headers?: object;
  readonly channel?: object;
};

function world(options: Partial<StoriesOptions>, chance = 0.9) {
  const clock = new FakeClock();
  const traced: Story[] = [];
  const stories = new Stories(
    { tail: NO_TAIL, tracing: undefined, ...options },
    { clock, chance: () => chance, onTraced: (story) => traced.push(story) },
  );
  const begin = ({ mayExplain = false, headers = {}, channel }: Asked = {}, isMember = false) =>
    stories.begin(
      {
        grant: { name: "k", scope: { mayExplain } },
        network: { facts: { name: "main" } },
        requestId: "r",
        headers: headers as Record<string, string>,
        channel,
      },
      isMember,
      undefined,
    );
  const end = (story: Story | undefined, given: Partial<StoryEnd> = {}): void => {
    const usual = {
      method: "eth_call",
      id: "1",
      outcome: "ok",
      source: "local",
      bytes: 1,
    } as const;
    if (story) stories.ended(story, { ...usual, ...given });
  };
  return { stories, begin, end, clock, traced };
}

describe("where nobody wants stories", () => {
  it("no call has one", () => {
    const { stories, begin } = world({});
    expect(stories.isOn).toBe(false);
    expect(begin({ headers: { "x-headgate-explain": "1" } })).toBeUndefined();
    expect(begin({ mayExplain: true })).toBeUndefined();
  });

  it("a caller that may ask for it has it told: in a header, or as a member", () => {
    const { begin } = world({});
    const asking = { mayExplain: true, headers: { "x-headgate-explain": "1" } };
    expect(begin(asking)?.options.explainedIn).toBe("header");
    expect(begin(asking, true)?.options.explainedIn).toBe("member");
    expect(begin({ ...asking, channel: {} })?.options.explainedIn).toBe("member");
    expect(begin({ ...asking, headers: { "x-headgate-explain": "0" } })).toBeUndefined();
  });
});

describe("the slow and failed calls", () => {
  const tail = { calls: 3, slowMs: 1_000 };

  it("has slow and failed calls, the newest first, and no more than it may", () => {
    const { stories, begin, end, clock } = world({ tail });
    for (let number = 0; number < 6; number += 1) {
      end(begin(), { id: `fast ${number}` });
      end(begin(), { id: `refused ${number}`, outcome: "refused", code: -32602 });
      const story = begin();
      if (number % 2 === 0) void clock.advance(1_000);
      end(story, { id: `${number}`, outcome: number % 2 === 0 ? "ok" : "unavailable" });
      expect(stories.slowCalls.map(({ id }) => id)).toEqual(
        [number, number - 1, number - 2].filter((each) => each >= 0).map(String),
      );
    }
    expect(stories.slowCalls[0]).toMatchObject({ network: "main", key: "k", request: "r", ms: 0 });
  });

  it("keeps its newest when it may have fewer, and nothing when it is turned off", () => {
    const { stories, begin, end } = world({ tail });
    for (const id of ["1", "2", "3", "4"]) end(begin(), { id, outcome: "failed" });
    stories.reconfigure({ tail: { ...tail, calls: 2 }, tracing: undefined });
    end(begin(), { id: "5", outcome: "failed" });
    expect(stories.slowCalls.map(({ id }) => id)).toEqual(["5", "4"]);
    stories.reconfigure({ tail: NO_TAIL, tracing: undefined });
    expect([stories.isOn, stories.slowCalls]).toEqual([false, []]);
  });
});

describe("what is traced", () => {
  it.each([
    { chance: 0.49, is: true },
    { chance: 0.5, is: false },
  ])("of calls without a trace a share: $chance", ({ chance, is }) => {
    const { begin, end, traced } = world({ tracing: SAMPLING }, chance);
    const story = begin();
    end(story);
    expect(traced).toEqual(is ? [story] : []);
  });

  it.each([
    { follows: true, flag: "01", is: true },
    { follows: true, flag: "00", is: false },
    { follows: false, flag: "01", is: false },
  ])("as the caller decided, where it may: %o", ({ follows, flag, is }) => {
    const tracing = { ...SAMPLING, followsCallers: follows };
    const { begin, end, traced } = world({ tracing });
    const traceparent = TRACEPARENT.replace(/01$/, flag);
    const story = begin({ headers: { traceparent } });
    end(story);
    expect(story?.options.trace?.traceId).toBe("4bf92f3577b34da6a3ce929d0e0e4736");
    expect(traced).toHaveLength(is ? 1 : 0);
  });

  it("is each failed and each slow call, whatever was decided", () => {
    const { begin, end, clock, traced } = world({ tracing: SAMPLING });
    end(begin(), { outcome: "refused" });
    end(begin(), { id: "failed", outcome: "unavailable" });
    const slow = begin();
    void clock.advance(5_000);
    end(slow, { id: "slow" });
    expect(traced.map(({ end: last }) => last?.id)).toEqual(["failed", "slow"]);
  });

  it("of a socket begins with each message, and points to where the socket was opened", () => {
    const { begin } = world({ tracing: SAMPLING });
    const asked = { headers: { traceparent: TRACEPARENT }, channel: {} };
    const [one, other] = [begin(asked), begin(asked)];
    expect(one?.options.opener?.spanId).toBe("00f067aa0ba902b7");
    expect(one?.options.trace?.parent).toBeUndefined();
    expect(one?.options.trace?.traceId).not.toBe(other?.options.trace?.traceId);
  });

  it("holds the members of a batch together", () => {
    const { stories } = world({ tracing: SAMPLING }, 0);
    const caller = {
      grant: { name: "k", scope: { mayExplain: false } },
      network: { facts: { name: "main" } },
      requestId: "r",
    };
    const batch = stories.beginBatch(caller);
    const members = [1, 2].map(() => stories.begin(caller, true, batch)?.options.trace);
    for (const member of members) {
      expect(member?.parent?.spanId).toBe(batch?.options.trace?.spanId);
      expect(member).toMatchObject({ traceId: batch?.options.trace?.traceId, isSampled: true });
    }
  });
});
