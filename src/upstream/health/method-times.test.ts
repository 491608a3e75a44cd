import { expect, it } from "vitest";
import { MethodTimes } from "./method-times.ts";

function timesOf() {
  let nowMs = 0;
  const times = new MethodTimes({ clock: { now: () => nowMs } });
  const answer = (method: string, ms: number, count = 20): void => {
    for (let done = 0; done < count; done += 1) times.answered(method, ms);
    nowMs += 50; // until what was summed up before is summed up anew
  };
  return { times, answer };
}

it("tells nothing of a method that was answered less than twenty times", () => {
  const { times, answer } = timesOf();
  answer("eth_call", 10, 19);
  expect(times.p95Ms("eth_call")).toBeUndefined();
  answer("eth_call", 10, 1);
  expect(times.p95Ms("eth_call")).toBeCloseTo(10, 0);
});

it("tells each method's times, not another one's", () => {
  const { times, answer } = timesOf();
  answer("eth_call", 10);
  answer("eth_getLogs", 500);
  expect(times.p95Ms("eth_call")).toBeLessThan(11);
  expect(times.p95Ms("eth_getLogs")).toBeGreaterThan(490);
});

it("is not filled by names that callers invent and nobody answers", () => {
  const { times, answer } = timesOf();
  for (let index = 0; index < 1_000; index += 1) times.p95Ms(`eth_invented${index}`);
  answer("eth_call", 10);
  answer("eth_getLogs", 500);
  expect(times.p95Ms("eth_call")).toBeLessThan(11);
});

it("measures what is beyond a hundred methods together", () => {
  const { times, answer } = timesOf();
  for (let index = 0; index < 100; index += 1) answer(`eth_answered${index}`, 1, 1);
  answer("eth_call", 10);
  expect(times.p95Ms("eth_getLogs")).toBeCloseTo(10, 0);
});
