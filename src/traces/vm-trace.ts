// Writes OpenEthereum's `vmTrace` from the steps that geth gives of a transaction (its struct logs), as JSON and while
// they arrive, so that a transaction of any length takes no memory except for its open frames.
import { isData } from "../evm/values.ts";
import { isJson } from "../proofs/json.ts";
import type { GasLeft } from "./gas.ts";
import { isHalt } from "./opcodes.ts";
import {
  AccountCodes,
  type Executed,
  executed,
  type PendingOperation,
  pendingOperation,
  type SubFrame,
} from "./operation.ts";
import { readStep, type Step } from "./struct-logs.ts";

export type VmTraceOptions = {
  /** The account that the transaction calls, or the init code of the contract that it creates. */
  readonly top: { readonly to: string } | { readonly init: string };
  readonly maxSteps: number;
  /** The most bytes of the text. */
  readonly maxBytes: number;
};

export type VmTraceParts = {
  /** The code of an account before the transaction, "0x" for an account without code; undefined when not known. */
  readonly codeOf: (address: string) => string | undefined;
  /** Takes the text piece by piece. The text is of no use unless the outcome is "written". */
  readonly write: (json: string) => void;
};

export type VmTraceOutcome =
  | { readonly kind: "written" }
  | { readonly kind: "too large" }
  | { readonly kind: "unreadable"; readonly why: string };

type OpenFrame = {
  readonly depth: number;
  readonly isStatic: boolean;
  readonly isCreate: boolean;
  readonly codeSize: number;
  /** The operation of the last step, and the frame that this operation entered. */
  pending: PendingOperation | undefined;
  sub: SubFrame | undefined;
};

export class VmTraceWriter {
  readonly #options: VmTraceOptions;
  readonly #text: VmTraceText;
  readonly #codes: AccountCodes;
  /** The open frames, from the top frame to the running one. */
  readonly #open: OpenFrame[] = [];
  #steps = 0;
  #gasLeft: number | undefined;
  #trouble: Exclude<VmTraceOutcome, { kind: "written" }> | undefined;

  constructor(options: VmTraceOptions, parts: VmTraceParts) {
    this.#options = options;
    this.#text = new VmTraceText(options, parts);
    this.#codes = new AccountCodes(parts.codeOf);
  }

