// The struct logs that geth would write of each transaction, made from the steps of ethereumjs.

import type { TypedTransaction } from "@ethereumjs/tx";
import {
  type Address,
  bigIntToHex,
  bytesToBigInt,
  bytesToHex,
  createAddressFromString,
} from "@ethereumjs/util";
import type { VM } from "@ethereumjs/vm";
import {
  type EthereumjsStep,
  type FrameResult,
  type GethStep,
  HALTS,
  stopBehind,
  structLogOf,
} from "./geth-steps.ts";

export type StructLog = GethStep & { error?: string | undefined };

export type Traced = {
  transaction: TypedTransaction;
  structLogs: StructLog[];
  /** The code of every called account, as it was before the call. */
  codes: Map<string, string>;
  /** All frames, also reverted ones, in the order of their beginning. */
  frames: TracedFrame[];
  /** All writes to storage, also reverted ones, in order. */
  stores: { key: string; val: string }[];
};

export type TracedFrame = {
  /** The running code; "0x" for precompiled contracts. */
  code: string;
  steps: StructLog[];
  exception: string | undefined;
};

/** Records every transaction that `vm` runs from now on, in a list that grows. */
export function recordStructLogs(vm: VM): readonly Traced[] {
  const traced: Traced[] = [];
  const recorder = new Recorder(vm.stateManager);
  vm.evm.events?.on("beforeMessage", (message, done) => {
    void recorder.begin(message).finally(() => done?.());
  });
  vm.evm.events?.on("afterMessage", (result) => recorder.end(result));
  vm.evm.events?.on("step", (step) => recorder.step(step));
  vm.events.on("beforeTx", () => void recorder.take());
  // The system calls that the block makes afterwards belong to no transaction.
  vm.events.on("afterTx", ({ transaction }) => {
    traced.push({ transaction, ...recorder.take() });
  });
  return traced;
}

type Message = {
  readonly to?: Address | undefined;
  /** Throws in a create. */
  readonly codeAddress: Address;
  readonly data: Uint8Array;
  readonly code?: unknown;
};

type Recording = Omit<Traced, "transaction">;

class Recorder {
  readonly #state: VM["stateManager"];
  readonly #open: { frame: TracedFrame; message: Message }[] = [];
  #current: Recording = { structLogs: [], codes: new Map(), frames: [], stores: [] };

  constructor(state: VM["stateManager"]) {
    this.#state = state;
    const { putStorage } = state;
    state.putStorage = async (address, key, value) => {
      this.#current.stores.push({ key: quantityOf(key), val: quantityOf(value) });
      await putStorage.call(state, address, key, value);
    };
  }

  /** All records since the last call of `take`. */
  take(): Recording {
    const taken = this.#current;
    this.#current = { structLogs: [], codes: new Map(), frames: [], stores: [] };
    return taken;
  }

  async begin(message: Message): Promise<void> {
    const code = message.to ? "0x" : bytesToHex(message.data);
    const frame = { code, steps: [], exception: undefined };
    this.#open.push({ frame, message });
    this.#current.frames.push(frame);
    if (message.to) await this.#note(message.codeAddress);
  }

  async #note(address: Address): Promise<void> {
    const { codes } = this.#current;
    if (codes.has(address.toString())) return;
    const code = bytesToHex(await this.#state.getCode(address));
    codes.set(address.toString(), code);
    if (code.startsWith("0xef0100"))
      await this.#note(createAddressFromString(`0x${code.slice(8)}`));
  }

  step(step: EthereumjsStep): void {
    const log = structLogOf(step);
    const { frame, message } = this.#open.at(-1) ?? {};
    // The code must be copied now, as it can be a view of its creator's memory.
    if (frame?.steps.length === 0) frame.code = bytesToHex(message?.code as Uint8Array);
    frame?.steps.push(log);
    this.#current.structLogs.push(log);
  }

  end(result: FrameResult): void {
    const frame = this.#open.pop()?.frame;
    const last = frame?.steps.at(-1);
    if (!frame || !last) return;
    frame.exception = result.execResult.exceptionError?.error;
    last.error = refusal(last, frame);
    const stop = stopBehind(last, result);
    if (!stop) return;
    frame.steps.push(stop);
    this.#current.structLogs.push(stop);
  }
}

const quantityOf = (bytes: Uint8Array): string => bigIntToHex(bytesToBigInt(bytes));

/** geth reports an error only at an operation that it does not begin. */
function refusal(
  { op, gas, gasCost }: StructLog,
  { exception: why }: TracedFrame,
): string | undefined {
  if (why === "stack underflow" || why === "stack overflow") return why;
  if (why === "static state change") return "out of gas: write protection";
  // A RETURN can also run out of gas for storing the returned code.
  return why === "out of gas" && (!HALTS.has(op) || gasCost > gas) ? why : undefined;
}
