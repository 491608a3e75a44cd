import fc from "fast-check";
import { expect, it } from "vitest";
import { normaliseVmTrace } from "./normalise-vm-trace.ts";

const operation = (sub: unknown = null) => ({
  cost: 3,
  ex: { mem: null, push: ["0x0"], store: null, used: 7 },
  pc: 0,
  sub,
});
const asErigon = (sub: unknown = null, idx = "0") => ({ ...operation(sub), idx, op: "PUSH1" });

it("leaves out what Erigon adds, in every frame", () => {
  const inner = { code: "0x01", ops: [asErigon(null, "0-0"), asErigon(null, "0-1")] };
  const told = { code: "0x00", ops: [asErigon(inner), asErigon()] };
  const wanted = { code: "0x01", ops: [operation(), operation()] };
  expect(normaliseVmTrace(told)).toEqual({ code: "0x00", ops: [operation(wanted), operation()] });
});

it("does not write on what it was given", () => {
  const told = { code: "0x00", ops: [asErigon({ code: "0x01", ops: [asErigon()] })] };
  const before = structuredClone(told);
  normaliseVmTrace(told);
  expect(told).toEqual(before);
});

it.each([
  null,
  "0x",
  [],
  { code: "0x", ops: [] }, // what Erigon writes of a transfer
  { code: "0x", ops: null },
  { code: "0x", ops: [null, 1, { pc: 1, sub: [1] }] },
])("leaves %j as it is", (value) => {
  expect(normaliseVmTrace(value)).toEqual(value);
});

it("is not taken from revm, which counts otherwise", () => {
  const revm = { ...operation(), ex: { ...operation().ex, mem: { data: "0x", off: 0 } } };
  expect(normaliseVmTrace({ code: "0x00", ops: [operation(), revm] })).toBeUndefined();
  const within = operation({ code: "0x00", ops: [revm] });
  expect(normaliseVmTrace({ code: "0x00", ops: [within] })).toBeUndefined();
});

it("follows frames as deep as they go", () => {
  let trace: unknown = { code: "0x", ops: [asErigon()] };
  for (let depth = 0; depth < 100_000; depth++) trace = { code: "0x", ops: [asErigon(trace)] };
  let frame = normaliseVmTrace(trace) as { ops: { sub: unknown; idx?: string }[] } | null;
  let frames = 0;
  while (frame) {
    expect(frame.ops[0]?.idx).toBeUndefined();
    frame = (frame.ops[0]?.sub as typeof frame) ?? null;
    frames++;
  }
  expect(frames).toBe(100_001);
});

it("takes anything", () => {
  fc.assert(fc.property(fc.jsonValue(), (value) => void normaliseVmTrace({ ops: [value] })));
});
