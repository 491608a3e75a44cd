import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { GUESS_LIMITS, Guesses } from "../access/scope/guesses.ts";
import { RequestScope } from "../calls/caller.ts";
import { MemoryBudget } from "../lib/memory-budget.ts";
import { Turns } from "../lib/turns.ts";
import { Handshakes, RefusalBudget, refuseKey } from "./refusals.ts";

const INVALID = { code: -32000, status: 401, message: "invalid API key" };

function server(held = GUESS_LIMITS.held) {
  const clock = new FakeClock();
  const told: string[] = [];
  const parts = {
    guesses: new Guesses({ ...GUESS_LIMITS, free: 1, held }),
    clock,
    metrics: { keyGuessed: (how: string) => told.push(how) },
  };
  const incoming = () => {
    const scope = new RequestScope(
      { deadlineMs: 30_000 },
      {
        clock,
        memory: new MemoryBudget({ bytes: 1 }, { onRefused: () => undefined }),
        turns: new Turns({ clock }),
      },
    );
    return { scope, refusal: refuseKey({ address: "192.0.2.1", scope }, parts) };
  };
  return { clock, told, incoming };
}

describe("the refusal of an unknown key", () => {
  it("comes at once, and for who guesses after a while, in the same words", async () => {
    const { clock, told, incoming } = server();
    expect(await incoming().refusal).toMatchObject(INVALID);
    const { refusal } = incoming();
    let isReported = false;
    void refusal.then(() => {
      isReported = true;
    });
    await clock.advance(99);
    expect(isReported).toBe(false);
    await clock.advance(1);
    expect(await refusal).toMatchObject(INVALID);
    expect(told).toEqual(["at once", "delayed"]);
  });

  it("is not waited for when the caller has left, and makes room for another", async () => {
    const { clock, incoming } = server(1);
    await incoming().refusal;
    const { scope, refusal } = incoming();
    scope.end(false);
    expect(await refusal).toMatchObject(INVALID);
    expect(clock.waiting).toBe(0);
    const next = incoming();
    await clock.advance(10_000);
    expect(await next.refusal).toMatchObject(INVALID);
  });

  it("is a 429 when too many wait", async () => {
    const { incoming } = server(0);
    await incoming().refusal;
    const data = { rule: "guesses", limit: 1, remaining: 0, retryAfter: 1 };
    expect(await incoming().refusal).toMatchObject({ code: -32005, status: 429, data });
  });
});

describe("a budget of 10 a second", () => {
  it("lets 200 refusals pass at once, then so many a second", () => {
    const budget = new RefusalBudget({ refusals: 10 });
    for (let count = 0; count < 200; count += 1) budget.charge("a", 1, 0);
    expect(budget.exhausted.size).toBe(0);
    budget.charge("a", 1, 0);
    expect(budget.exhausted.size).toBe(1);
    expect(budget.refusedForMs("a", 0)).toBe(100);
    expect(budget.refusedForMs("b", 0)).toBe(0);
    expect(budget.refusedForMs("a", 100)).toBe(0);
    expect(budget.exhausted.size).toBe(0);
  });

  it("keeps nobody out for longer than 20 seconds, whatever it cost", () => {
    const budget = new RefusalBudget({ refusals: 10 });
    budget.charge("a", 1e9, 0);
    expect(budget.refusedForMs("a", 0)).toBe(20_000);
  });

  it("is full again after a while", () => {
    const budget = new RefusalBudget({ refusals: 10 });
    budget.charge("a", 150, 0);
    budget.charge("a", 200, 15_000);
    expect(budget.exhausted.size).toBe(0);
    budget.charge("a", 1, 15_000);
    expect(budget.exhausted.size).toBe(1);
  });

  it("remembers ten thousand callers, and lets those go who do not come again", () => {
    const budget = new RefusalBudget({ refusals: 10 });
    for (let caller = 0; caller <= 10_000; caller += 1) budget.charge(`${caller}`, 300, 0);
    expect(budget.refusedForMs("0", 0)).toBe(0);
    expect(budget.refusedForMs("1", 0)).toBe(10_000);
    for (let caller = 0; caller < 10_000; caller += 1) budget.refusedForMs("somebody", 10_001);
    expect(budget.exhausted.size).toBe(0);
  });
});

it("without a limit, nobody is refused", () => {
  const budget = new RefusalBudget({ refusals: 0 });
  budget.charge("a", 1e9, 0);
  expect(budget.exhausted.size).toBe(0);
});

describe("handshakes", () => {
  const clock = { now: () => nowMs };
  let nowMs = 0;
  const known = new Set<object>();
  const handshakes = new Handshakes(
    { refusals: 2 },
    {
      connections: {
        subscriberOf: ({ remoteAddress }) =>
          remoteAddress === "proxy" ? undefined : remoteAddress,
        isKnown: (socket) => known.has(socket),
      },
      clock,
    },
  );
  const connect = (remoteAddress: string, hasKey = false): boolean => {
    const socket = Object.assign(new EventEmitter(), { remoteAddress }) as unknown as Socket;
    const isAdmitted = handshakes.begin(socket);
    if (hasKey) known.add(socket);
    socket.emit("close");
    return isAdmitted;
  };

  it("without a key are so many a second, of each address; those with one are not counted", () => {
    const many = Array.from({ length: 60 }, () => connect("10.0.0.1"));
    expect(many.lastIndexOf(true)).toBe(40); // twenty seconds of the rate, and the connection that went over
    expect(connect("10.0.0.2")).toBe(true);
    expect(Array.from({ length: 60 }, () => connect("10.0.0.3", true))).not.toContain(false);
    expect(Array.from({ length: 60 }, () => connect("proxy"))).not.toContain(false);
    nowMs += 1_000;
    expect(connect("10.0.0.1")).toBe(true);
  });
});
