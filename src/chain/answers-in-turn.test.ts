import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { answersInTurn } from "./answers-in-turn.ts";

/** Nodes a, b, c that answer after so many milliseconds; `log` has who was asked when, and what came. */
function asked(answersAfter: Record<string, number>, wanted: (answer: string) => boolean) {
  const clock = new FakeClock();
  const log: string[] = [];
  const caller = new AbortController();
  const ask = async (node: string, signal: AbortSignal): Promise<string> => {
    log.push(`${clock.now()} ask ${node}`);
    signal.addEventListener("abort", () => log.push(`${clock.now()} end ${node}`));
    await clock.sleep(answersAfter[node] ?? 0);
    return node;
  };
  const done = (async () => {
    const nodes = Object.keys(answersAfter);
    for await (const { answer } of answersInTurn(nodes, caller.signal, { ask, clock })) {
      log.push(`${clock.now()} got ${answer}`);
      if (wanted(answer)) break;
    }
    log.push("done");
  })();
  const pass = async (ms: number): Promise<void> => {
    for (let passed = 0; passed < ms; passed += 100) await clock.advance(100);
  };
  return { log, done, pass, caller };
}

describe("the same, asked of several nodes", () => {
  it("is asked of the first alone when that is quick and right", async () => {
    const { log, done, pass } = asked({ a: 100, b: 100 }, () => true);
    await pass(200);
    await done;
    expect(log).toEqual(["0 ask a", "100 got a", "100 end a", "done"]);
  });

  it("is asked of the next when an answer is not wanted", async () => {
    const { log, done, pass } = asked({ a: 100, b: 100 }, (answer) => answer === "b");
    await pass(300);
    await done;
    expect(log.filter((line) => !line.includes("end"))).toEqual([
      "0 ask a",
      "100 got a",
      "100 ask b",
      "200 got b",
      "done",
    ]);
  });

  it("is asked of a second and a third beside those who take long, and the quickest is taken", async () => {
    const { log, done, pass } = asked({ a: 9_000, b: 9_000, c: 100 }, () => true);
    await pass(1_200);
    await done;
    expect(log).toEqual([
      "0 ask a",
      "500 ask b",
      "1000 ask c",
      "1100 got c",
      "1100 end a",
      "1100 end b",
      "1100 end c",
      "done",
    ]);
  });

  it("waits for the last one as long as it takes", async () => {
    const { log, done, pass } = asked({ a: 5_000 }, () => true);
    await pass(5_100);
    await done;
    expect(log.filter((line) => line.includes("got"))).toEqual(["5000 got a"]);
  });

  it("gives all answers when none is wanted, and ends", async () => {
    const { log, done, pass } = asked({ a: 600, b: 300, c: 100 }, () => false);
    await pass(2_200);
    await done;
    expect(log.filter((line) => line.includes("got"))).toEqual([
      "600 got a",
      "800 got b",
      "900 got c",
    ]);
  });
});
