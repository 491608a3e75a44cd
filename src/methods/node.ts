// The methods for the chain, its head, fees, and the node itself.
import { z } from "zod";
import { blockNumberOrTag } from "../evm/block-reference.ts";
import { address, quantity, toQuantity } from "../evm/values.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { defineForwarded } from "./forwarding.ts";
import { type CallContext, defineMethod, type Method } from "./method.ts";

async function askBlockNumber(context: CallContext): Promise<RawJson> {
  const block = await context.headView().pin("latest");
  return block === "latest" ? context.ask("eth_blockNumber", "[]") : `"${block}"`;
}

const FEES = { workKind: "chain", cost: 3, freshness: "until next block" } as const;

const feeMethod = (name: string, summary: string): Method =>
  defineForwarded({ name, ...FEES, summary, params: {}, result: quantity });

export const nodeMethods = [
  defineMethod({
    name: "eth_chainId",
    workKind: "chain",
    summary: "The chain id.",
    cost: 1,
    params: {},
    result: quantity,
    freshness: "forever",
    // The gateway checks every upstream against the configured chain id before the upstream may answer anything.
    answer: (_, { network }) => `"${toQuantity(network.chainId)}"`,
  }),
  defineMethod({
    name: "eth_blockNumber",
    workKind: "chain",
    tellsHead: () => true,
    summary: "The number of the newest block, which is the same for all members of a batch.",
    cost: 1,
    params: {},
    result: quantity,
    freshness: "until next block",
    answer: (_, context) => {
      const { chain } = context;
      if (!chain) return askBlockNumber(context);
      const head = chain.blockAt(chain.head.number);
      context.setProvenance({
        source: "store",
        block: chain.head,
        proof: head?.blockProof ?? "none",
      });
      return `"${toQuantity(chain.head.number)}"`;
    },
  }),
  defineMethod({
    name: "eth_accounts",
    workKind: "other",
    isSpecified: true,
    summary: "Always an empty list: neither the gateway nor its nodes sign for callers.",
    cost: 3,
    params: {},
    result: z.array(address),
    freshness: "forever",
    answer: () => "[]",
  }),
  defineForwarded({
    name: "net_version",
    workKind: "chain",
    isOfChain: false,
    summary: "The network id, in decimal digits.",
    cost: 1,
    params: {},
    result: z.string(),
    freshness: "forever",
  }),
  feeMethod("eth_gasPrice", "A gas price that nodes suggest, in Wei."),
  feeMethod("eth_maxPriorityFeePerGas", "A priority fee that nodes suggest, in Wei."),
  feeMethod("eth_blobBaseFee", "The base fee of blobs in the next block, in Wei."),
  defineForwarded({
    name: "eth_feeHistory",
    ...FEES,
    summary: "The base fees, the used gas and the priority fees of a range of blocks.",
    params: {
      // Every node accepts a plain number, and some libraries send one.
      blockCount: z.union([quantity, z.int().positive()], { error: "want a number of blocks" }),
      newestBlock: blockNumberOrTag,
      rewardPercentiles: z
        .array(z.number(), { error: "want an array of numbers" })
        .max(100, { error: "want at most 100 numbers" })
        .optional(),
    },
    result: z.looseObject({ oldestBlock: quantity, baseFeePerGas: z.array(quantity).optional() }),
    at: "newestBlock",
  }),
  defineForwarded({
    name: "eth_syncing",
    workKind: "chain",
    summary: "The progress of the synchronisation of a node; false when it is done.",
    cost: 3,
    params: {},
    result: z.union([z.literal(false), z.looseObject({})]),
    freshness: "unknown",
  }),
];