  /** Takes the next entry of `structLogs`; false when no further entries are needed. */
  add(structLog: unknown): boolean {
    if (this.#trouble) return false;
    const step = readStep(structLog);
    if (!step) this.#giveUp("a step that is none");
    else if (++this.#steps > this.#options.maxSteps) this.#trouble = { kind: "too large" };
    else this.#take(step);
    if (this.#text.isTooLarge()) this.#trouble ??= { kind: "too large" };
    return this.#trouble === undefined;
  }

  /** Ends the text. To be called once, after the last step. */
  finish(): VmTraceOutcome {
    if (this.#steps === 0) this.#openTop(1);
    while (this.#open.length > 0 && !this.#trouble) this.#close();
    if (this.#text.isTooLarge()) this.#trouble ??= { kind: "too large" };
    return this.#trouble ?? { kind: "written" };
  }

  /** The gas that the top frame left at its end, to be read after `finish`; undefined when the frame failed. */
  gasLeft(): GasLeft | undefined {
    return this.#steps === 0 ? "nothing ran" : this.#gasLeft;
  }

  #take(step: Step): void {
    if (this.#open.length === 0) this.#openTop(step.depth);
    while (this.#open.length > 1 && (this.#open.at(-1)?.depth ?? 0) > step.depth) this.#close();
    const caller = this.#open.at(-1);
    if (caller?.depth === step.depth) this.#settle(caller, step);
    else if (caller?.pending && caller.depth + 1 === step.depth)
      this.#enter(caller, caller.pending, step);
    else this.#giveUp(`depth ${step.depth} out of turn`);
    const frame = this.#open.at(-1);
    if (frame && !this.#trouble) frame.pending = pendingOperation(step, frame);
  }

  #openTop(depth: number): void {
    const { top } = this.#options;
    const isCreate = "init" in top;
    const code = isCreate ? top.init : this.#codes.codeAt(top.to);
    this.#push(code, { depth, isStatic: false, isCreate });
  }

  #enter(caller: OpenFrame, { pc, name, entry }: PendingOperation, step: Step): void {
    if (entry) {
      const isCreate = entry.kind === "create";
      const code = isCreate ? entry.init : this.#codes.codeAt(entry.address);
      const isStatic = caller.isStatic || (!isCreate && entry.isStatic);
      caller.sub = { gas: step.gas, ending: "done", returned: "0x" };
      this.#text.beginOperation(pc);
      this.#push(code, { depth: step.depth, isStatic, isCreate });
    } else this.#giveUp(`${name} enters a frame`);
  }

  #push(code: string | undefined, frame: Omit<OpenFrame, "codeSize" | "pending" | "sub">): void {
    if (isData(code)) {
      const codeSize = (code.length - 2) / 2;
      this.#open.push({ ...frame, codeSize, pending: undefined, sub: undefined });
      this.#text.beginFrame(code);
    } else this.#giveUp("code that is not known");
  }

  /** Ends the running frame, which has no further step. */
  #close(): void {
    const frame = this.#open.at(-1);
    if (frame?.pending) this.#settleLast(frame, frame.pending);
    if (this.#open.length === 1) this.#gasLeft = leftAfter(frame?.pending);
    this.#open.pop();
    this.#text.endFrame();
    const { endsAs: ending = "done", returned = "0x" } = frame?.pending ?? {};
    const caller = this.#open.at(-1);
    if (caller?.sub) caller.sub = { ...caller.sub, ending, returned };
  }

  #settle(frame: OpenFrame, next: Step): void {
    const { pending, sub } = frame;
    if (!pending) return;
    const done = isHalt(pending) ? undefined : executed(pending, { next, sub, codes: this.#codes });
    if (done) this.#write(frame, pending, done);
    else this.#giveUp(`${pending.name} at ${pending.pc} is told in part`);
  }

  #settleLast(frame: OpenFrame, pending: PendingOperation): void {
    const { sub, codeSize } = frame;
    // Nodes give a STOP behind the end of the code, OpenEthereum does not.
    if (!sub && (pending.endsAs === "unbegun" || pending.pc >= codeSize)) return;
    const done = executed(pending, { sub, codes: this.#codes });
    if (done) this.#write(frame, pending, done);
  }

  #write(frame: OpenFrame, { pc }: PendingOperation, done: Executed): void {
    if (frame.sub) this.#text.endOperation(done);
    else this.#text.operation(pc, done);
    frame.sub = undefined;
  }

  #giveUp(why: string): void {
    this.#trouble ??= { kind: "unreadable", why };
  }
}

const leftAfter = (last: PendingOperation | undefined): number | undefined =>
  last?.endsAs === "done" ? last.gas - last.cost : undefined;

/**
 * The JSON of a `vmTrace`, in pieces; all its strings are checked hex. An operation's `pc` comes first, and its cost and
 * effects come last, so that the frame that it enters can be written while that frame runs.
 */
class VmTraceText {
  readonly #options: Pick<VmTraceOptions, "maxBytes">;
  readonly #parts: Pick<VmTraceParts, "write">;
  #bytes = 0;
  /** Whether the open frame has an operation already. */
  #hasOperation = false;

  constructor(options: Pick<VmTraceOptions, "maxBytes">, parts: Pick<VmTraceParts, "write">) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Whether the text is longer than `maxBytes`; the pieces beyond it were not written. */
  isTooLarge(): boolean {
    return this.#bytes > this.#options.maxBytes;
  }

  beginFrame(code: string): void {
    this.#write(`{"code":"${code}","ops":[`);
    this.#hasOperation = false;
  }

  endFrame(): void {
    this.#write("]}");
    this.#hasOperation = true;
  }

  /** Begins an operation that enters a frame; the frame is written next. */
  beginOperation(pc: number): void {
    this.#write(this.#beginning(pc));
  }

  endOperation({ cost, ex }: Executed): void {
    this.#write(ending(cost, ex));
  }

  /** Writes an operation that entered no frame with steps. */
  operation(pc: number, { sub, cost, ex }: Executed): void {
    this.#write(this.#beginning(pc) + JSON.stringify(sub) + ending(cost, ex));
    this.#hasOperation = true;
  }

  #beginning(pc: number): string {
    return `${this.#hasOperation ? "," : ""}{"pc":${pc},"sub":`;
  }

  #write(json: string): void {
    this.#bytes += json.length; // all of it is ASCII
    if (!this.isTooLarge()) this.#parts.write(json);
  }
}

const ending = (cost: number, ex: Executed["ex"]): string =>
  `,"cost":${cost},"ex":${JSON.stringify(ex)}}`;

/**
 * The `vmTrace` of a node's own trace_replayTransaction, without the members that Erigon adds to operations, `idx` and
 * `op`. Operations stay unchanged otherwise.
 * @returns undefined for the vmTrace of revm (reth, anvil): its `used` is the gas before the operation, its creations
 * have no code, and every operation writes memory, if only zero bytes.
 */
export function normaliseVmTrace(vmTrace: unknown): unknown {
  const top: Record<string, unknown> = { vmTrace };
  const open: [holder: Record<string, unknown>, name: string][] = [[top, "vmTrace"]];
  // A list and no recursion: a trace can be 1024 frames deep, and a node can write any number.
  for (let at = open.pop(); at; at = open.pop()) {
    const [holder, name] = at;
    const trace = holder[name];
    if (!isJson(trace) || !Array.isArray(trace["ops"])) continue;
    if (trace["ops"].some(writesNothing)) return undefined;
    const ops = trace["ops"].map(withoutExtras);
    holder[name] = { ...trace, ops };
    for (const operation of ops)
      if (isJson(operation) && operation["sub"]) open.push([operation, "sub"]);
  }
  return top["vmTrace"];
}

function withoutExtras(operation: unknown): unknown {
  if (!isJson(operation)) return operation;
  const { idx, op, ...rest } = operation;
  return rest;
}

function writesNothing(operation: unknown): boolean {
  const { ex } = Object(operation) as { ex?: { mem?: { data?: unknown } | null } | null };
  return ex?.mem?.data === "0x";
}
