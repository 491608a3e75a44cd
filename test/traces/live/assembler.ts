// Assembles contracts from names of opcodes and literals to push.
import { createHash } from "node:crypto";

/** "CALLER 0x00 SSTORE": a literal is pushed with the length that it is written in; in parentheses it is raw bytes. */
export function asm(source: string): string {
  const code = source.trim().split(/\s+/).map(encode).join("");
  return `0x${code}`;
}

/** Rows of consecutive opcodes, by the number of the first. */
const TABLE: Readonly<Record<number, string>> = {
  0: "STOP ADD MUL SUB DIV SDIV MOD SMOD ADDMOD MULMOD EXP SIGNEXTEND",
  16: "LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CLZ",
  32: "KECCAK256",
  48: "ADDRESS BALANCE ORIGIN CALLER CALLVALUE CALLDATALOAD CALLDATASIZE CALLDATACOPY CODESIZE",
  57: "CODECOPY GASPRICE EXTCODESIZE EXTCODECOPY RETURNDATASIZE RETURNDATACOPY EXTCODEHASH",
  64: "BLOCKHASH COINBASE TIMESTAMP NUMBER PREVRANDAO GASLIMIT CHAINID SELFBALANCE BASEFEE",
  73: "BLOBHASH BLOBBASEFEE",
  80: "POP MLOAD MSTORE MSTORE8 SLOAD SSTORE JUMP JUMPI PC MSIZE GAS JUMPDEST TLOAD TSTORE MCOPY PUSH0",
  128: "DUP1 DUP2 DUP3 DUP4 DUP5 DUP6 DUP7 DUP8 DUP9 DUP10 DUP11 DUP12 DUP13 DUP14 DUP15 DUP16",
  144: "SWAP1 SWAP2 SWAP3 SWAP4 SWAP5 SWAP6 SWAP7 SWAP8 SWAP9 SWAP10 SWAP11 SWAP12 SWAP13 SWAP14",
  158: "SWAP15 SWAP16 LOG0 LOG1 LOG2 LOG3 LOG4",
  240: "CREATE CALL CALLCODE RETURN DELEGATECALL CREATE2",
  250: "STATICCALL",
  253: "REVERT INVALID SELFDESTRUCT",
};

const codeByName: ReadonlyMap<string, number> = new Map(
  Object.entries(TABLE).flatMap(([first, names]) =>
    names.split(" ").map((name, at) => [name, Number(first) + at] as const),
  ),
);

function encode(word: string): string {
  const bytes = /^\(0x((?:[0-9a-f]{2})*)\)$/.exec(word)?.[1];
  if (bytes !== undefined) return bytes;
  const literal = /^0x((?:[0-9a-f]{2}){1,32})$/.exec(word)?.[1];
  if (literal) return byte(0x5f + literal.length / 2) + literal;
  const code = codeByName.get(word);
  if (code === undefined) throw new Error(`there is no operation ${word}`);
  return byte(code);
}

const byte = (value: number): string => value.toString(16).padStart(2, "0");

/** A different address for each name. */
export const placeOf = (name: string): string =>
  `0x${createHash("sha1").update(name).digest("hex")}`;

export type CallOperation = {
  to: string;
  kind?: "CALL" | "CALLCODE" | "DELEGATECALL" | "STATICCALL";
  /** The code that pushes the gas. */
  gas?: string;
  value?: string;
  input?: readonly [offset: string, size: string];
  output?: readonly [offset: string, size: string];
};

/** Leaves the success flag on the stack. */
export function call({ to, kind = "CALL", gas = "GAS", value = "0x00", ...areas }: CallOperation) {
  const { input = ["0x00", "0x00"], output = ["0x00", "0x00"] } = areas;
  const hasValue = kind === "CALL" || kind === "CALLCODE";
  const [inputAt, inputSize] = input;
  const [outputAt, outputSize] = output;
  const areasFirst = `${outputSize} ${outputAt} ${inputSize} ${inputAt}`;
  return `${areasFirst} ${hasValue ? value : ""} ${to} ${gas} ${kind}`;
}

/** Writes bytes into memory from offset 0, in whole words. */
export const write = (bytes: string): string =>
  (bytes.slice(2).match(/.{1,64}/g) ?? [])
    .map((chunk, index) => `0x${chunk.padEnd(64, "0")} ${two(32 * index)} MSTORE`)
    .join(" ");

/** Leaves the address on the stack, or zero. */
export const create = (init: string, { value = "0x00", salt = "" } = {}): string =>
  `${write(init)} ${salt} ${two(size(init))} 0x00 ${value} ${salt ? "CREATE2" : "CREATE"}`;

/** The init code that leaves `runtime` as the contract's code. */
export const initOf = (runtime: string): string => {
  const bytes = two(size(runtime));
  return asm(`${bytes} 0x000f 0x00 CODECOPY ${bytes} 0x00 RETURN (${runtime})`);
};

const size = (bytes: string): number => (bytes.length - 2) / 2;
const two = (value: number): string => `0x${value.toString(16).padStart(4, "0")}`;
