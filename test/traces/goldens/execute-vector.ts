// One of geth's vectors, executed by ethereumjs.
import { createBlock } from "@ethereumjs/block";
import {
  createCommonFromGethGenesis,
  type GethGenesis,
  parseGethGenesisState,
} from "@ethereumjs/common";
import { createTxFromRLP } from "@ethereumjs/tx";
import { createVM, runTx } from "@ethereumjs/vm";
import { hashesOf } from "../../support/execution-chain/execute.ts";
import { recordFrames } from "../live/frames.ts";
import { recordTransactions } from "../state-recorder.ts";
import type { ExecutedTransaction } from "./executions.ts";

export type GethVector = {
  readonly genesis: GethGenesis;
  readonly context: Record<"number" | "timestamp" | "gasLimit" | "difficulty" | "miner", string>;
  readonly input: `0x${string}`;
  readonly result: unknown;
};

export async function executeVector({
  genesis,
  context,
  input,
}: GethVector): Promise<ExecutedTransaction> {
  const common = createCommonFromGethGenesis(genesis, { chain: "geth" });
  const [number, timestamp] = [BigInt(context.number), BigInt(context.timestamp)];
  common.setHardforkBy({ blockNumber: number, timestamp });
  const vm = await createVM({ common, blockchain: hashesOf([]) });
  const alloc = Object.fromEntries(
    Object.entries(genesis.alloc).map(([address, { nonce = "0", ...account }]) => [
      address,
      { ...account, nonce: `0x${Number(nonce).toString(16)}` }, // geth's tests write the nonce as a decimal
    ]),
  );
  await vm.stateManager.generateCanonicalGenesis?.(parseGethGenesisState({ ...genesis, alloc }));
  const frames = recordFrames(vm);
  const recorded = recordTransactions(vm);
  const header = {
    ...{ number, timestamp },
    gasLimit: BigInt(context.gasLimit),
    difficulty: BigInt(context.difficulty),
    coinbase: context.miner as `0x${string}`,
  };
  const block = createBlock({ header }, { common, skipConsensusFormatValidation: true });
  await runTx(vm, { tx: createTxFromRLP(Buffer.from(input.slice(2), "hex"), { common }), block });
  const [[top], [one]] = [frames, recorded];
  if (!top || !one) throw new Error("the transaction was not recorded");
  const nothing = { structLogs: [], codes: new Map<string, string>() };
  return { ...one, ...nothing, top, gasUsed: one.outcome.totalGasSpent };
}
