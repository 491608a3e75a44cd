// The end of a frame's last operation, which few nodes tell; and steps that contradict each other.
import { describe, expect, it } from "vitest";
import { A, B, below, log, opsOf, tell } from "../../test/support/vm-trace-steps.ts";

/** The entry of an operation with which the top frame ends. */
const endOf = (last: object) => opsOf([last])[0];

describe("a last operation", () => {
  it.each([
    { op: "STOP", rest: { gasCost: 0 } },
    { op: "RETURN", stack: ["0x0", "0x0"] },
    { op: "REVERT", stack: ["0x0", "0x0"] },
    { op: "REVERT", stack: ["0x0", "0x0"], rest: { error: "execution reverted" } },
    { op: "SELFDESTRUCT", stack: ["0x0"] },
    { op: "SUICIDE", stack: ["0x0"] },
    { op: "JUMP", stack: ["0x3"] }, // OpenEthereum checks the destination only afterwards
    { op: "JUMPI", stack: ["0x1", "0x3"], rest: { error: "invalid jump destination" } },
  ])("$op $rest.error was done", ({ op, stack, rest }) => {
    const last = log(op, stack, rest);
    const used = 100 - last.gasCost;
    const ex = { mem: null, push: [], store: null, used };
    expect(endOf(last)).toEqual({ pc: 0, sub: null, cost: last.gasCost, ex });
  });

  it.each([
    { what: "an SSTORE out of gas, by geth", op: "SSTORE", error: "out of gas", gasCost: 0 },
    { what: "an SSTORE out of gas, told by its cost", op: "SSTORE", gasCost: 20_000 },
    { what: "an SSTORE in a static frame", op: "SSTORE", gasCost: 50 },
    // geth tells only a part of a price that it did not compute to its end: docs/traces.md.
    {
      ...{ what: "an SSTORE in a static frame, by geth", op: "SSTORE" },
      ...{ error: "out of gas: write protection", gasCost: 0 },
    },
    {
      what: "hashing without its constant part",
      op: "KECCAK256",
      error: "out of gas",
      gasCost: 30,
    },
    { what: "a CALL of a cold account, by geth", op: "CALL", error: "out of gas", gasCost: 100 },
    { what: "a jump out of gas", op: "JUMPI", error: "out of gas" },
    { what: "a REVERT out of gas", op: "REVERT", gasCost: 101 },
    { what: "a RETURN out of gas, by revm", op: "RETURN", error: "OutOfGas" },
    { what: "a RETURNDATACOPY out of bounds", op: "RETURNDATACOPY" },
    { what: "a CALL with value in a static frame", op: "CALL", gasCost: 40 },
    { what: "a CREATE out of gas", op: "CREATE", gasCost: 32_000 },
  ])("that is $what failed", ({ op, gasCost = 3, ...rest }) => {
    const stack = ["0x0", "0x0", "0x0", "0x0", "0x1", B, "0x0"];
    const last = log(op, stack, { gasCost, ...rest });
    expect(endOf(last)).toEqual({ pc: 0, sub: null, cost: gasCost, ex: null });
  });

  it("that failed may cost all that was left, as revm counts", () => {
    const last = log("MSTORE", ["0x1", "0xffffff"], { gasCost: 100, error: "MemoryOOG" });
    expect(endOf(last)).toMatchObject({ cost: 100, ex: null });
  });

  it.each([
    { what: "INVALID, by geth", op: "INVALID", gasCost: 0 },
    { what: "unknown, by geth", op: "opcode 0x0c not defined", gasCost: 0 },
    { what: "unknown, by another node", op: "0x0c" },
    { what: "known, but not yet", op: "PUSH0", gasCost: 0 },
    { what: "known, but not yet, by its error", op: "CLZ", stack: ["0x1"], error: "NotActivated" },
    { what: "short of stack", op: "ADD", stack: ["0x1"], error: "stack underflow (1 <=> 2)" },
    { what: "short of stack, and no one says so", op: "ADD", stack: ["0x1"] },
    { what: "short of stack for a halt", op: "RETURN", stack: ["0x1"] },
    { what: "one too many", op: "PUSH1", stack: Array.from({ length: 1024 }, () => "0x1") },
    { what: "too costly to count", op: "MLOAD", stack: ["0x0"], gasCost: 2 ** 64 },
    {
      what: "too costly to count, by geth",
      op: "MLOAD",
      stack: ["0x0"],
      error: "out of gas: gas uint64 overflow",
    },
  ])("that is $what is not told of", ({ op, stack = [], ...rest }) => {
    expect(endOf(log(op, stack, rest))).toBeUndefined();
  });

  it("behind the end of the code is not told of", () => {
    const codes = { [A]: "0x5f" };
    const steps = [log("PUSH0", []), log("STOP", ["0x0"], { pc: 1, gasCost: 0 })];
    expect(opsOf(steps, { codes })).toHaveLength(1);
  });

  it.each(["STATICCALL", "DELEGATECALL"])("SELFDESTRUCT below a %s, however deep", (op) => {
    const passed = ["0x0", "0x0", "0x0", "0x0", B, "0x3c"];
    const calls = [log(op, passed), below("DELEGATECALL", passed)];
    const deepest = log("SELFDESTRUCT", ["0x0"], { depth: 3, gas: 50 });
    const success = op === "STATICCALL" ? "0x0" : "0x1";
    const ends = [
      below("STOP", [success], { gas: 9, gasCost: 0 }),
      log("STOP", ["0x1"], { gas: 9 }),
    ];
    const [operation] = opsOf([...calls, deepest, ...ends], { codes: { [B]: "0xff" } });
    const { ex } = operation.sub.ops[0].sub.ops[0];
    expect(ex === null).toBe(op === "STATICCALL");
  });
});

