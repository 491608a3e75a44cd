// The chains of the vectors, executed by ethereumjs, with all that geth would tell of each transaction.
import { createBlock } from "@ethereumjs/block";
import { Hardfork } from "@ethereumjs/common";
import type { TypedTransaction } from "@ethereumjs/tx";
import { bytesToHex } from "@ethereumjs/util";
import { runBlock, runTx } from "@ethereumjs/vm";
import { type Frame, recordFrames } from "../live/frames.ts";
import { gethDebugBlocks, recordBesuTraceChain, vmOf } from "../recorded-chains.ts";
import { type Accounts, recordTransactions } from "../state-recorder.ts";
import { recordStructLogs, type StructLog } from "../struct-log-recorder.ts";

export type ExecutedTransaction = {
  readonly transaction: TypedTransaction;
  readonly top: Frame;
  readonly structLogs: readonly StructLog[];
  readonly codes: ReadonlyMap<string, string>;
  readonly before: Accounts;
  readonly after: Accounts;
  /** With the intrinsic gas, and after refunds. */
  readonly gasUsed: bigint;
};

/** Transactions by block number. The chain runs twice: the first run records the state, the second the steps. */
export async function executeBesuChain(): Promise<
  ReadonlyMap<number, readonly ExecutedTransaction[]>
> {
  const blocks = await recordBesuTraceChain();
  const { vm, common } = await vmOf("besu-trace", Hardfork.Istanbul);
  const frames = recordFrames(vm);
  const traced = recordStructLogs(vm);
  const byNumber = new Map<number, readonly ExecutedTransaction[]>();
  for (const { number, transactions } of blocks) {
    const header = { number: BigInt(number), gasLimit: 0x100000000000n, difficulty: 15n };
    const block = createBlock({ header }, { common, skipConsensusFormatValidation: true });
    const executed: ExecutedTransaction[] = [];
    for (const { transaction: tx, before, after, outcome } of transactions) {
      await runTx(vm, { tx, block, skipBlockGasLimitValidation: true });
      const [top, steps] = [frames.at(-1), traced.at(-1)];
      if (!top || !steps) throw new Error("a transaction was not recorded");
      executed.push({ ...steps, top, before, after, gasUsed: outcome.totalGasSpent });
    }
    byNumber.set(number, executed);
  }
  return byNumber;
}

export type ExecutedBlock = {
  readonly number: number;
  readonly hash: string;
  readonly executed: readonly Omit<ExecutedTransaction, "structLogs" | "codes">[];
};

/** Executes the chain besu-debug-geth. */
export async function executeGethDebugChain(): Promise<readonly ExecutedBlock[]> {
  const { vm, common } = await vmOf("besu-debug-geth", Hardfork.Prague);
  const frames = recordFrames(vm);
  const recorded = recordTransactions(vm);
  const blocks: ExecutedBlock[] = [];
  for (const block of gethDebugBlocks(common)) {
    const [start, firstFrame] = [recorded.length, frames.length];
    if (block.header.number > 0n) await runBlock(vm, { block, skipHeaderValidation: true });
    const tops = frames.slice(firstFrame).filter(({ from }) => from !== SYSTEM);
    const executed = recorded.slice(start).map((one, at) => {
      const top = tops[at];
      if (!top) throw new Error("a transaction was not recorded");
      return { ...one, top, gasUsed: one.outcome.totalGasSpent };
    });
    blocks.push({ number: Number(block.header.number), hash: bytesToHex(block.hash()), executed });
    if (blocks.length === 1)
      blocks.unshift({ number: 0, hash: bytesToHex(block.header.parentHash), executed: [] });
  }
  return blocks;
}

/** The sender of the system calls that blocks make themselves (EIP-2935, EIP-7002 and others). */
const SYSTEM = "0xfffffffffffffffffffffffffffffffffffffffe";
