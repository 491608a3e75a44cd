import { describe, expect, it } from "vitest";
import {
  budgetWaitMs,
  endingOf,
  isSuspicious,
  learnFrom,
  OUTRUN,
  type Urgency,
} from "./ask-decisions.ts";
import type { AttemptEnding } from "./health/health.ts";
import type { Reply } from "./reply.ts";

const result: Reply = { kind: "result", json: Buffer.from("1") };
const refused: Reply = { kind: "refused", code: 3, message: "no", json: "{}" };
const busy: Reply = { kind: "busy", retryAfterMs: 700 };
const failed: Reply = { kind: "failed", reason: "ECONNRESET" };
const told: Reply = { ...failed, isReported: true };

describe("a call of cost 5 while the budget makes it wait for 40 ms", () => {
  it.each<{ who: string; urgency: Urgency; tried?: true; pressed?: true; want: number }>([
    { who: "waits", urgency: {}, tried: true, pressed: true, want: 40 },
    { who: "that checks the node goes", urgency: { purpose: "check" }, want: 0 },
    { who: "that probes it waits", urgency: { purpose: "probe" }, tried: true, want: 40 },
    {
      who: "that insists goes if it may be tried",
      urgency: { isInsistent: true },
      tried: true,
      want: 0,
    },
    { who: "that insists waits if not", urgency: { isInsistent: true }, pressed: true, want: 40 },
    {
      who: "that follows goes if it may press",
      urgency: { purpose: "follow" },
      pressed: true,
      want: 0,
    },
    { who: "that follows waits if not", urgency: { purpose: "follow" }, tried: true, want: 40 },
  ])("$who", ({ urgency, tried, pressed, want }) => {
    const budget = {
      waitMs: (cost: number) => (cost === 5 ? 40 : 0),
      mayBeTried: (cost: number) => cost === 5 && tried === true,
      mayBePressed: (cost: number) => cost === 5 && pressed === true,
    };
    expect(budgetWaitMs(budget, 5, urgency)).toBe(want);
  });
});

describe("what a call's end says of the node", () => {
  it.each<{ reply: Reply; call: AttemptEnding; probe?: AttemptEnding; isSuspect?: true }>([
    { reply: result, call: "result" },
    { reply: refused, call: "refused" },
    { reply: { kind: "missing" }, call: "missing" },
    { reply: busy, call: "busy" },
    { reply: failed, call: "failed", probe: "aborted", isSuspect: true },
    { reply: told, call: "failed inside", probe: "aborted" },
    { reply: { kind: "timeout" }, call: "timeout", probe: "aborted", isSuspect: true },
    { reply: { kind: "aborted" }, call: "aborted" },
  ])("$reply.kind: $call", ({ reply, call, probe = call, isSuspect = false }) => {
    const { signal } = new AbortController();
    expect(endingOf(reply, { signal, isNoFault: false })).toBe(call);
    expect(endingOf(reply, { signal, isNoFault: true })).toBe(probe);
    expect(isSuspicious(reply)).toBe(isSuspect);
  });

  it("is that another one was faster, when it was given up for that", () => {
    const asked = { signal: AbortSignal.abort(OUTRUN), isNoFault: false };
    expect(endingOf({ kind: "aborted" }, asked)).toBe("outrun");
    expect(endingOf(result, asked)).toBe("result");
  });
});

describe("what is learned from a reply", () => {
  it.each<{ reply: Reply; want: readonly string[] }>([
    { reply: result, want: ["has m with x", "took one of 9"] },
    { reply: refused, want: ["took one of 9"] },
    { reply: busy, want: ["refused one of 9 for 700"] },
    { reply: { kind: "missing" }, want: ["lacks m with x"] },
    { reply: { kind: "missing", isUnsure: true }, want: [] },
    { reply: failed, want: [] },
    { reply: { kind: "timeout" }, want: [] },
    { reply: { kind: "aborted" }, want: [] },
  ])("$reply.kind", ({ reply, want }) => {
    const seen: string[] = [];
    const note = (what: string): void => void seen.push(what);
    const missing = {
      found: (way: string) => note(`has ${way}`),
      remember: (way: string) => note(`lacks ${way}`),
    };
    const budget = {
      answered: (sentAt: number) => note(`took one of ${sentAt}`),
      limited: (ms: number | undefined, sentAt: number) =>
        note(`refused one of ${sentAt} for ${ms}`),
    };
    learnFrom(reply, { way: "m with x", sentAtMs: 9 }, { missing, budget });
    expect(seen).toEqual(want);
  });
});
