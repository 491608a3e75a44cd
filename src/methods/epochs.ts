// Epoch networks beside their logs: well-known methods with their prices. Addresses and epochs are
// the node's business.
import { z } from "zod";
import { confluxAddress, epochReference } from "../conflux/values.ts";
import { keccak256OfData } from "../evm/keccak.ts";
import { data, hash, quantity } from "../evm/values.ts";
import { defineMethod, type Method } from "./method.ts";
import { passedOn } from "./passing-on.ts";
import { calledAt, contractAt } from "./read-contracts.ts";
import { submit } from "./submission.ts";

const epoch = epochReference.optional().describe("Left out: what the node takes as the newest.");
const object = z.looseObject({});
const call = z.looseObject({}, { error: "want a call object" });
const fullTransactions = z.boolean({ error: "want true or false" });

const epochMethod = (
  name: string,
  cost: number,
  params: Readonly<Record<string, z.ZodType>>,
  result: z.ZodType,
  summary: string,
): Method =>
  passedOn({
    name,
    family: "conflux",
    cost,
    params,
    result,
    summary,
    freshness: "until next block",
  });

const found = object.nullable();
const methods = { send: "cfx_sendRawTransaction", find: "cfx_getTransactionByHash" };

export const epochMethods = [
  epochMethod("cfx_epochNumber", 1, { epoch }, quantity, "The number of an epoch tag."),
  epochMethod("cfx_getStatus", 1, {}, object, "Chain id, newest epochs and block of the node."),
  epochMethod("cfx_gasPrice", 1, {}, quantity, "A gas price that nodes suggest, in Drip."),
  epochMethod(
    "cfx_getBalance",
    2,
    { address: confluxAddress, epoch },
    quantity,
    "The balance of an address, in Drip.",
  ),
  {
    ...epochMethod(
      "cfx_getCode",
      2,
      { address: confluxAddress, epoch },
      data,
      "The code at an address; `0x` when there is none.",
    ),
    contractsOf: contractAt(0),
  },
  epochMethod(
    "cfx_getNextNonce",
    3,
    { address: confluxAddress, epoch },
    quantity,
    "The nonce of the next transaction of an address.",
  ),
  epochMethod(
    "cfx_getBlockByHash",
    3,
    { blockHash: hash, fullTransactions },
    found,
    "The block with this hash; null when there is none.",
  ),
  epochMethod(
    "cfx_getBlockByEpochNumber",
    3,
    { epoch: epochReference, fullTransactions },
    found,
    "The pivot block of an epoch.",
  ),
  epochMethod(
    "cfx_getBlocksByEpoch",
    3,
    { epoch: epochReference },
    z.array(hash).nullable(),
    "The hashes of all blocks of an epoch.",
  ),
  epochMethod(
    "cfx_getTransactionByHash",
    3,
    { transactionHash: hash },
    found,
    "The transaction with this hash; null when it is unknown.",
  ),
  epochMethod(
    "cfx_getTransactionReceipt",
    3,
    { transactionHash: hash },
    found,
    "The receipt of an executed transaction; null when there is none.",
  ),
  {
    ...epochMethod(
      "cfx_call",
      5,
      { call, epoch },
      data,
      "Executes a call and answers what it returns.",
    ),
    contractsOf: calledAt(0),
  },
  {
    ...epochMethod(
      "cfx_estimateGasAndCollateral",
      5,
      { call, epoch },
      object,
      "How much gas and storage collateral a call needs.",
    ),
    contractsOf: calledAt(0),
  },
  defineMethod({
    name: "cfx_sendRawTransaction",
    family: "conflux",
    summary: "Sends a signed transaction and answers its hash, also when it was sent before.",
    cost: 3,
    params: { transaction: data },
    result: hash,
    freshness: "unknown",
    kind: "write",
    answer: ({ transaction }, context) => {
      // Every type is hashed as it is sent.
      const signed = { hash: keccak256OfData(transaction), isCertain: true };
      return submit({ ...methods, signed }, context);
    },
  }),
];
