import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { B, below, log, tell } from "../../test/support/vm-trace-steps.ts";

describe("the text", () => {
  const call = log("STATICCALL", ["0x0", "0x0", "0x0", "0x0", B, "0x3c"], { gasCost: 63 });
  const steps = [
    ...[log("JUMPDEST"), { ...call, pc: 1 }],
    ...[below("PUSH0"), below("STOP", ["0x0"], { pc: 1 }), log("STOP", ["0x1"], { pc: 2 })],
  ];
  const codes = { [B]: "0x5f00" };

  it("begins what an operation enters inside of it", () => {
    const { text } = tell(steps, { codes });
    const inner =
      '{"code":"0x5f00","ops":[{"pc":0,"sub":null,"cost":3,"ex":{"mem":null,"push":["0x0"],"store":null,"used":60}},' +
      '{"pc":1,"sub":null,"cost":3,"ex":{"mem":null,"push":[],"store":null,"used":57}}]}';
    expect(text).toContain(
      `{"pc":1,"sub":${inner},"cost":63,"ex":{"mem":null,"push":["0x1"],"store":null,"used":100}}`,
    );
  });

  it("holds back nothing but the operation that is not over", () => {
    const many = Array.from({ length: 500 }, () => log("JUMPDEST"));
    const { pieces } = tell(many);
    // The beginning, each operation, and the end.
    expect(pieces).toHaveLength(502);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(150);
  });

  it("is as large as may be, and not larger", () => {
    const { text } = tell(steps, { codes });
    expect(tell(steps, { codes, maxBytes: text.length }).outcome).toEqual({ kind: "written" });
    for (let maxBytes = 0; maxBytes < text.length; maxBytes += 1) {
      const told = tell(steps, { codes, maxBytes });
      expect(told.outcome).toEqual({ kind: "too large" });
      expect(told.text.length).toBeLessThanOrEqual(maxBytes);
      expect(text.startsWith(told.text)).toBe(true);
    }
  });

  it("ends before more steps than may be", () => {
    expect(tell(steps, { codes, maxSteps: 5 }).outcome).toEqual({ kind: "written" });
    expect(tell(steps, { codes, maxSteps: 4 }).outcome).toEqual({ kind: "too large" });
  });
});

describe("by chance", () => {
  const item = fc.constantFrom<unknown>(
    "0x0",
    "1",
    "0xffffffff",
    B,
    `0x${"f".repeat(64)}`,
    "",
    7,
    null,
  );
  const count = fc.constantFrom<unknown>(
    0,
    1,
    2,
    32,
    700,
    "0x9",
    2 ** 60,
    -1,
    "x",
    null,
    undefined,
  );
  const names = [
    "PUSH1",
    "MSTORE",
    "CALL",
    "STATICCALL",
    "CREATE2",
    "RETURN",
    "SSTORE",
    "DUP3",
    "?",
  ];
  const memory = fc.oneof(
    fc.array(fc.constantFrom("00".repeat(32), `0x${"1".repeat(64)}`, "zz")),
    item,
  );
  const anything = fc.record({
    ...{ pc: fc.nat(60), op: fc.constantFrom(...names), gas: fc.constantFrom(1_000, 90) },
    ...{ gasCost: fc.constantFrom(0, 3, 700), depth: fc.constantFrom(1, 1, 2, 3) },
    ...{
      stack: fc.array(item, { maxLength: 8 }),
      memory,
      error: fc.constantFrom(undefined, "out of gas"),
    },
  });
  const broken = fc.record({
    pc: count,
    op: item,
    gas: count,
    gasCost: count,
    depth: count,
    stack: item,
  });
  const steps = fc.array(fc.oneof({ weight: 9, arbitrary: anything }, broken, fc.jsonValue()));

  it("nothing that a node tells does harm, and what is written is JSON of no more bytes", () => {
    let writtenOf = 0;
    fc.assert(
      fc.property(steps, fc.nat(3_000), (told, maxBytes) => {
        const { outcome, text } = tell(told, { maxBytes, codes: { [B]: "0x5b5b5b" } });
        expect(text.length).toBeLessThanOrEqual(maxBytes);
        if (outcome.kind !== "written") return;
        expect(JSON.parse(text)).toHaveProperty("ops");
        if (told.length > 1) writtenOf++;
      }),
      { numRuns: 2_000, seed: 1 },
    );
    expect(writtenOf).toBeGreaterThan(20);
  });
});
