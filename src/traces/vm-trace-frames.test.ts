// The frames that calls and creates enter, and those that they do not.
import { describe, expect, it } from "vitest";
import { A, B, below, log, opsOf, tell } from "../../test/support/vm-trace-steps.ts";

/** A step of a call operation; the top of its stack is the last entry. */
const callOf = (op: string, rest = {}) => {
  const value = op === "CALL" || op === "CALLCODE" ? ["0x0"] : [];
  return log(op, ["0x0", "0x0", "0x0", "0x0", ...value, B, "0x3c"], { gasCost: 63, ...rest });
};
const CALLS = ["CALL", "CALLCODE", "DELEGATECALL", "STATICCALL"];
const behind = (push: string, rest = {}) =>
  log("STOP", [push], { pc: 1, gas: 90, gasCost: 0, ...rest });
const codes = { [B]: "0x5b00" };
const inner = [
  below("JUMPDEST", [], { gasCost: 1 }),
  below("STOP", [], { pc: 1, gas: 59, gasCost: 0 }),
];
const innerOps = [
  { pc: 0, sub: null, cost: 1, ex: { mem: null, push: [], store: null, used: 59 } },
  { pc: 1, sub: null, cost: 0, ex: { mem: null, push: [], store: null, used: 59 } },
];

describe("a call", () => {
  it.each(CALLS)("by %s holds what the code at its target did", (op) => {
    const ex = { mem: null, push: ["0x1"], store: null, used: 90 };
    const sub = { code: "0x5b00", ops: innerOps };
    expect(opsOf([callOf(op), ...inner, behind("0x1")], { codes })).toEqual([
      { pc: 0, sub, cost: 63, ex },
      { pc: 1, sub: null, cost: 0, ex: { mem: null, push: [], store: null, used: 90 } },
    ]);
  });

  it("writes its output over the memory, as much as was asked for", () => {
    const stack = ["0x2", "0x1", "0x0", "0x0", "0x0", B, "0x3c"];
    const memory = [`00abcd${"00".repeat(29)}`];
    const ops = opsOf([log("CALL", stack, { gasCost: 63 }), ...inner, behind("0x1", { memory })], {
      codes,
    });
    expect(ops[0].ex.mem).toEqual({ data: "0xabcd", off: 1 });
  });

  it("runs the code that an account has let another one run (EIP-7702)", () => {
    const delegating = { ...codes, [A]: `0xef0100${B.slice(2)}` };
    const { text } = tell(
      inner.map((one) => ({ ...one, depth: 1 })),
      { codes: delegating },
    );
    expect(JSON.parse(text)).toEqual({ code: "0x5b00", ops: innerOps });
  });

  it("finds the target in the last 20 bytes", () => {
    const stack = ["0x0", "0x0", "0x0", "0x0", `0x${"c".repeat(24)}${B.slice(2)}`, "0x3c"];
    const ops = opsOf([log("STATICCALL", stack, { gasCost: 63 }), ...inner, behind("0x1")], {
      codes,
    });
    expect(ops[0].sub.code).toBe("0x5b00");
  });

  it.each([
    {
      what: "an account without code",
      next: behind("0x1", { gas: 97 }),
      sub: { code: "0x", ops: [] },
    },
    {
      what: "a precompile that fails",
      next: behind("0x0", { gas: 37 }),
      sub: { code: "0x", ops: [] },
    },
    { what: "what depth or balance forbid", next: behind("0x0", { gas: 97 }), sub: null },
  ])("to $what has the frame $sub", ({ next, sub }) => {
    const [operation] = opsOf([callOf("CALL"), next]);
    expect(operation).toMatchObject({ cost: 63, sub, ex: { used: next.gas } });
  });

  it("that failed without a step has the code that it called", () => {
    const [operation] = opsOf([callOf("CALL"), behind("0x0", { gas: 37 })], { codes });
    expect(operation.sub).toEqual({ code: "0x5b00", ops: [] });
  });

  it("into a frame in which nothing began is followed by others", () => {
    const invalid = below("INVALID", [], { gasCost: 0 });
    const ops = opsOf([callOf("CALL"), invalid, behind("0x0", { gas: 37 })], { codes });
    expect(ops.map(({ sub }: { sub: unknown }) => sub)).toEqual([
      { code: "0x5b00", ops: [] },
      null,
    ]);
  });

  it("to a precompile with no gas at all has a frame, but not where the depth is used up", () => {
    const free = { gas: 100, gasCost: 40 };
    const stack = ["0x0", "0x0", "0x0", "0x0", "0x5", "0x0"];
    const failed = behind("0x0", { gas: 60 });
    expect(opsOf([log("STATICCALL", stack, free), failed])[0].sub).toEqual({ code: "0x", ops: [] });
    const deep = [log("STATICCALL", stack, free), failed].map((one) => ({ ...one, depth: 1025 }));
    expect(opsOf(deep)[0].sub).toBeNull();
  });

  it("of which the frame runs out of gas is itself no failure", () => {
    const short = below("SSTORE", ["0x1", "0x2"], {
      gas: 60,
      gasCost: 20_000,
      error: "out of gas",
    });
    const [operation] = opsOf([callOf("CALL"), short, behind("0x0", { gas: 37 })], { codes });
    expect(operation.ex).toEqual({ mem: null, push: ["0x0"], store: null, used: 37 });
    expect(operation.sub.ops).toEqual([{ pc: 0, sub: null, cost: 20_000, ex: null }]);
  });
});

