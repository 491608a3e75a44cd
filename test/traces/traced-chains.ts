// The chains of the vectors in a second run, with the struct logs of each transaction.
import { createBlock } from "@ethereumjs/block";
import { Hardfork } from "@ethereumjs/common";
import { runBlock, runTx } from "@ethereumjs/vm";
import { executeChain } from "../support/execution-chain/execute.ts";
import { recordBesuTraceChain, vmOf } from "./recorded-chains.ts";
import { recordStructLogs, type Traced } from "./struct-log-recorder.ts";

export type TracedBlock = { number: number; transactions: readonly Traced[] };

/** Without block rewards, which nothing in this chain reads. */
export async function traceBesuChain(): Promise<TracedBlock[]> {
  const blocks = await recordBesuTraceChain();
  const { vm, common } = await vmOf("besu-trace", Hardfork.Istanbul);
  const traced = recordStructLogs(vm);
  const numbered: TracedBlock[] = [];
  for (const { number, transactions } of blocks) {
    const start = traced.length;
    const header = { number: BigInt(number), gasLimit: 0x100000000000n, difficulty: 15n };
    const block = createBlock({ header }, { common, skipConsensusFormatValidation: true });
    for (const { transaction: tx } of transactions)
      await runTx(vm, { tx, block, skipBlockGasLimitValidation: true });
    numbered.push({ number, transactions: traced.slice(start) });
  }
  return numbered;
}

export async function traceExecutionChain(): Promise<readonly Traced[]> {
  const { vm, blocks } = await executeChain();
  const traced = recordStructLogs(vm);
  for (const [number, { block }] of blocks.entries()) {
    const root = blocks[number - 1]?.block.header.stateRoot;
    if (root) await runBlock(vm, { block, root, skipHeaderValidation: true });
  }
  return traced;
}
