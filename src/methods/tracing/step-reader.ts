// Reads the steps of a transaction off the wire and writes its vmTrace while they come: of any number of
// steps, only the packed text is held.
import { ElementStream } from "../../jsonrpc/element-stream.ts";
import { JsonPacker, type PackedJson } from "../../jsonrpc/raw-json.ts";
import type { GasLeft } from "../../traces/executed-gas.ts";
import { type VmTraceOptions, type VmTraceOutcome, VmTraceWriter } from "../../traces/vm-trace.ts";

export type Codes = ReadonlyMap<string, string>;

/** Of one step, which has the whole memory in it, and of all that is not a step, in bytes. */
const MAX_BYTES = 1 << 26;
const MALFORMED: VmTraceOutcome = { kind: "unreadable", why: "malformed answer" };

export class StepReader {
  /** undefined until the last step is there, or no more are wanted. */
  outcome: VmTraceOutcome | undefined;
  /** No more steps are wanted: this one has all it needs to tell. */
  isStopped = false;
  whenStopped: "malformed" | undefined;
  /** Of an account whose code would be needed first. */
  missing: string | undefined;
  steps = 0;
  readonly #packer = new JsonPacker();
  readonly #writer: VmTraceWriter;
  readonly #stream: ElementStream;

  /** @param parts.codes Of accounts before the transaction, "0x" where there is none. */
  constructor(options: VmTraceOptions, { codes }: { codes: Codes }) {
    this.#writer = new VmTraceWriter(options, {
      codeOf: (address) => {
        const code = codes.get(address);
        if (code === undefined) this.missing ??= address;
        return code;
      },
      write: (json) => this.#packer.write(json),
    });
    const limits = { maxElementBytes: MAX_BYTES, maxRestBytes: MAX_BYTES };
    this.#stream = new ElementStream({ path: ["result", "structLogs"], ...limits }, (step) => {
      this.steps += 1;
      if (!this.#writer.add(step)) this.outcome = this.#writer.finish();
      return this.outcome === undefined;
    });
  }

  /** What it takes in memory, in bytes. */
  get heldBytes(): number {
    return this.#packer.heldBytes + this.#stream.heldBytes;
  }

  add(chunk: Buffer): boolean {
    const isSound = this.#stream.add(chunk);
    if (this.outcome !== undefined) this.isStopped = true;
    else if (!isSound) this.whenStopped = "malformed";
    return isSound && !this.isStopped;
  }

  finish(): Buffer | undefined {
    const rest = this.#stream.finish();
    this.outcome ??= rest ? this.#writer.finish() : MALFORMED;
    return rest;
  }

  /** Of the top frame, once all is there; undefined when it failed. */
  gasLeft(): GasLeft | undefined {
    return this.#writer.gasLeft();
  }

  /** Worth something when the outcome is "written". */
  vmTrace(): string | PackedJson {
    return this.#packer.finish();
  }
}
