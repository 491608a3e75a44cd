// Events on a real anvil while clients have filters over it: logs of a contract with an ABI, blocks, pending
// transactions, reorgs. Each function resolves when the gateway has the result too.
import { type Address, type Hex, parseAbi, toEventSelector } from "viem";
import { assemble, inputWord } from "../../packages/devnet/src/contracts.ts";
import { ask } from "../support/ask.ts";
import { until } from "../support/processes.ts";

export const abi = parseAbi(["event Fed(address indexed who, uint256 amount)"]);
export const [fed] = abi;

/** 46 bytes: each call emits `Fed` with the caller, and the first word of the input. */
const runtime = assemble([
  "PUSH1 00",
  "CALLDATALOAD",
  "PUSH1 00",
  "MSTORE",
  "CALLER",
  `PUSH32 ${toEventSelector(fed).slice(2)}`,
  "PUSH1 20",
  "PUSH1 00",
  "LOG2",
  "STOP",
]);
const creation = `0x602e600c600039602e6000f3${runtime}`;

export type FedChain = {
  readonly contract: Address;
  /** Two accounts that call the contract. */
  readonly feeders: readonly [Address, Address];
  /** Emits one log, in a block of its own. */
  feed(who?: Address): Promise<Hex>;
  mine(count: number): Promise<undefined>;
  /** Replaces the last blocks by empty ones. */
  reorg(depth: number): Promise<void>;
  /** Sends transactions that stay pending during `meanwhile`, which gets their hashes. */
  whileWaiting(count: number, meanwhile: (hashes: readonly Hex[]) => Promise<void>): Promise<void>;
};

/** @param urls The gateway's URLs for this node's chain. */
export async function feedChain(nodeUrl: string, urls: readonly string[]): Promise<FedChain> {
  const read = async <T>(at: string, method: string, ...params: unknown[]): Promise<T> => {
    const { result, error } = await ask(at, method, params);
    if (error) throw new Error(`${method}: ${error.message}`);
    return result as T;
  };
  const everywhere = (what: string, isSo: (url: string) => Promise<unknown>): Promise<unknown> =>
    until(what, async () => (await Promise.all(urls.map(isSo))).every(Boolean));
  const headHash = async (at: string): Promise<string> =>
    (await read<{ hash: string }>(at, "eth_getBlockByNumber", "latest", false)).hash;
  const settled = async (): Promise<void> => {
    await everywhere(
      "the gateway has the node's head",
      async (url) => (await headHash(url)) === (await headHash(nodeUrl)),
    );
  };
  /** The input of the next transaction: a reorg frees nonces, so that only the input makes a transaction different. */
  let sent = 0;
  const send = (from: string, to: string): Promise<Hex> => {
    sent += 1;
    const transaction = { from, to, data: inputWord(sent), gas: "0x100000" };
    return read<Hex>(nodeUrl, "eth_sendTransaction", transaction);
  };

  const accounts = await read<Address[]>(nodeUrl, "eth_accounts");
  const [first, , , second] = accounts;
  if (!first || !second) throw new Error("the node has too few accounts");
  const created = await read<Hex>(nodeUrl, "eth_sendTransaction", {
    from: first,
    data: creation,
    gas: "0x100000",
  });
  const { contractAddress: contract } = await until("the contract is there", () =>
    read<{ contractAddress: Address }>(nodeUrl, "eth_getTransactionReceipt", created),
  );
  await settled();

  const mine = async (count: number): Promise<undefined> => {
    await read(nodeUrl, "anvil_mine", `0x${count.toString(16)}`);
    await settled();
  };
  return {
    contract,
    feeders: [first, second],
    feed: async (who = first) => {
      const hash = await send(who, contract);
      await everywhere("it is mined", (url) => read(url, "eth_getTransactionReceipt", hash));
      return hash;
    },
    mine,
    reorg: async (depth) => {
      await read(nodeUrl, "anvil_reorg", depth, []);
      await settled();
    },
    whileWaiting: async (count, meanwhile) => {
      await read(nodeUrl, "evm_setAutomine", false);
      try {
        const hashes: Hex[] = [];
        while (hashes.length < count) hashes.push(await send(first, contract));
        await meanwhile(hashes);
      } finally {
        await read(nodeUrl, "evm_setAutomine", true);
        await mine(1);
      }
    },
  };
}
