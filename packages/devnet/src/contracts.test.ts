import { describe, expect, it } from "vitest";
import { assemble, emitter, inputWord, reverter } from "./contracts.ts";

/** The runtime code that a creation returns; the creation begins `PUSH2 size, PUSH1 offset, PUSH1 0, CODECOPY, …`. */
const runtimeOf = (creation: string): string => {
  const code = Buffer.from(creation.slice(2), "hex");
  const size = code.readUInt16BE(1);
  const offset = code.readUInt8(4);
  expect(offset + size).toBe(code.length);
  return code.subarray(offset).toString("hex");
};

describe("hand-assembled contracts", () => {
  it("are opcodes with their immediates", () => {
    expect(assemble(["PUSH1 20", "PUSH1 00", "LOG0", "STOP"])).toBe("60206000a000");
  });

  it("know no opcode that is not in the table", () => {
    expect(() => assemble(["PUSH1 20", "JUMP"])).toThrow("unknown opcode JUMP");
  });

  it("emit logs with 0 to 4 topics, in this order", () => {
    expect(runtimeOf(emitter).match(/60206000a[0-4]/g)).toEqual(
      [0, 1, 2, 3, 4].map((topics) => `60206000a${topics}`),
    );
  });

  it("revert with what stands behind twelve bytes of code", () => {
    const data = runtimeOf(reverter).slice(2 * 12);
    expect(data).toHaveLength(2 * 100);
    expect(data).toMatch(/^08c379a0/); // Error(string)
    expect(Buffer.from(data, "hex").toString()).toContain("the gate is closed");
  });

  it("take one word as input", () => {
    expect(inputWord(255)).toBe(`0x${"0".repeat(62)}ff`);
  });
});