describe("a create", () => {
  const INIT = "5b60016000f3";
  const memory = [`00${INIT}`.padEnd(64, "0")];
  const created = `0x${"c".repeat(40)}`;
  const createOf = (op: string, rest = {}) => {
    const salt = op === "CREATE2" ? ["0x7"] : [];
    return log(op, [...salt, "0x6", "0x1", "0x0"], { gas: 1_000, gasCost: 360, memory, ...rest });
  };
  /** The step of a RETURN that leaves a STOP as the code of the contract. */
  const leaves = below("RETURN", ["0x1", "0x0"], {
    pc: 5,
    gas: 600,
    gasCost: 0,
    memory: ["00".repeat(32)],
  });
  const reverts = { ...leaves, op: "REVERT" };
  const next = (push: string, gas: number) => behind(push, { gas, memory });

  it.each(["CREATE", "CREATE2"])("by %s holds what its init code did", (op) => {
    const { sub, ex } = opsOf([createOf(op), { ...leaves, gas: 630 }, next(created, 640)])[0];
    expect(ex).toEqual({ mem: null, push: [created], store: null, used: 640 });
    expect(sub).toMatchObject({ code: `0x${INIT}`, ops: [{ pc: 5, cost: 0, ex: { used: 630 } }] });
  });

  it.each([
    { node: "geth, which leaves it out", gasCost: 360 },
    { node: "anvil, which counts it", gasCost: 990 },
  ])("costs what it passes on too, by the steps of $node", ({ gasCost }) => {
    const steps = (frame: object[], push: string, left: number) =>
      opsOf([createOf("CREATE", { gasCost }), ...frame, next(push, left)])[0];
    expect(steps([{ ...leaves, gas: 630 }], created, 630).cost).toBe(990);
    expect(steps([], "0x0", 640)).toMatchObject({ cost: 990, sub: null });
  });

  it("leaves code that runs later in the transaction", () => {
    const call = ["0x0", "0x0", "0x0", "0x0", "0x0", created, "0x9"];
    const born = [createOf("CREATE"), leaves, log("GAS", [created], { memory, gasCost: 2 })];
    const later = [log("CALL", call, { gas: 98, gasCost: 9 }), below("STOP", [], { gasCost: 0 })];
    const ops = opsOf([...born, ...later, behind("0x1")]);
    expect(ops[2].sub).toMatchObject({ code: "0x00", ops: [{ ex: { used: 60 } }] });
  });

  it.each([
    { why: "reverts", last: reverts, left: 600, ending: { used: 600 } },
    { why: "fails", last: { ...leaves, gasCost: 601 }, left: 10, ending: null },
    { why: "has not the gas to leave its code", last: leaves, left: 10, ending: { used: 600 } },
  ])("that $why gives 0", ({ last, left, ending }) => {
    const operation = opsOf([createOf("CREATE"), last, next("0x0", left)])[0];
    expect(operation.ex.push).toEqual(["0x0"]);
    const { ex } = operation.sub.ops[0];
    if (ending) expect(ex).toMatchObject(ending);
    else expect(ex).toBeNull();
  });

  it.each([
    { what: "has no code", stack: ["0x0", "0x0", "0x0"], push: created, gas: 640, code: "0x" },
    {
      what: "meets an account",
      stack: ["0x6", "0x1", "0x0"],
      push: "0x0",
      gas: 10,
      code: `0x${INIT}`,
    },
  ])("that $what has a frame without steps", ({ stack, push, gas, code }) => {
    const create = { ...createOf("CREATE"), stack };
    expect(opsOf([create, next(push, gas)])[0].sub).toEqual({ code, ops: [] });
  });

  it("is what a transaction without a receiver is", () => {
    const { text } = tell([{ ...leaves, depth: 1 }], { top: { init: `0x${INIT}` } });
    expect(JSON.parse(text)).toMatchObject({
      code: `0x${INIT}`,
      ops: [{ pc: 5, ex: { used: 600 } }],
    });
  });
});

it("has nothing in it where nothing ran", () => {
  expect(tell([], { top: { to: B } }).text).toBe('{"code":"0x","ops":[]}');
});

it("goes as deep as the EVM", () => {
  const stack = ["0x0", "0x0", "0x0", "0x0", A, "0x9"];
  const down = Array.from({ length: 1025 }, (_, at) =>
    log("STATICCALL", stack, { depth: at + 1, gas: 5_000 - at, gasCost: 9 }),
  );
  const up = down.map(({ depth }) => behind("0x1", { depth })).reverse();
  up[0] = behind("0x0", { depth: 1025, gas: 5_000 });
  let [frames, ops] = [0, opsOf([...down, ...up])];
  for (; ops; ops = ops[0].sub?.ops) frames++;
  expect(frames).toBe(1025);
});
