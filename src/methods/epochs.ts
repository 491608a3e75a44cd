// The well-known methods of epoch networks, except those of logs, with their prices. Nodes resolve the epochs.
import { z } from "zod";
import { confluxAddress } from "../conflux/address.ts";
import { epochReference } from "../conflux/epoch-logs.ts";
import { keccak256OfData } from "../evm/keccak.ts";
import { data, hash, quantity } from "../evm/values.ts";
import { calledAt, contractAt } from "../namespaces/read-contracts.ts";
import { defineForwarded } from "./forwarding.ts";
import { defineMethod, type Method } from "./method.ts";
import { SENDING, submit } from "./submission.ts";

const epoch = epochReference
  .optional()
  .describe("The epoch. Left out: the newest one by the rules of the node.");
const object = z.looseObject({});
const call = z.looseObject({}, { error: "want a call object" });
const fullTransactions = z.boolean({ error: "want true or false" });

const epochMethod = (
  declaration: Omit<Parameters<typeof defineForwarded>[0], "family" | "freshness">,
): Method => defineForwarded({ ...declaration, family: "conflux", freshness: "until next block" });

const CHAIN = { workKind: "chain", cost: 1 } as const;
const LOOKUP = { workKind: "blocks", cost: 3 } as const;
const EXECUTION = { workKind: "execution", cost: 5, contractsOf: calledAt(0) } as const;

const found = object.nullable();
const methods = { send: "cfx_sendRawTransaction", find: "cfx_getTransactionByHash" };

export const epochMethods = [
  epochMethod({
    name: "cfx_epochNumber",
    workKind: "chain",
    tellsHead: (paramsJson) => paramsJson.includes("latest_state"),
    summary: "The number of an epoch tag.",
    cost: 1,
    params: { epoch },
    result: quantity,
  }),
  epochMethod({
    name: "cfx_getStatus",
    ...CHAIN,
    summary: "The chain id, the newest epochs and the newest block of the node.",
    params: {},
    result: object,
  }),
  epochMethod({
    name: "cfx_gasPrice",
    ...CHAIN,
    summary: "A gas price that nodes suggest, in Drip.",
    params: {},
    result: quantity,
  }),
  epochMethod({
    name: "cfx_getBalance",
    workKind: "state",
    summary: "The balance of an address, in Drip.",
    cost: 2,
    params: { address: confluxAddress, epoch },
    result: quantity,
  }),
  epochMethod({
    name: "cfx_getCode",
    workKind: "state",
    summary: "The code at an address; `0x` when there is none.",
    cost: 2,
    params: { address: confluxAddress, epoch },
    result: data,
    contractsOf: contractAt(0),
  }),
  epochMethod({
    name: "cfx_getNextNonce",
    workKind: "state",
    summary: "The nonce of the next transaction of an address.",
    cost: 3,
    params: { address: confluxAddress, epoch },
    result: quantity,
  }),
  epochMethod({
    name: "cfx_getBlockByHash",
    ...LOOKUP,
    summary: "The block with this hash; null when there is none.",
    params: { blockHash: hash, fullTransactions },
    result: found,
  }),
  epochMethod({
    name: "cfx_getBlockByEpochNumber",
    ...LOOKUP,
    isNullNoBlock: true,
    summary: "The pivot block of an epoch.",
    params: { epoch: epochReference, fullTransactions },
    result: found,
  }),
  epochMethod({
    name: "cfx_getBlocksByEpoch",
    ...LOOKUP,
    isNullNoBlock: true,
    summary: "The hashes of all blocks of an epoch.",
    params: { epoch: epochReference },
    result: z.array(hash).nullable(),
  }),
  epochMethod({
    name: "cfx_getTransactionByHash",
    ...LOOKUP,
    summary: "The transaction with this hash; null when it is unknown.",
    params: { transactionHash: hash },
    result: found,
  }),
  epochMethod({
    name: "cfx_getTransactionReceipt",
    ...LOOKUP,
    summary: "The receipt of an executed transaction; null when there is none.",
    params: { transactionHash: hash },
    result: found,
  }),
  epochMethod({
    name: "cfx_call",
    ...EXECUTION,
    summary: "Executes a call and returns its output.",
    params: { call, epoch },
    result: data,
  }),
  epochMethod({
    name: "cfx_estimateGasAndCollateral",
    ...EXECUTION,
    summary: "The gas and the storage collateral that a call needs.",
    params: { call, epoch },
    result: object,
  }),
  defineMethod({
    name: "cfx_sendRawTransaction",
    family: "conflux",
    ...SENDING,
    answer: ({ transaction }, context) => {
      // On Conflux, the hash of every transaction type is that of the bytes that are sent.
      const signed = { hash: keccak256OfData(transaction), isCertain: true };
      return submit({ ...methods, signed }, context);
    },
  }),
];
