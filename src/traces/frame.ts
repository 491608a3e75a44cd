// Translates one call, create or self-destruct of any node into OpenEthereum's members, and the node's words for its
// failure into OpenEthereum's words.
import { isData, isQuantity } from "../evm/values.ts";
import { isAbsent, type Json } from "../proofs/json.ts";

/** A node's frame, unchecked. `to` is the new contract of a create, the beneficiary of a self-destruct. */
export type Frame = {
  /** The number of frames around this one. */
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
  /** The value that a delegate call of this frame inherits. */
  readonly value: string;
};

const callTypes: ReadonlySet<string> = new Set(["call", "callcode", "delegatecall", "staticcall"]);

/** Checks and translates a frame. Undefined when a member is missing or makes no sense. */
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

/** A frame that failed has no result, whatever the node says it used and returned. */
function outcomeOf(frame: Frame, result: (output: string) => Json): Outcome | undefined {
  const { error, gasUsed } = frame;
  const output = frame.output ?? "0x";
  if (isAbsent(error) || error === "")
    return isQuantity(gasUsed) && isData(output) ? { result: result(output) } : undefined;
  if (typeof error !== "string") return undefined;
  const words = openEthereumWords(error);
  // Precompiled contracts have words of their own for each bad input.
  return { error: words ?? (isPrecompile(frame.to) ? "Built-in failed" : error) };
}

const isAddress = (value: unknown): value is string =>
  typeof value === "string" && value.length === 42 && isData(value);

/** The addresses where a node runs its own code: 0x01 to 0x11 (Frontier to Prague), and 0x0100 (Osaka). */
const PRECOMPILE = /^0x0{36}(00(0[1-9a-f]|1[01])|0100)$/i;

export const isPrecompile = (address: unknown): boolean =>
  typeof address === "string" && PRECOMPILE.test(address);

/**
 * Whether a frame ran a precompiled contract. Before the fork that made its address one, the account had no code: a call
 * to it costs nothing, returns nothing and cannot fail.
 */
const wasPrecompile = ({ to, gasUsed, output, error }: Frame): boolean =>
  isPrecompile(to) &&
  (to === MODEXP || gasUsed !== "0x0" || !isNothing(output) || !isNothing(error));

const isNothing = (value: unknown): boolean => isAbsent(value) || value === "" || value === "0x";

/** The only precompiled contract that can cost nothing and return nothing. */
const MODEXP = `0x${"5".padStart(40, "0")}`;

/** Whether OpenEthereum does not trace the frame below the top level, though other nodes do. */
export const isUntraced = (frame: Frame, { value }: ReadFrame): boolean =>
  isNothingButPrecompile(frame, value) || failedBeforeItBegan(frame);

/** OpenEthereum traces a CALLCODE or DELEGATECALL to a precompiled contract, since it runs at the caller's address. */
const isNothingButPrecompile = (frame: Frame, value: string): boolean =>
  value === "0x0" && (frame.kind === "call" || frame.kind === "staticcall") && wasPrecompile(frame);

const failedBeforeItBegan = ({ error, gasUsed }: Frame): boolean =>
  typeof error === "string" && isNeverBegun(error) && (isAbsent(gasUsed) || gasUsed === "0x0");

/** OpenEthereum's words for a node's error in a frame. Undefined when no node is known to use the given words. */
export function openEthereumWords(words: string): string | undefined {
  // geth and Erigon put "out of gas:" before every error of an operation's price: "out of gas: write protection".
  const [, detail = ""] = words.slice(0, LONGEST_WORDS).split(/^out of gas:/i);
  return wordsByKey.get(keyOf(detail)) ?? wordsByKey.get(keyOf(words));
}

/** Whether a call failed by depth or balance, which OpenEthereum checks before it begins a call and its trace. */
export const isNeverBegun = (words: string): boolean => neverBegun.has(keyOf(words));

/** The words without detail: "stack underflow (0 <=> 2)", "StackUnderflow" and "Stack underflow" have the same key. */
const keyOf = (words: string): string =>
  (words.slice(0, LONGEST_WORDS).split(/[:(]|\s0x/, 1)[0] ?? "")
    .replaceAll(/[^a-z]/gi, "")
    .toLowerCase();

const LONGEST_WORDS = 200;

/** OpenEthereum's words, and below them those of nodes: geth (first), Besu, Nethermind, revm (reth, anvil). */
const NODE_WORDS = `
Out of gas
  out of gas | contract creation code storage out of gas | gas uint64 overflow
  max code size exceeded | max initcode size exceeded | contract address collision
  INSUFFICIENT_GAS | CODE_TOO_LARGE | Code is too large | Transaction collision
  MemoryOOG | MemoryLimitOOG | PrecompileOOG | InvalidOperandOOG | ReentrancySentryOOG
  CreateContractSizeLimit | CreateInitCodeSizeLimit | CreateCollision
Reverted
  reverted | execution reverted | revert
Bad instruction
  bad instruction | invalid opcode
  INVALID_OPERATION | invalid instruction | OpcodeNotFound | InvalidFEOpcode | NotActivated
Bad jump destination
  bad jump destination | invalid jump destination | INVALID_JUMP_DESTINATION | InvalidJump
Stack underflow
  stack underflow | INSUFFICIENT_STACK_ITEMS
Out of stack (of a full stack, Nethermind's callTracer says "max call depth exceeded")
  out of stack | stack limit reached | stack overflow | TOO_MANY_STACK_ITEMS | max call depth exceeded
Mutable Call In Static Context
  mutable call in static context | write protection
  Illegal state change | Static call violation
  StateChangeDuringStaticCall | CallNotAllowedInsideStatic
Built-in failed
  built-in failed | precompiled failed | precompile error | precompile failure
Out of bounds
  out of bounds | return data out of bounds
  INVALID_RETURN_DATA_BUFFER_ACCESS | Access violation | OutOfOffset
Invalid code (EIP-3541)
  invalid code | Code is invalid | CreateContractStartingWithEF
`;

const wordsByKey = new Map<string, string>();
for (const group of NODE_WORDS.trim().split(/\n(?! )/)) {
  const [ours = "", ...theirs] = group.split(/\n {2}| \| /);
  for (const words of theirs) wordsByKey.set(keyOf(words), ours.replace(/ \(.*/, ""));
}

/** The words of geth, Nethermind and revm for a call that never began. */
const neverBegun: ReadonlySet<string> = new Set(
  `insufficient balance for transfer|max call depth exceeded|nonce uint64 overflow|Not enough balance
  |OutOfFunds|CallTooDeep|OverflowPayment|NonceOverflow`
    .split("|")
    .map(keyOf),
);
