// Sample activity on anvil: contracts, creations, transfers, events, reverts, a pending transaction.
import type { RpcCaller } from "../../../src/upstream/connection/connect.ts";
import type { SampleCall, SetStage } from "./activity.ts";
import { emitter, inputWord, reverter, SAMPLE_TOPIC } from "./contracts.ts";

export const EVM_CHAIN_ID = 31_337;

/** Between two transactions: the chain gets about one block a second. */
const PAUSE_MS = 1_000;
const ONE_GWEI = "0x3b9aca00";
const GAS = "0x100000"; // explicit, because the estimate fails for a call that reverts

/** The last count that creates a contract: every later state contains each contract, and nothing else of the activity. */
const LAST_CREATION = 200;
/** The history contract of EIP-2935. */
const HISTORY_CONTRACT = "0x0000F90827F1C53a10cb7A02335B175320002935";

/** Removes the history contract: it writes one slot more in each block, and anvil hashes and copies all slots each time. */
export const takeHistoryContract = (node: RpcCaller): Promise<unknown> =>
  node.call("anvil_setCode", [HISTORY_CONTRACT, "0x"]);

type Receipt = { transactionHash: string; contractAddress: string; blockNumber: string };

export const setEvmStage: SetStage = async (_, { node }) => {
  await takeHistoryContract(node);
  const [from, to, waiting] = (await node.call("eth_accounts", [])) as string[];
  /** Sends a transaction, which gets a block of its own. `Sync` waits for the receipt, which may be late for a moment. */
  const mine = async (transaction: object): Promise<Receipt> =>
    (await node.call("eth_sendTransactionSync", [{ from, gas: GAS, ...transaction }])) as Receipt;
  const { contractAddress: emitting } = await mine({ data: emitter });
  const { contractAddress: reverting } = await mine({ data: reverter });
  await mine({ to, value: ONE_GWEI });
  const emitted = await mine({ to: emitting, data: inputWord(1) });
  // The gap in nonces keeps the transaction pending. The nonce is not simply 1: anvil refuses the same transaction
  // again when the stage is set a second time.
  const nonce = emitted.blockNumber;
  const pending = await node.call("eth_sendTransaction", [
    { from: waiting, to, nonce, value: ONE_GWEI, gas: GAS },
  ]);
  return {
    samples: samplesOf({ emitted, emitting, reverting, pending }),
    pauseMs: PAUSE_MS,
    stands: () => hasCode(node, emitting),
    act: async (count) => {
      await mine(transactionAt(count, { to, emitting, reverting }));
    },
  };
};

/** An event, or now and then a transfer or a failing transaction, and in the beginning a creation. */
export function transactionAt(
  count: number,
  at: { to: string | undefined; emitting: string; reverting: string },
): object {
  if (count % 20 === 0 && count <= LAST_CREATION) return { data: emitter };
  if (count % 10 === 5) return { to: at.reverting };
  if (count % 3 === 0) return { to: at.to, value: ONE_GWEI };
  return { to: at.emitting, data: inputWord(count) };
}

const hasCode = async (node: RpcCaller, address: string): Promise<boolean> =>
  (await node.call("eth_getCode", [address, "latest"])) !== "0x";

function samplesOf(seen: {
  emitted: Receipt;
  emitting: string;
  reverting: string;
  pending: unknown;
}): SampleCall[] {
  const { transactionHash, blockNumber } = seen.emitted;
  const logs = {
    address: seen.emitting,
    fromBlock: "0x0",
    toBlock: blockNumber,
    topics: [SAMPLE_TOPIC],
  };
  return [
    sample("a block with its transactions", "eth_getBlockByNumber", ["latest", true]),
    sample("a receipt with five logs", "eth_getTransactionReceipt", [transactionHash]),
    sample("all receipts of a block", "eth_getTransactionReceiptsByBlock", [blockNumber]),
    sample("logs of a contract", "eth_getLogs", [logs]),
    sample("a pending transaction", "eth_getTransactionByHash", [seen.pending]),
    sample("a contract's code", "eth_getCode", [seen.emitting, "latest"]),
    sample("an estimate that reverts, with the reason", "eth_estimateGas", [
      { to: seen.reverting },
    ]),
    sample("keccak-256, computed by the gateway", "web3_sha3", ["0x68656c6c6f20776f726c64"]),
  ];
}

const sample = (title: string, method: string, params: readonly unknown[]): SampleCall => ({
  title,
  method,
  params,
});
