import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { Turns, type Work } from "../lib/turns.ts";
import { ResultChecker } from "./node-requests.ts";
import type { Reply } from "./reply.ts";

const resultOf = (bytes: number): Reply => ({ kind: "result", json: Buffer.alloc(bytes, "1") });
const FALSE = { kind: "failed", reason: "its answer is false", isReported: true };

function checker() {
  const told: string[] = [];
  const log = { warn: ({ method }: { method: string }) => void told.push(`log ${method}`) };
  const state = { held: 0 };
  const memory = {
    hold: (_: string, bytes: number) => {
      state.held += bytes;
    },
    release: (_: string, bytes: number) => {
      state.held -= bytes;
    },
  };
  const own = new ResultChecker(
    { network: "n", upstream: "a" },
    {
      log: log as never,
      metrics: { upstreamLied: () => void told.push("counted") },
      turns: new Turns({ clock: new FakeClock() }),
      memory,
      onLie: (upstream) => void told.push(`lie of ${upstream}`),
    },
  );
  return { checker: own, told, state };
}

describe("what a node says", () => {
  it("is checked at once when it is short", () => {
    const { checker: own } = checker();
    const reply = resultOf(10);
    expect(own.checked(reply, "m", { isFalse: () => false })).toBe(reply);
    expect(own.checked(reply, "m", {})).toBe(reply);
    expect(own.checked(reply, "m", { isFalse: () => true })).toEqual(FALSE);
    expect(own.checked({ kind: "timeout" }, "m", { isFalse: () => true })).toEqual({
      kind: "timeout",
    });
  });

  it("is checked in steps when it is long, and counted as long as it waits for that", async () => {
    const { checker: own, state } = checker();
    function* areTrue(): Work<boolean> {
      expect(state.held).toBe(100_000);
      yield;
      return false;
    }
    const reply = resultOf(100_000);
    const checked = own.checked(reply, "m", { isFalse: areTrue });
    expect(checked).toBeInstanceOf(Promise);
    expect(await checked).toBe(reply);
    expect(state.held).toBe(0);
  });

  it("is told of once and then counted when it is false", async () => {
    const { checker: own, told } = checker();
    function* areFalse(): Work<boolean> {
      yield;
      return true;
    }
    expect(await own.checked(resultOf(100_000), "m", { isFalse: areFalse })).toEqual(FALSE);
    expect(own.checked(resultOf(1), "m", { isFalse: areFalse })).toEqual(FALSE);
    expect(told).toEqual(["counted", "lie of a", "log m", "counted", "lie of a"]);
  });
});
