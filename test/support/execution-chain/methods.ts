// The methods of the node: lookups in the executed chain, log search, and state queries.
import {
  type BlockReference,
  invalidParams,
  latest,
  omittable,
  type Params,
  RpcFailure,
  readAddress,
  readBlockNumber,
  readBlockReference,
  readBoolean,
  readHash,
  readQuantity,
  required,
} from "./arguments.ts";
import { call, estimateGas, readMessage } from "./calls.ts";
import type { ExecutedBlock, ExecutedChain } from "./execute.ts";
import { type LogFilter, matches, readLogFilter } from "./log-filter.ts";
import { type Fields, quantity, type ShapedBlock, shapeBlock } from "./shapes.ts";
import { readBalance, readCode, readNonce, readStorage, stateAfter } from "./state.ts";

/** The executed chain, with its blocks by number and by hash. */
export type Node = {
  chain: ExecutedChain;
  blocks: readonly ShapedBlock[];
  numberByBlockHash: ReadonlyMap<string, number>;
  positionByTransactionHash: ReadonlyMap<string, { block: ShapedBlock; index: number }>;
};

export type Method = (params: Params, node: Node) => unknown;

/** Makes every answer about every block once, so that the same call always gets the same object. */
export function createNode(chain: ExecutedChain): Node {
  const blocks = chain.blocks.map(shapeBlock);
  return {
    chain,
    blocks,
    numberByBlockHash: new Map(blocks.map(({ hash, number }) => [hash, number])),
    positionByTransactionHash: new Map(
      blocks.flatMap((block) =>
        block.transactions.map(({ hash }, index) => [String(hash), { block, index }] as const),
      ),
    ),
  };
}

/** A method that looks something up in a block named by number or tag. */
const byNumber =
  (look: (block: ShapedBlock, params: Params) => unknown): Method =>
  (params, node) => {
    const block = findBlock(node, required(params, 0, readBlockNumber));
    return block ? (look(block, params) ?? null) : null;
  };

/** A method that looks something up in a block named by hash. */
const byHash =
  (look: (block: ShapedBlock, params: Params) => unknown): Method =>
  (params, node) => {
    const block = findBlock(node, { hash: required(params, 0, readHash) });
    return block ? (look(block, params) ?? null) : null;
  };

const pickBody = (block: ShapedBlock, params: Params): Fields =>
  required(params, 1, readBoolean) ? block.withTransactions : block.withHashes;
const countTransactions = (block: ShapedBlock): string => quantity(block.transactions.length);
const countUncles = (block: ShapedBlock): string => quantity(block.uncles.length);
const pickTransaction = (block: ShapedBlock, params: Params): Fields | undefined =>
  block.transactions[Number(required(params, 1, readQuantity))];
const pickUncle = (block: ShapedBlock, params: Params): Fields | undefined =>
  block.uncles[Number(required(params, 1, readQuantity))];

const transactionOf: Method = (params, node) => {
  const position = node.positionByTransactionHash.get(required(params, 0, readHash));
  return position?.block.transactions[position.index] ?? null;
};

const receiptOf: Method = (params, node) => {
  const position = node.positionByTransactionHash.get(required(params, 0, readHash));
  return position?.block.receipts[position.index] ?? null;
};

const receiptsOf: Method = (params, node) =>
  findBlock(node, required(params, 0, readBlockReference))?.receipts ?? null;

/** Geth's oracle ignores tips under 2 wei, all that this chain has, and so keeps its initial tip. */
const gasPrice: Method = (_, { chain }) =>
  quantity((head(chain.blocks).block.header.baseFeePerGas ?? 0n) + 1_000_000n);

const balance: Method = async (params, node) => {
  const address = required(params, 0, readAddress);
  return readBalance(await stateOf(params, 1, node), address);
};

const nonce: Method = async (params, node) => {
  const address = required(params, 0, readAddress);
  return readNonce(await stateOf(params, 1, node), address);
};

const code: Method = async (params, node) => {
  const address = required(params, 0, readAddress);
  return readCode(await stateOf(params, 1, node), address);
};

const storage: Method = async (params, node) => {
  const address = required(params, 0, readAddress);
  const slot = required(params, 1, readSlot);
  return readStorage(await stateOf(params, 2, node), address, slot);
};

const callAt: Method = (params, node) => {
  const message = required(params, 0, readMessage);
  refuseOverrides(params);
  return call(node.chain, executedAt(params, 1, node), message);
};

const estimateAt: Method = (params, node) => {
  const message = required(params, 0, readMessage);
  refuseOverrides(params);
  return estimateGas(node.chain, executedAt(params, 1, node), message);
};

