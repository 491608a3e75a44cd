import { describe, expect, it } from "vitest";
import { readTraceContext, TraceContext, TraceIds } from "./trace-context.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

describe("a caller's trace context", () => {
  it("is read as W3C writes it", () => {
    const headers = { traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "vendor=1,other=a b" };
    expect(readTraceContext(headers)).toEqual({
      traceId: TRACE,
      spanId: SPAN,
      isSampled: true,
      state: "vendor=1,other=a b",
    });
  });

  it.each([
    [`00-${TRACE}-${SPAN}-00`, false],
    [`00-${TRACE}-${SPAN}-03`, true],
    [`00-${TRACE}-${SPAN}-02`, false],
    [`cc-${TRACE}-${SPAN}-01-what-comes-in-later-versions`, true],
  ])("%s: sampled %s", (traceparent, isSampled) => {
    expect(readTraceContext({ traceparent })).toMatchObject({ traceId: TRACE, isSampled });
  });

  it.each([
    undefined,
    "",
    `ff-${TRACE}-${SPAN}-01`,
    `00-${TRACE}-${SPAN}-01-more`,
    `00-${TRACE}-${SPAN}`,
    `00-${TRACE.toUpperCase()}-${SPAN}-01`,
    `00-${"0".repeat(32)}-${SPAN}-01`,
    `00-${TRACE}-${"0".repeat(16)}-01`,
    `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
    `cc-${TRACE}-${SPAN}-01-${"x".repeat(10_000)}`,
  ])("%s is none: the trace begins here", (traceparent) => {
    expect(readTraceContext({ traceparent })).toBeUndefined();
  });

  it.each(["a=1\r\nX-Evil: 1", "a=ä", "a".repeat(513)])(
    "a state that is none is left out",
    (tracestate) => {
      const context = readTraceContext({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate });
      expect(context).toMatchObject({ traceId: TRACE, state: undefined });
    },
  );
});

describe("a span's place", () => {
  it("is within its parent's trace, and what is asked within it is sent", () => {
    const parent = readTraceContext({ traceparent: `00-${TRACE}-${SPAN}-01`, tracestate: "a=1" });
    const own = new TraceContext({ parent, isSampled: false }, new TraceIds());
    const inner = own.within();
    expect([own.traceId, inner.traceId]).toEqual([TRACE, TRACE]);
    expect(inner.parent).toBe(own);
    expect(inner.headers()).toEqual({
      traceparent: `00-${TRACE}-${inner.spanId}-00`,
      tracestate: "a=1",
    });
  });

  it("has ids of its own", () => {
    const ids = new TraceIds();
    const all = Array.from({ length: 2_000 }, () => [ids.ofTrace(), ids.ofSpan()]).flat();
    expect(new Set(all).size).toBe(4_000);
    expect(all.every((id) => /^([0-9a-f]{32}|[0-9a-f]{16})$/.test(id))).toBe(true);
  });
});
