// Reads one step of debug_traceTransaction without a tracer, in the spelling of any node: stack entries with or without
// 0x and padding, memory as words or as one text.
import { toQuantity } from "../evm/values.ts";
import { isAbsent, isJson } from "../proofs/json.ts";

export type Step = {
  readonly pc: number;
  readonly op: string;
  /** The gas before the step. */
  readonly gas: number;
  /** In gas. The cost of a call includes the gas that it passes on, that of a create does not. Infinite on overflow. */
  readonly cost: number;
  readonly depth: number;
  /** The stack before the step; its top is the last entry. */
  readonly stack: readonly unknown[];
  readonly memory: unknown;
  readonly error: string;
};

/** @returns undefined when the value is no step. */
export function readStep(value: unknown): Step | undefined {
  if (!isJson(value)) return undefined;
  const { op, stack, memory, error } = value;
  const pc = readCount(value["pc"]);
  const gas = readCount(value["gas"]);
  const cost = readCount(value["gasCost"], Number.POSITIVE_INFINITY);
  const depth = readCount(value["depth"]);
  if (pc === undefined || gas === undefined || cost === undefined || depth === undefined)
    return undefined;
  if (typeof op !== "string" || !Array.isArray(stack)) return undefined;
  return { pc, op, gas, cost, depth, stack, memory, error: errorText(error) };
}

/** A stack entry as a QUANTITY. @param index 0 is the top. @returns undefined when there is no such entry. */
export function stackItem({ stack }: Step, index: number): string | undefined {
  const item = stack.at(-1 - index);
  if (typeof item === "number" && Number.isSafeInteger(item) && item >= 0) return toQuantity(item);
  if (typeof item !== "string" || !STACK_ITEM.test(item)) return undefined;
  const digits = item.replace(/^(0x)?0*/i, "");
  return `0x${digits.toLowerCase() || "0"}`;
}

const STACK_ITEM = /^(0x)?[0-9a-f]{0,64}$/i;

/** A stack entry as a number; undefined when it is too large to be a number of bytes, or gas. */
export function stackCount(step: Step, index: number): number | undefined {
  const item = stackItem(step, index);
  const count = item === undefined ? Number.NaN : Number(item);
  return Number.isSafeInteger(count) ? count : undefined;
}

/** A part of the memory as DATA, with zeros beyond its end, as in the EVM. undefined when it cannot be read. */
export function memorySlice(memory: unknown, offset: number, size: number): string | undefined {
  const text = memoryText(memory, offset, size);
  return text === undefined ? undefined : `0x${text.toLowerCase().padEnd(2 * size, "0")}`;
}

/** The size of the memory in bytes; 0 when the node does not tell it. */
export function memorySize(memory: unknown): number {
  if (typeof memory === "string") return (memory.length - prefixLength(memory)) / 2;
  return Array.isArray(memory) ? 32 * memory.length : 0;
}

function memoryText(memory: unknown, offset: number, size: number): string | undefined {
  if (isAbsent(memory)) return "";
  if (typeof memory === "string") return hexSlice(memory, offset, size);
  if (!Array.isArray(memory)) return undefined;
  const first = Math.floor(offset / 32);
  const words = memory.slice(first, Math.ceil((offset + size) / 32));
  if (!words.every(isWord)) return undefined;
  const text = words.map((word) => word.slice(prefixLength(word))).join("");
  return hexSlice(text, offset - 32 * first, size);
}

const isWord = (word: unknown): word is string =>
  typeof word === "string" && word.length - prefixLength(word) === 64;

function hexSlice(text: string, offset: number, size: number): string | undefined {
  const start = prefixLength(text) + 2 * offset;
  const slice = text.slice(start, start + 2 * size);
  return /^[0-9a-f]*$/i.test(slice) ? slice : undefined;
}

const prefixLength = (text: string): number => (/^0x/i.test(text) ? 2 : 0);

function readCount(value: unknown, ifTooLarge?: number): number | undefined {
  const isCount = typeof value === "string" ? /^(0x[0-9a-f]+|\d+)$/i.test(value) : true;
  const count = typeof value === "number" || typeof value === "string" ? Number(value) : Number.NaN;
  if (!isCount || !(count >= 0)) return undefined;
  if (count > Number.MAX_SAFE_INTEGER) return ifTooLarge;
  return Number.isInteger(count) ? count : undefined;
}

/** The error as text, since some nodes write an object. */
function errorText(error: unknown): string {
  if (isAbsent(error) || error === false) return "";
  return typeof error === "string" ? error : JSON.stringify(error);
}