const logs: Method = (params, node) => {
  const filter = required(params, 0, readLogFilter);
  if (filter.topics.length > 4) throw invalidParams("exceed max topics");
  return blocksToSearch(filter, node).flatMap((block) =>
    block.logs.filter((log) => matches(filter, log)),
  );
};

/** Every method of this node, by its JSON-RPC name. */
export const methods: Readonly<Record<string, Method>> = {
  eth_blockNumber: (_, { blocks }) => quantity(head(blocks).number),
  eth_call: callAt,
  eth_chainId: (_, { chain }) => quantity(chain.vm.common.chainId()),
  eth_estimateGas: estimateAt,
  eth_gasPrice: gasPrice,
  eth_getBalance: balance,
  eth_getBlockByHash: byHash(pickBody),
  eth_getBlockByNumber: byNumber(pickBody),
  eth_getBlockReceipts: receiptsOf,
  eth_getBlockTransactionCountByHash: byHash(countTransactions),
  eth_getBlockTransactionCountByNumber: byNumber(countTransactions),
  eth_getCode: code,
  eth_getLogs: logs,
  eth_getStorageAt: storage,
  eth_getTransactionByBlockHashAndIndex: byHash(pickTransaction),
  eth_getTransactionByBlockNumberAndIndex: byNumber(pickTransaction),
  eth_getTransactionByHash: transactionOf,
  eth_getTransactionCount: nonce,
  eth_getTransactionReceipt: receiptOf,
  eth_getUncleByBlockHashAndIndex: byHash(pickUncle),
  eth_getUncleByBlockNumberAndIndex: byNumber(pickUncle),
  eth_getUncleCountByBlockHash: byHash(countUncles),
  eth_getUncleCountByBlockNumber: byNumber(countUncles),
  eth_syncing: () => false,
  net_version: (_, { chain }) => chain.vm.common.chainId().toString(),
  web3_clientVersion: () => "execution-chain/ethereumjs-vm-10.1.3",
};

/** The number of a block; the head is safe and final (`headfcu.json` of the vectors), and nothing is pending. */
function numberOf(reference: BlockReference, node: Node): number | undefined {
  if ("number" in reference) return Number(reference.number);
  if ("hash" in reference) return node.numberByBlockHash.get(reference.hash);
  if (reference.tag === "pending") return undefined;
  return reference.tag === "earliest" ? 0 : head(node.blocks).number;
}

function findBlock(node: Node, reference: BlockReference): ShapedBlock | undefined {
  const number = numberOf(reference, node);
  return number === undefined ? undefined : node.blocks[number];
}

/** The block whose state a parameter names: the pending state is the head's, since nothing is pending. */
function executedAt(params: Params, index: number, node: Node): ExecutedBlock {
  const reference = omittable(params, index, [readBlockReference, latest]);
  const isPending = "tag" in reference && reference.tag === "pending";
  const found = node.chain.blocks[numberOf(isPending ? latest : reference, node) ?? -1];
  if (found) return found;
  const message = "hash" in reference ? "header for hash not found" : "header not found";
  throw new RpcFailure(-32000, message);
}

const stateOf = (params: Params, index: number, node: Node) =>
  stateAfter(node.chain, executedAt(params, index, node));

function refuseOverrides(params: Params): void {
  if (params[2] !== undefined && params[2] !== null)
    throw invalidParams("this node knows no state overrides");
}

/** Geth takes slots with and without leading zeros. */
function readSlot(value: unknown): bigint {
  if (typeof value !== "string" || !/^0x[0-9a-f]{1,64}$/i.test(value))
    throw invalidParams("unable to decode storage key: not a hex string of at most 32 bytes");
  return BigInt(value);
}

function blocksToSearch({ within }: LogFilter, node: Node): readonly ShapedBlock[] {
  if (!("from" in within)) {
    const block = findBlock(node, within);
    if (!block) throw new RpcFailure(-32000, "unknown block");
    return [block];
  }
  const from = numberOf(within.from, node);
  const to = numberOf(within.to, node);
  if (from === undefined || to === undefined) throw invalidParams("pending logs are not supported");
  if (from > to) throw invalidParams("invalid block range params");
  if (to > head(node.blocks).number)
    throw invalidParams("block range extends beyond current head block");
  return node.blocks.slice(from, to + 1);
}

function head<T>(blocks: readonly T[]): T {
  const last = blocks.at(-1);
  if (!last) throw new Error("the chain has no blocks");
  return last;
}
