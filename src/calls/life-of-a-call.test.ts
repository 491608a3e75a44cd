// What a call adds to the usage of its key, and what counts as saved.
import { describe, expect, it } from "vitest";
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import type { Call } from "./call.ts";
import { recordUsage } from "./life-of-a-call.ts";

/** The usage, and the metric, after a call that ended so. */
function recorded(answer: { pieces: readonly string[]; error?: RpcError }, saving?: string) {
  const usageLines: object[] = [];
  const saved: unknown[] = [];
  const call = {
    network: { name: "main" },
    label: "eth_call",
    computeUnits: 7,
    upstreamCalls: 2,
    saving,
    message: { json: Buffer.alloc(40) },
    caller: { grant: { usage: { record: (line: object) => usageLines.push(line) } } },
  } as unknown as Call;
  const metrics = { callSaved: (...told: unknown[]) => saved.push(told) };
  recordUsage(call, answer, { metrics } as unknown as Parameters<typeof recordUsage>[2]);
  return { line: usageLines[0], saved };
}

describe("the usage of a call", () => {
  it("has its price, its bytes both ways, and how often nodes were asked", () => {
    const { line, saved } = recorded({ pieces: ['{"result":', '"0x1"}'] });
    expect(line).toEqual({
      ...{ network: "main", method: "eth_call", computeUnits: 7, outcome: "ok", saved: undefined },
      ...{ bytes: 16, requestBytes: 40, upstreamCalls: 2 },
    });
    expect(saved).toEqual([]);
  });

  it("says where a node was saved", () => {
    const { line, saved } = recorded({ pieces: [""] }, "store");
    expect(line).toMatchObject({ saved: "store" });
    expect(saved).toEqual([["main", "store"]]);
  });

  const limit = { rule: "rate" } as unknown as Parameters<typeof errors.rateLimited>[0];
  it.each([
    { what: "the key may not make it", error: errors.methodNotForKey("methods"), want: "refused" },
    { what: "the key is out of units", error: errors.rateLimited(limit), want: "refused" },
    { what: "there is no such method", error: errors.methodNotFound("x"), want: "error" },
    { what: "a node refused", error: errors.refusedByNode(-32000, "no", "{}"), want: "error" },
    { what: "nobody expected it", error: errors.internal("r", undefined), want: "error" },
  ])("$what: $want, and nothing is saved", ({ error, want }) => {
    const { line, saved } = recorded({ pieces: ["{}"], error }, "store");
    expect(line).toMatchObject({ outcome: want, saved: undefined });
    expect(saved).toEqual([]);
  });
});
