// One call, create or self-destruct as a node tells it, read into the members that OpenEthereum gives it.
import { isData, isQuantity } from "../evm/values.ts";
import { isAbsent, type Json } from "../proofs/json.ts";
import { openEthereumWords } from "./frame-errors.ts";
import { isPrecompile } from "./precompiles.ts";

/** What a node wrote, unchecked; `to` is the new contract of a create, the heir of a self-destruct. */
export type Frame = {
  /** How many frames it is inside of. */
  readonly depth: number;
  readonly kind: string;
  readonly from: unknown;
  readonly to: unknown;
  readonly value: unknown;
  readonly gas: unknown;
  readonly input: unknown;
  readonly gasUsed: unknown;
  readonly output: unknown;
  readonly error: unknown;
  readonly creationMethod?: unknown;
};

type Outcome = { readonly error: string } | { readonly result: Json | null };

export type ReadFrame = {
  readonly type: "call" | "create" | "suicide";
  readonly action: Json;
  readonly outcome: Outcome;
  /** What a delegate call inside of it inherits. */
  readonly value: string;
};

const callTypes: ReadonlySet<string> = new Set(["call", "callcode", "delegatecall", "staticcall"]);

/** Undefined when a member is missing or nonsense. */
export function readFrame(frame: Frame, inheritedValue: string): ReadFrame | undefined {
  const value = valueFor(frame, inheritedValue);
  if (!isAddress(frame.from) || !isQuantity(value)) return undefined;
  if (callTypes.has(frame.kind)) return readCall(frame, value);
  if (frame.kind === "create") return readCreate(frame, value);
  if (frame.kind === "suicide") return readSuicide(frame, value);
  return undefined;
}

function valueFor({ kind, value }: Frame, inheritedValue: string): unknown {
  if (kind === "staticcall") return "0x0";
  return value ?? (kind === "delegatecall" ? inheritedValue : "0x0");
}

function readCall(frame: Frame, value: string): ReadFrame | undefined {
  const { kind: callType, from, to, gas } = frame;
  const input = frame.input ?? "0x";
  const outcome = outcomeOf(frame, (output) => ({ gasUsed: frame.gasUsed, output }));
  if (!isAddress(to) || !isQuantity(gas) || !isData(input) || !outcome) return undefined;
  return { type: "call", action: { from, callType, gas, input, to, value }, outcome, value };
}

function readCreate(frame: Frame, value: string): ReadFrame | undefined {
  const { from, to: address, gas, creationMethod } = frame;
  const init = frame.input ?? "0x";
  const outcome = outcomeOf(frame, (code) => ({ gasUsed: frame.gasUsed, code, address }));
  if (!isQuantity(gas) || !isData(init) || !outcome) return undefined;
  if ("result" in outcome && !isAddress(address)) return undefined;
  const isNamed = creationMethod === "create" || creationMethod === "create2";
  const action = { from, value, gas, init, ...(isNamed && { creationMethod }) };
  return { type: "create", action, outcome, value };
}

function readSuicide({ from: address, to }: Frame, balance: string): ReadFrame | undefined {
  if (!isAddress(to)) return undefined;
  const action = { address, refundAddress: to, balance };
  return { type: "suicide", action, outcome: { result: null }, value: balance };
}

/** What failed has no result, whatever the node says it used and returned. */
function outcomeOf(frame: Frame, result: (output: string) => Json): Outcome | undefined {
  const { error, gasUsed } = frame;
  const output = frame.output ?? "0x";
  if (isAbsent(error) || error === "")
    return isQuantity(gasUsed) && isData(output) ? { result: result(output) } : undefined;
  if (typeof error !== "string") return undefined;
  const words = openEthereumWords(error);
  // Precompiles have words of their own for each input they dislike.
  return { error: words ?? (isPrecompile(frame.to) ? "Built-in failed" : error) };
}

const isAddress = (value: unknown): value is string =>
  typeof value === "string" && value.length === 42 && isData(value);
