import { describe, expect, it } from "vitest";
import type { RateLimit } from "../jsonrpc/rpc-error.ts";
import { batchWorkOf, CallWork } from "./call.ts";

const short: RateLimit = { limit: 1, remaining: 0, retryAfter: 1, rule: "rate" };
const clock = { now: () => 0 };
const rich = { charge: () => undefined };
const workOf = (limit: number, parts: Partial<ConstructorParameters<typeof CallWork>[1]> = {}) =>
  new CallWork({ limit }, { clock, meter: rich, batch: undefined, ...parts });

describe("the work that a call causes", () => {
  it("is bounded by attempts, whoever caused them", () => {
    const work = workOf(3);
    for (const left of [2, 1, 0]) {
      work.attempted();
      expect(work.left).toBe(left);
    }
    expect(() => work.pay(1)).toThrow("this call needs more than 3 calls to nodes");
  });

  it("begins with the first question that reaches a node, or joins an equal one", () => {
    const work = workOf(3);
    expect(work.hasBegun).toBe(false);
    work.merged();
    expect([work.hasBegun, work.left, work.attempts]).toEqual([true, 3, 0]);
  });

  it("is charged before it is done, and not when it cannot be paid", async () => {
    const charged: number[] = [];
    const meter = { charge: (units: number) => (charged.push(units) > 2 ? short : undefined) };
    const work = workOf(9, { meter });
    void work.pay(10);
    void work.pay(3);
    expect(work.computeUnits).toBe(13);
    expect(() => work.pay(10)).toThrow("rate limit exceeded");
    expect(work.computeUnits).toBe(13);
    const waiting = workOf(9, { meter: { charge: async () => short } });
    await expect(waiting.pay(1)).rejects.toMatchObject({ status: 429, data: short });
  });

  it("of a batch has a bound of its own, beyond the first question of each member", () => {
    const batch = batchWorkOf(2);
    const members = Array.from({ length: 20 }, () => workOf(2, { batch }));
    let asked = 0;
    for (const member of members) {
      while (member.left > 0) {
        if (member.hasBegun) void member.pay(1);
        member.attempted();
        asked += 1;
      }
    }
    expect(asked).toBe(20 + 10);
  });
});
