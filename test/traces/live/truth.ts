// The true execution of a transaction: ethereumjs executes it after all earlier ones.
import { createBlock } from "@ethereumjs/block";
import { createTxFromRLP } from "@ethereumjs/tx";
import { hexToBytes, type PrefixedHexString } from "@ethereumjs/util";
import { type RunTxResult, runTx, type VM } from "@ethereumjs/vm";
import { type Recorded, recordTransactions } from "../state-recorder.ts";
import { common, type Mined } from "./chain.ts";
import { type Frame, recordFrames } from "./frames.ts";

export type Truth = {
  readonly top: Frame;
  readonly outcome: RunTxResult;
  readonly recorded: Recorded;
};

export class Executor {
  readonly #vm: VM;
  /** One for each transaction. */
  readonly #frames: readonly Frame[];
  readonly #recorded: readonly Recorded[];

  constructor(vm: VM) {
    this.#vm = vm;
    this.#frames = recordFrames(vm);
    this.#recorded = recordTransactions(vm);
  }

  async execute({ raw, block: json }: Mined): Promise<Truth> {
    const block = createBlock({ header: headerOf(json) }, { common });
    const tx = createTxFromRLP(hexToBytes(raw), { common });
    const outcome = await runTx(this.#vm, { tx, block });
    const [top, recorded] = [this.#frames.at(-1), this.#recorded.at(-1)];
    if (!top || !recorded) throw new Error("nothing was executed");
    return { top, outcome, recorded };
  }
}

function headerOf(json: Mined["block"]) {
  const read = (name: string) => json[name] as PrefixedHexString;
  return {
    ...{ number: read("number"), timestamp: read("timestamp"), gasLimit: read("gasLimit") },
    ...{ coinbase: read("miner"), mixHash: read("mixHash"), baseFeePerGas: read("baseFeePerGas") },
    ...{ excessBlobGas: read("excessBlobGas"), difficulty: 0n },
  };
}