describe("steps that contradict themselves", () => {
  const call = log("STATICCALL", ["0x0", "0x0", "0x0", "0x0", B, "0x3c"], { gasCost: 63 });
  const codes = { [B]: "0x00" };
  const stop = log("STOP", ["0x1"], { gas: 90, gasCost: 0 });

  it.each([
    { what: "a frame that nothing entered", logs: [log("ADD", ["0x1", "0x2"]), below("STOP")] },
    { what: "a frame that was refused", logs: [{ ...call, gasCost: 101 }, below("STOP")] },
    { what: "two frames at once", logs: [call, { ...below("STOP"), depth: 3 }] },
    { what: "an end above the beginning", logs: [log("STOP"), { ...log("STOP"), depth: 0 }] },
    { what: "a step behind a halt", logs: [log("STOP"), stop] },
    { what: "a step behind an unknown operation", logs: [log("opcode 0x0c not defined"), stop] },
    { what: "a stack that is too short for what was pushed", logs: [log("PUSH0"), log("STOP")] },
    { what: "a stack that is none", logs: [log("PUSH0"), log("STOP", [{}])] },
    { what: "no memory, though it was written", logs: [log("MSTORE", ["0x1", "0x0"]), stop] },
    {
      what: "a memory of no hex",
      logs: [log("MSTORE", ["0x1", "0x0"]), { ...stop, memory: "0x".padEnd(66, "z") }],
    },
    {
      what: "a success of a frame that failed",
      logs: [call, below("SSTORE", ["0x0", "0x0"]), stop],
    },
    { what: "code that is not known", logs: [call, below("STOP")], codes: { [B]: undefined } },
    { what: "code that is none", logs: [call, below("STOP")], codes: { [B]: '0x"' } },
    { what: "nothing like a step", logs: [{ ...stop, op: 5 }] },
  ])("are unreadable: $what", ({ logs, ...told }) => {
    expect(tell(logs, { codes, ...told }).outcome).toMatchObject({ kind: "unreadable" });
  });

  it("are told of where they begin", () => {
    const { outcome } = tell([log("PUSH0", [], { pc: 7 }), log("STOP")]);
    expect(outcome).toEqual({ kind: "unreadable", why: "PUSH0 at 7 is told in part" });
  });
});
