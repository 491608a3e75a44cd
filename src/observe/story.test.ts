import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { explanationOf, Story, summaryOf } from "./story.ts";

const END = { method: "eth_call", id: "1", outcome: "ok", source: "upstream", bytes: 40 } as const;

function begun() {
  const clock = new FakeClock();
  const story = new Story({ network: "main", key: "k", requestId: "r" }, { clock });
  const ask = (name: string, why?: string) => story.asked({ upstream: { name }, why }, "eth_call");
  return { clock, story, ask };
}

describe("a call's story", () => {
  it("tells when each step was passed, who was asked, and what became of that", () => {
    const { clock, story, ask } = begun();
    void clock.advance(1);
    story.reached("authorized");
    const first = ask("slow");
    void clock.advance(50);
    const second = ask("fast", "slow");
    void clock.advance(4);
    second?.ended({ kind: "refused", code: 3 });
    story.ended(END);
    void clock.advance(2);
    expect(summaryOf(story)).toEqual({
      ...END,
      ms: 55,
      steps: [{ step: "authorized", atMs: 1 }],
      asked: [
        { upstream: "slow", method: "eth_call", why: undefined, atMs: 1, ms: undefined },
        {
          upstream: "fast",
          method: "eth_call",
          why: "slow",
          atMs: 51,
          ms: 4,
          kind: "refused",
          code: 3,
        },
      ],
      leftOut: 0,
    });
    first?.ended({ kind: "aborted" });
    expect(summaryOf(story)).toMatchObject({ ms: 55, asked: [{ ms: 56, kind: "aborted" }, {}] });
  });

  it("holds nothing of a reply but what it was", () => {
    const { ask } = begun();
    const attempt = ask("node");
    const reply = { kind: "result", json: Buffer.alloc(10) };
    attempt?.ended(reply);
    expect(attempt?.outcome).toEqual({ kind: "result", code: undefined, reason: undefined });
  });

  it("tells the number and hash of the block that the answer is from, and holds nothing else of it", () => {
    class StoredBlock {
      readonly hash = "0xab";
      readonly outline = { parts: Buffer.alloc(10) };
      get number(): number {
        return 7;
      }
    }
    const { story } = begun();
    story.ended({ ...END, block: new StoredBlock() });
    expect(story.end?.block).toEqual({ number: 7, hash: "0xab" });
    expect(JSON.parse(explanationOf(story, 2_000))).toMatchObject({
      block: { number: 7, hash: "0xab" },
    });
  });

  it("is bounded, however often the call asks and joins others", () => {
    const { story, ask } = begun();
    for (let time = 0; time < 10_000; time += 1) {
      ask(`node-${time}`);
      story.reached("merged");
    }
    story.ended(END);
    const { asked, leftOut, steps } = summaryOf(story);
    expect([asked.length, leftOut]).toEqual([32, 9_968]);
    expect(steps.length).toBeLessThan(40);
  });

  it("is explained in ASCII, and in no more characters than there is room for", () => {
    const { story, ask } = begun();
    for (let time = 0; time < 40; time += 1)
      ask(`Knoten-ä${"x".repeat(60)}\r\n`)?.ended({ kind: "result" });
    for (let time = 0; time < 40; time += 1) story.reached("merged");
    story.ended(END);
    const explanation = explanationOf(story, 2_000);
    expect(explanation.length).toBeLessThanOrEqual(2_000);
    expect(explanation).toMatch(/^[\x20-\x7e]+$/);
    const { asked, leftOut } = JSON.parse(explanation);
    expect(asked[0]).toMatchObject({ upstream: `Knoten-ä${"x".repeat(60)}\r\n` });
    expect(asked.length + leftOut).toBe(40);
  });
});
