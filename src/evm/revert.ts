// Recognises a reverted execution in the wording of any node, and extracts its reason.
import { isData } from "./values.ts";

/** A node's error object. */
export type NodeError = {
  readonly code: number;
  readonly message: string;
  readonly data?: unknown;
};

export type Revert = {
  /** The contract's reason, if readable. */
  readonly reason: string | undefined;
  /** All bytes that the contract returned; undefined when the node does not report them. */
  readonly data: string | undefined;
};

/** Levels. No node nests its revert data deeper; Hardhat and Ganache put it into an object. */
const MAX_WRAPPING = 3;

/** @returns undefined when the error is not about a reverted execution. */
export function readRevert(error: NodeError): Revert | undefined {
  const { code, message } = error;
  // Parity uses -32015 for any failed execution, but only a revert has data.
  const isRevert = code === 3 || (code === -32015 && isData(error.data));
  if (!isRevert && !saysRevert(message) && !saysRevert(error.data)) return undefined;
  const data = revertData(error.data, MAX_WRAPPING);
  // The data prevails over the node's message: for a custom error geth's message contains no reason.
  const reason = data && data !== "0x" ? reasonOf(data) : reasonInText(message);
  return { data, reason };
}

/** Besu "Execution reverted", Parity data "Reverted 0x…", Ganache "…: revert why", geth "execution reverted". */
const saysRevert = (text: unknown): boolean =>
  typeof text === "string" && /\brevert(ed)?\b/i.test(text);

/**
 * The revert bytes: the value itself (geth), the end of "Reverted 0x…" (Parity, Nethermind, Conflux), or a member of an
 * object (Hardhat: data, Ganache: result, return).
 */
function revertData(value: unknown, levels: number): string | undefined {
  if (typeof value === "string") {
    const found = /(?:^|[\s"])(0x[0-9a-fA-F]*)"?$/.exec(value)?.[1];
    return isData(found) ? found : undefined;
  }
  if (typeof value !== "object" || value === null || levels === 0) return undefined;
  const members = value as Readonly<Record<string, unknown>>;
  const named = ["data", "result", "return"].map((name) => members[name]);
  for (const inner of [...named, ...Object.values(members).filter(isObject)]) {
    const found = revertData(inner, levels - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null;

/** Reads "execution reverted: why", "… revert why" and "reverted with reason string 'why'". */
function reasonInText(message: string): string | undefined {
  const quoted = /reverted with reason string '(.*)'/s.exec(message)?.[1];
  return quoted ?? /\brevert(?:ed)?:?\s+(?!with\b|without\b)(.+)$/is.exec(message)?.[1];
}

const ERROR_SELECTOR = "0x08c379a0"; // Error(string)
const PANIC_SELECTOR = "0x4e487b71"; // Panic(uint256)
const WORD = 64;

/** The reason that Solidity encodes in the revert bytes; a panic is worded as by geth. */
export function reasonOf(data: string): string | undefined {
  const selector = data.slice(0, ERROR_SELECTOR.length).toLowerCase();
  const body = data.slice(ERROR_SELECTOR.length);
  if (selector === ERROR_SELECTOR) return decodeString(body);
  if (selector !== PANIC_SELECTOR || body.length < WORD) return undefined;
  const code = BigInt(`0x${body.slice(0, WORD)}`);
  return panicReasons.get(code) ?? `unknown panic code: 0x${code.toString(16)}`;
}

/** An ABI string: its offset, its length, its bytes. undefined when they do not fit. */
function decodeString(body: string): string | undefined {
  const offset = wordAt(body, 0);
  const length = wordAt(body, offset);
  const start = (offset + 32) * 2;
  const end = start + length * 2;
  // `!(<=)` also rejects NaN, which a missing word gives.
  if (!(end <= body.length)) return undefined;
  return Buffer.from(body.slice(start, end), "hex").toString("utf8");
}

const wordAt = (body: string, byte: number): number => {
  const digits = body.slice(byte * 2, byte * 2 + WORD);
  return digits.length === WORD ? Number(`0x${digits}`) : Number.NaN;
};

const panicReasons: ReadonlyMap<bigint, string> = new Map([
  [0x00n, "generic panic"],
  [0x01n, "assert(false)"],
  [0x11n, "arithmetic underflow or overflow"],
  [0x12n, "division or modulo by zero"],
  [0x21n, "enum overflow"],
  [0x22n, "invalid encoded storage byte array accessed"],
  [0x31n, "out-of-bounds array access; popping on an empty array"],
  [0x32n, "out-of-bounds access of an array or bytesN"],
  [0x41n, "out of memory"],
  [0x51n, "uninitialized function"],
]);
