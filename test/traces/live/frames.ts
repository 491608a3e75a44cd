// The frames of a transaction as ethereumjs enters and leaves them, with every step in them.
import { type Address, bytesToHex } from "@ethereumjs/util";
import type { VM } from "@ethereumjs/vm";

export type Step = {
  readonly pc: number;
  readonly name: string;
  /** The gas before the step. */
  readonly gas: bigint;
  /** Without the gas that a call passes on. */
  readonly cost: bigint;
  /** The stack before the step, the top last. */
  readonly stack: readonly bigint[];
  /** The memory before the step. */
  readonly memory: Uint8Array;
};

type SelfDestruct = {
  readonly address: string;
  readonly heir: string;
  readonly balance: bigint;
};

export type Frame = {
  /** The operation that began the frame; for the top frame CALL or CREATE. */
  readonly kind: string;
  readonly from: string;
  /** The address of the running code, or of the new contract. */
  to: string;
  readonly value: bigint;
  readonly gas: bigint;
  readonly input: string;
  readonly steps: Step[];
  /** In the order of their beginning, each with the number of steps before it. */
  readonly children: { readonly after: number; readonly frame: Frame }[];
  selfDestruct: SelfDestruct | undefined;
  /** The executed code; "0x" for a precompile. */
  code: string;
  isPrecompile: boolean;
  gasUsed: bigint;
  output: string;
  /** In the words of ethereumjs. */
  error: string | undefined;
};

/** The used members of ethereumjs's Message. */
type Message = {
  readonly caller: Address;
  readonly to?: Address;
  readonly codeAddress: Address;
  readonly value: bigint;
  readonly gasLimit: bigint;
  readonly data: Uint8Array;
  /** Only set when the code was entered. */
  readonly code?: unknown;
  readonly isCompiled: boolean;
};

type Ended = {
  readonly execResult: {
    readonly executionGasUsed: bigint;
    readonly returnValue: Uint8Array;
    readonly exceptionError?: { readonly error: string };
  };
  readonly createdAddress?: Address;
};

type StepEvent = {
  readonly pc: number;
  readonly opcode: { readonly name: string; readonly fee: number; readonly dynamicFee?: bigint };
  readonly gasLeft: bigint;
  readonly stack: readonly bigint[];
  readonly memory: Uint8Array;
  readonly memoryWordCount: bigint;
  readonly address: Address;
  readonly stateManager: VM["stateManager"];
};

/** A list that gets the top frame of each transaction. */
export function recordFrames({ evm }: VM): readonly Frame[] {
  const tops: Frame[] = [];
  const open: { frame: Frame; message: Message }[] = [];
  evm.events?.on("beforeMessage", (message, done) => {
    const caller = open.at(-1)?.frame;
    const kind = caller?.steps.at(-1)?.name ?? (message.to ? "CALL" : "CREATE");
    const frame = begun(message, kind);
    if (caller) caller.children.push({ after: caller.steps.length, frame });
    else tops.push(frame);
    open.push({ frame, message });
    done?.();
  });
  evm.events?.on("step", (event, done) => {
    const frame = open.at(-1)?.frame;
    if (!frame) throw new Error("a step outside of all frames");
    frame.steps.push(stepOf(event));
    if (event.opcode.name === "SELFDESTRUCT") void noteSelfDestruct(frame, event).then(done);
    else done?.();
  });
  evm.events?.on("afterMessage", (result, done) => {
    const last = open.pop();
    if (last) finish(last.frame, last.message, result);
    done?.();
  });
  return tops;
}

function begun(message: Message, kind: string): Frame {
  const { caller, to, value, gasLimit: gas, data } = message;
  const isBorrowed = kind === "DELEGATECALL" || kind === "CALLCODE";
  return {
    kind,
    from: String(isBorrowed ? to : caller),
    to: to ? message.codeAddress.toString() : "",
    ...{ value, gas, input: bytesToHex(data) },
    ...{ steps: [], children: [], selfDestruct: undefined, code: "0x", isPrecompile: false },
    ...{ gasUsed: 0n, output: "0x", error: undefined },
  };
}

function finish(frame: Frame, message: Message, { execResult, createdAddress }: Ended): void {
  frame.gasUsed = execResult.executionGasUsed;
  frame.output = bytesToHex(execResult.returnValue);
  // The error of a bad jump contains the place.
  frame.error = execResult.exceptionError?.error.split(" at ")[0];
  frame.isPrecompile = message.isCompiled;
  if (message.code instanceof Uint8Array) frame.code = bytesToHex(message.code);
  if (createdAddress) frame.to = createdAddress.toString();
  if (frame.error !== undefined) frame.selfDestruct = undefined;
}

const stepOf = ({ pc, opcode, gasLeft, stack, memory, memoryWordCount }: StepEvent): Step => {
  const whole = new Uint8Array(32 * Number(memoryWordCount));
  whole.set(memory.subarray(0, whole.length));
  const { name, dynamicFee, fee } = opcode;
  const cost = dynamicFee ?? BigInt(fee);
  return { pc, name, gas: gasLeft, cost, stack: [...stack], memory: whole };
};

async function noteSelfDestruct(frame: Frame, event: StepEvent): Promise<void> {
  const { address, stack, stateManager } = event;
  const heir = (stack.at(-1) ?? 0n).toString(16).padStart(40, "0").slice(-40);
  const balance = (await stateManager.getAccount(address))?.balance ?? 0n;
  frame.selfDestruct = { address: String(address), heir: `0x${heir}`, balance };
}
