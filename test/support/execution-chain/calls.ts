// Executes messages on the state after a block without keeping the changes: eth_call and eth_estimateGas.
import type { Block } from "@ethereumjs/block";
import type { StateManagerInterface } from "@ethereumjs/common";
import {
  type AccessList,
  createTx,
  getCalldataFloorGas,
  type TypedTransaction,
} from "@ethereumjs/tx";
import {
  type Address,
  bytesToHex,
  type PrefixedHexString,
  toChecksumAddress,
} from "@ethereumjs/util";
import { createVM, type RunTxResult, runTx } from "@ethereumjs/vm";
import { invalidParams, RpcFailure, readBytes, readObject, readQuantity } from "./arguments.ts";
import { throwIfFailed } from "./evm-failure.ts";
import { type ExecutedBlock, type ExecutedChain, hashesOf } from "./execute.ts";
import { quantity } from "./shapes.ts";
import { stateAfter, toAddress } from "./state.ts";

export type Message = {
  from: Address;
  to: Address | undefined;
  gas: bigint | undefined;
  gasPrice: bigint;
  value: bigint;
  input: PrefixedHexString;
  accessList: AccessList | undefined;
};

/** Reads the call object of eth_call and eth_estimateGas. */
export function readMessage(value: unknown): Message {
  const fields = readObject(value);
  const { to, gas, accessList } = fields;
  return {
    from: toAddress(fields["from"] ?? `0x${"0".repeat(40)}`),
    to: ifGiven(to, toAddress),
    gas: ifGiven(gas, readQuantity),
    gasPrice: readQuantity(fields["gasPrice"] ?? fields["maxFeePerGas"] ?? "0x0"),
    value: readQuantity(fields["value"] ?? "0x0"),
    input: readInput(fields),
    accessList: ifGiven(accessList, (list) => list as AccessList),
  };
}

/** eth_call: the returned bytes, or geth's error. */
export async function call(
  chain: ExecutedChain,
  at: ExecutedBlock,
  message: Message,
): Promise<string> {
  const gas = smaller(message.gas ?? rpcGasCap, gasCap(at.block));
  const outcome = await execute(chain, at, { ...message, gas });
  if (outcome.kind !== "executed")
    throw new RpcFailure(-32000, `err: ${outcome.reason} (supplied gas ${gas})`);
  throwIfFailed(outcome);
  return bytesToHex(outcome.execResult.returnValue);
}

/** eth_estimateGas: geth's search, with its early end at 1.5 %, so that the numbers agree. */
export async function estimateGas(
  chain: ExecutedChain,
  at: ExecutedBlock,
  message: Message,
): Promise<string> {
  const attempt = (gas: bigint) => executeWithGas(chain, at, { ...message, gas });
  const succeeds: Probe = async (gas) => {
    const outcome = await attempt(gas);
    return outcome !== undefined && outcome.execResult.exceptionError === undefined;
  };
  const state = await stateAfter(chain, at);
  const highest = await highestGas(state, at.block, message);
  if ((await isPlainTransfer(state, message)) && (await succeeds(transferGas)))
    return quantity(transferGas);
  const first = await attempt(highest);
  if (!first || first.execResult.exceptionError?.error === "out of gas")
    throw new RpcFailure(-32000, `gas required exceeds allowance (${highest})`);
  throwIfFailed(first);
  const guess = ((first.spentBeforeRefund + callStipend) * 64n) / 63n;
  const bounds = await tryGuess(
    { failing: first.totalGasSpent - 1n, working: highest },
    guess,
    succeeds,
  );
  return quantity(await bisect(bounds, succeeds));
}

type Probe = (gas: bigint) => Promise<boolean>;
type Bounds = { failing: bigint; working: bigint };

async function tryGuess(bounds: Bounds, guess: bigint, succeeds: Probe): Promise<Bounds> {
  if (guess >= bounds.working) return bounds;
  return (await succeeds(guess)) ? { ...bounds, working: guess } : { ...bounds, failing: guess };
}

async function bisect({ failing, working }: Bounds, succeeds: Probe): Promise<bigint> {
  if (failing + 1n >= working || Number(working - failing) / Number(working) < tolerance)
    return working;
  const middle = smaller((working + failing) / 2n, failing * 2n);
  const narrowed = (await succeeds(middle))
    ? { failing, working: middle }
    : { failing: middle, working };
  return bisect(narrowed, succeeds);
}

/** The most gas of an estimate: the caller's, the chain's limit, or what the sender can pay, whichever is the least. */
async function highestGas(
  state: StateManagerInterface,
  block: Block,
  { from, gas = 0n, gasPrice, value }: Message,
): Promise<bigint> {
  const wished = smaller(gas < transferGas ? block.header.gasLimit : gas, gasCap(block));
  if (gasPrice === 0n) return wished;
  const balance = (await state.getAccount(from))?.balance ?? 0n;
  if (balance < value) throw new RpcFailure(-32000, "insufficient funds for transfer");
  return smaller(wished, (balance - value) / gasPrice);
}

