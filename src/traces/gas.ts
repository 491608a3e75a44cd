// Gas amounts that OpenEthereum counts unlike other nodes: the gas that a transaction pays before its first instruction,
// and that its top call used. Tracers count the gas that the sender paid for: less the refunds, and no less than
// EIP-7623 requires. OpenEthereum counts the gas that execution took, which the steps show.
import { isData, isQuantity, toQuantity } from "../evm/values.ts";
import { isAbsent, isJson, type Json } from "../proofs/json.ts";
import type { Trace } from "./call-tree.ts";
import { isPrecompile } from "./frame.ts";

/** The gas that the top frame left at its end; "nothing ran" where the frame had no code. */
export type GasLeft = number | "nothing ran";

/** The limit spares the node, which calls a JavaScript function at each step. */
const MAX_STEPS = 250_000;
export const TOO_MANY_STEPS = `more than ${MAX_STEPS} steps`;

/**
 * A tracer in JavaScript, for geth's interface (Erigon, reth and anvil have it, too), which tells how the top frame
 * ended. The tracer reads memory and stack only where the frame returns. For a transaction with too many steps it
 * throws, so that the node stops tracing and answers an error.
 */
export const LAST_STEP_TRACER = `{
steps: 0, first: null, last: null,
step: function(log) {
  if (++this.steps > ${MAX_STEPS}) throw "${TOO_MANY_STEPS}";
  if (log.getDepth() !== 1) return;
  var op = log.op.toNumber(), cost = log.getCost();
  if (this.first === null) this.first = cost;
  this.last = {op: op, gas: log.getGas(), cost: cost};
  if (op !== ${0xf3}) return;
  this.last.offset = Number(log.stack.peek(0).toString());
  this.last.size = Number(log.stack.peek(1).toString());
  this.last.memory = log.memory.length();
},
fault: function() {},
result: function() { return {first: this.first, last: this.last}; }
}`.replaceAll(/\s+/g, " ");

/** The gas left, from this tracer's result; undefined when the result does not tell it, or the frame failed. */
export function gasLeftIn(result: unknown): GasLeft | undefined {
  if (!isJson(result)) return undefined;
  const { first, last } = result;
  if (first === null && last === null) return "nothing ran";
  if (!isJson(last)) return undefined;
  const { op, gas } = last;
  // revm (reth, anvil) tells the cost of a step with the next one, so the first step seems to cost nothing.
  const isToldLater = first === 0;
  const cost = op === STOP || (isToldLater && op === RETURN) ? returnCost(last) : last["cost"];
  if (op !== STOP && op !== RETURN && (op !== SELFDESTRUCT || isToldLater)) return undefined;
  return isCount(gas) && isCount(cost) && cost <= gas ? gas - cost : undefined;
}

const STOP = 0x00;
const RETURN = 0xf3;
const SELFDESTRUCT = 0xff;

/** The cost, in gas, of the memory that a RETURN adds; a STOP adds none. */
function returnCost({ op, offset, size, memory }: Readonly<Record<string, unknown>>): unknown {
  if (op === STOP || size === 0) return 0;
  if (!isCount(offset) || !isCount(size) || !isCount(memory)) return undefined;
  const [before, after] = [memory, offset + size].map((bytes) => memoryCost(Math.ceil(bytes / 32)));
  return Math.max(Number(after) - Number(before), 0);
}

const memoryCost = (words: number): number => 3 * words + Math.floor(words ** 2 / 512);

const isCount = (value: unknown): value is number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0;

/** The gas left, from a vmTrace; undefined when its last operation failed. */
export function gasLeftAfter(vmTrace: unknown): GasLeft | undefined {
  const ops: unknown = isJson(vmTrace) ? vmTrace["ops"] : undefined;
  if (!Array.isArray(ops)) return undefined;
  if (ops.length === 0) return "nothing ran";
  const { ex } = Object(ops.at(-1)) as { ex?: { used?: unknown } | null };
  return isCount(ex?.used) ? ex.used : undefined;
}

const CODE_BYTE = 200;

/**
 * The traces with the gas that the top call used. They stay unchanged where this call failed, or where the gas makes no
 * sense.
 */
export function withGasLeft(traces: readonly Trace[], left: GasLeft): readonly Trace[] {
  const [top, ...below] = traces;
  const { gas, to } = top?.action ?? {};
  const { result } = top ?? {};
  if (!top || !result || !isQuantity(gas)) return traces;
  // Only the node can tell the gas that a precompiled contract took.
  if (left === "nothing ran" && isPrecompile(to)) return traces;
  const limit = Number(gas);
  const code = top.type === "create" ? result["code"] : undefined;
  const deposit = isData(code) ? (CODE_BYTE * (code.length - 2)) / 2 : 0;
  const used = left === "nothing ran" ? deposit : limit - left + deposit;
  if (!Number.isSafeInteger(limit) || used < 0 || used > limit) return traces;
  return [{ ...top, result: { ...result, gasUsed: toQuantity(used) } }, ...below];
}

