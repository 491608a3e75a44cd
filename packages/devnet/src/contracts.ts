// The contracts of the development networks, assembled by hand so that no compiler is needed.

const OPCODES: Readonly<Record<string, string | undefined>> = {
  STOP: "00",
  CALLER: "33",
  CALLDATALOAD: "35",
  CODECOPY: "39",
  NUMBER: "43",
  MSTORE: "52",
  PUSH1: "60",
  PUSH2: "61",
  PUSH32: "7f",
  LOG0: "a0",
  LOG1: "a1",
  LOG2: "a2",
  LOG3: "a3",
  LOG4: "a4",
  RETURN: "f3",
  REVERT: "fd",
};

/** Assembles lines of `OPCODE` or `OPCODE immediate` into hex digits without `0x`. */
export function assemble(lines: readonly string[]): string {
  return lines
    .map((line) => {
      const [name = "", immediate = ""] = line.split(" ");
      const opcode = OPCODES[name];
      if (!opcode) throw new Error(`unknown opcode ${name}`);
      return opcode + immediate;
    })
    .join("");
}

const word = (digits: string): string => digits.padStart(64, "0");
const byteLength = (digits: string): string => (digits.length / 2).toString(16).padStart(4, "0");

/** The creation code that deploys `runtime`. */
function creationOf(runtime: string): string {
  const prologue = (codeAt: string): string =>
    assemble([
      `PUSH2 ${byteLength(runtime)}`,
      `PUSH1 ${codeAt}`,
      "PUSH1 00",
      "CODECOPY",
      `PUSH2 ${byteLength(runtime)}`,
      "PUSH1 00",
      "RETURN",
    ]);
  const offset = (prologue("00").length / 2).toString(16).padStart(2, "0");
  return `0x${prologue(offset)}${runtime}`;
}

/** The first topic of all the emitter's events: any 32 bytes do. */
export const SAMPLE_TOPIC = `0x${"5a".repeat(32)}`;

/** Each call emits five logs, with 0 to 4 topics; their data is the first word of the call's input. */
export const emitter = creationOf(
  assemble([
    "PUSH1 00", // memory[0..32] = input[0..32]
    "CALLDATALOAD",
    "PUSH1 00",
    "MSTORE",
    ...log(0, []),
    ...log(1, [`PUSH32 ${SAMPLE_TOPIC.slice(2)}`]),
    ...log(2, ["CALLER", `PUSH32 ${SAMPLE_TOPIC.slice(2)}`]),
    ...log(3, ["NUMBER", "CALLER", `PUSH32 ${SAMPLE_TOPIC.slice(2)}`]),
    ...log(4, ["PUSH1 00", "CALLDATALOAD", "NUMBER", "CALLER", `PUSH32 ${SAMPLE_TOPIC.slice(2)}`]),
    "STOP",
  ]),
);

/** Emits memory[0..32] with topics that `pushTopics` leaves on the stack, the last one first. */
function log(topics: 0 | 1 | 2 | 3 | 4, pushTopics: readonly string[]): string[] {
  return [...pushTopics, "PUSH1 20", "PUSH1 00", `LOG${topics}`];
}

const REASON = "the gate is closed";

/** Solidity's `Error(string)` with the reason, 100 bytes. */
const revertData = [
  "08c379a0",
  word("20"),
  word(REASON.length.toString(16)),
  Buffer.from(REASON).toString("hex").padEnd(64, "0"),
].join("");

/** A contract that reverts every call, with the reason `the gate is closed`. */
export const reverter = creationOf(
  assemble([
    "PUSH1 64", // the revert data follows these 12 bytes of code
    "PUSH1 0c",
    "PUSH1 00",
    "CODECOPY",
    "PUSH1 64",
    "PUSH1 00",
    "REVERT",
  ]) + revertData,
);

/** Input for the emitter: one 32-byte word. */
export const inputWord = (value: number): string => `0x${word(value.toString(16))}`;