/** Undefined when the gas does not even pay for the message itself. */
async function executeWithGas(
  chain: ExecutedChain,
  at: ExecutedBlock,
  message: Message & { gas: bigint },
): Promise<Outcome | undefined> {
  const outcome = await execute(chain, at, message);
  if (outcome.kind === "executed") return outcome;
  if (outcome.kind === "too little gas") return undefined;
  throw new RpcFailure(-32000, `failed with ${message.gas} gas: ${outcome.reason}`);
}

// Geth's constants: --rpc.gascap, params.TxGas, params.CallStipend, estimateGasErrorRatio.
const rpcGasCap = 50_000_000n;
const transferGas = 21_000n;
const callStipend = 2_300n;
const tolerance = 0.015;

type Outcome = RunTxResult & { kind: "executed"; spentBeforeRefund: bigint };
type Refusal = { kind: "too little gas" | "not paid for"; reason: string };

/**
 * Runs a message as an unsigned transaction on the state after a block, and discards the changes.
 * Unlike geth, ethereumjs takes no message from an address with code (EIP-3607).
 */
async function execute(
  chain: ExecutedChain,
  at: ExecutedBlock,
  message: Message & { gas: bigint },
): Promise<Outcome | Refusal> {
  const block = message.gasPrice === 0n ? withoutBaseFee(at.block) : at.block;
  const stateManager = await stateAfter(chain, at);
  const reason = lowPrice(block, message) ?? (await lackOfFunds(stateManager, message));
  if (reason) return { kind: "not paid for", reason };
  const tx = asTransaction(message, block);
  const least = larger(tx.getIntrinsicGas(), getCalldataFloorGas(tx));
  if (least > message.gas) {
    const why = `intrinsic gas too low: have ${message.gas}, want ${least}`;
    return { kind: "too little gas", reason: why };
  }
  const common = block.common.copy();
  const vm = await createVM({ common, stateManager, blockchain: hashesOf(chain.blocks) });
  const result = await runTx(vm, { tx, block, skipNonce: true, skipBlockGasLimitValidation: true });
  const spent = tx.getIntrinsicGas() + result.execResult.executionGasUsed;
  return { kind: "executed", ...result, spentBeforeRefund: larger(spent, least) };
}

function lowPrice({ header }: Block, { from, gasPrice }: Message): string | undefined {
  const { baseFeePerGas = 0n } = header;
  return gasPrice < baseFeePerGas
    ? `max fee per gas less than block base fee: address ${checksummed(from)}, maxFeePerGas: ${gasPrice}, baseFee: ${baseFeePerGas}`
    : undefined;
}

async function lackOfFunds(
  state: StateManagerInterface,
  { from, gas, gasPrice, value }: Message & { gas: bigint },
): Promise<string | undefined> {
  const have = (await state.getAccount(from))?.balance ?? 0n;
  const want = gas * gasPrice + value;
  return have < want
    ? `insufficient funds for gas * price + value: address ${checksummed(from)} have ${have} want ${want}`
    : undefined;
}

function asTransaction(message: Message & { gas: bigint }, block: Block): TypedTransaction {
  const { from, to, gas, gasPrice, value, input, accessList } = message;
  const tx = createTx(
    {
      type: accessList ? 1 : 0,
      ...(to && { to }),
      ...(accessList && { accessList }),
      gasLimit: gas,
      gasPrice,
      value,
      data: input,
    },
    { common: block.common, freeze: false },
  );
  return Object.assign(tx, { getSenderAddress: () => from });
}

/** Runs a message without a gas price as if gas were free, like geth. */
function withoutBaseFee(block: Block): Block {
  if (block.header.baseFeePerGas === undefined) return block;
  // Not built anew: ethereumjs refuses a first London block with another base fee than the initial one.
  const header = Object.create(block.header, { baseFeePerGas: { value: 0n } });
  return Object.create(block, { header: { value: header } }) as Block;
}

const isPlainTransfer = async (
  state: StateManagerInterface,
  { to, input }: Message,
): Promise<boolean> => to !== undefined && input === "0x" && (await state.getCode(to)).length === 0;

function readInput({ data, input }: Readonly<Record<string, unknown>>): PrefixedHexString {
  if (data !== undefined && input !== undefined && data !== input)
    throw invalidParams(
      'both "data" and "input" are set and not equal. Please use "input" to pass transaction call data',
    );
  return readBytes(input ?? data ?? "0x") as PrefixedHexString;
}

const ifGiven = <T>(value: unknown, read: (value: unknown) => T): T | undefined =>
  value === undefined || value === null ? undefined : read(value);

const checksummed = (address: Address): string => toChecksumAddress(address.toString());

/** Since Osaka no transaction may ask for more than 2^24 gas (EIP-7825). */
const gasCap = ({ common }: Block): bigint =>
  common.isActivatedEIP(7825)
    ? smaller(rpcGasCap, common.param("maxTransactionGasLimit"))
    : rpcGasCap;

const smaller = (a: bigint, b: bigint): bigint => (a < b ? a : b);
const larger = (a: bigint, b: bigint): bigint => (a > b ? a : b);