/** The forks that change intrinsic gas. Access lists and authorizations need no fork: no older block has any. */
export type GasRules = {
  readonly isHomestead: boolean;
  readonly isIstanbul: boolean;
  readonly isShanghai: boolean;
};

/** Networks that are older than these forks. All others began with the first two, and have Shanghai with withdrawals. */
const FORKS: ReadonlyMap<number, { homestead?: number; istanbul: number; shanghai?: number }> =
  new Map([
    [1, { homestead: 1_150_000, istanbul: 9_069_000 }],
    [3, { istanbul: 6_485_846 }], // Ropsten
    [4, { homestead: 1, istanbul: 5_435_345 }], // Rinkeby
    [5, { istanbul: 1_561_651 }], // Görli
    [42, { istanbul: 14_111_141 }], // Kovan
    [61, { homestead: 1_150_000, istanbul: 10_500_839, shanghai: 19_250_000 }], // Ethereum Classic: Phoenix, Spiral
    [63, { istanbul: 999_983, shanghai: 9_957_000 }], // Mordor: Phoenix, Spiral
    [100, { istanbul: 7_298_030 }], // Gnosis
    [137, { istanbul: 3_395_000, shanghai: 50_523_000 }], // Polygon: Agra
  ]);

/** The rules at a block. @param hasWithdrawals Whether the block has the withdrawals that Shanghai adds. */
export function gasRulesAt(block: number, chainId: number, hasWithdrawals: boolean): GasRules {
  const { homestead = 0, istanbul = 0, shanghai } = FORKS.get(chainId) ?? {};
  return {
    isHomestead: block >= homestead,
    isIstanbul: block >= istanbul,
    isShanghai: hasWithdrawals || (shanghai !== undefined && block >= shanghai),
  };
}

const TRANSACTION = 21_000;
const CREATION = 32_000; // EIP-2
const ZERO_BYTE = 4;
const OTHER_BYTE = 16; // EIP-2028
const OTHER_BYTE_BEFORE_ISTANBUL = 68;
const INIT_CODE_WORD = 2; // EIP-3860
const LISTED_ADDRESS = 2_400; // EIP-2930
const LISTED_SLOT = 1_900;
const AUTHORIZATION = 25_000; // EIP-7702

/**
 * The gas that a transaction pays before its first instruction. OpenEthereum's traces leave it out, geth's include it.
 * Without the floor of EIP-7623, which applies after execution. Undefined when a field cannot be read.
 */
export function intrinsicGas(
  transaction: Json,
  { isCreate, rules }: { readonly isCreate: boolean; readonly rules: GasRules },
): number | undefined {
  const input = transaction["input"] ?? transaction["data"] ?? "0x";
  const lists = accessListGas(transaction["accessList"]);
  const authorizations = lengthOf(transaction["authorizationList"]);
  if (!isData(input) || lists === undefined || authorizations === undefined) return undefined;
  const base = isCreate && rules.isHomestead ? TRANSACTION + CREATION : TRANSACTION;
  const words = Math.ceil((input.length - 2) / 64);
  const initCode = isCreate && rules.isShanghai ? INIT_CODE_WORD * words : 0;
  return base + inputGas(input, rules) + initCode + lists + AUTHORIZATION * authorizations;
}

function inputGas(input: string, { isIstanbul }: GasRules): number {
  const otherByte = isIstanbul ? OTHER_BYTE : OTHER_BYTE_BEFORE_ISTANBUL;
  let gas = 0;
  for (const byte of Buffer.from(input.slice(2), "hex")) gas += byte === 0 ? ZERO_BYTE : otherByte;
  return gas;
}

function accessListGas(list: unknown): number | undefined {
  if (isAbsent(list)) return 0;
  if (!Array.isArray(list)) return undefined;
  let gas = 0;
  for (const entry of list as readonly unknown[]) {
    const slots = isJson(entry) ? lengthOf(entry["storageKeys"]) : undefined;
    if (slots === undefined) return undefined;
    gas += LISTED_ADDRESS + LISTED_SLOT * slots;
  }
  return gas;
}

const lengthOf = (list: unknown): number | undefined => {
  if (isAbsent(list)) return 0;
  return Array.isArray(list) ? list.length : undefined;
};
