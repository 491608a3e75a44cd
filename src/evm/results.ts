// The schemas of objects in nodes' results, from the specification. Further members are allowed and passed on, since
// networks differ and new forks add some.
import { z } from "zod";
import { findMembers } from "../jsonrpc/members.ts";
import { address, bloom, data, hash, proofOfWorkNonce, quantity } from "./values.ts";

const pendingNull = "null while pending.";

export const transaction = z
  .looseObject({
    blockHash: hash.nullable().describe(pendingNull),
    blockNumber: quantity.nullable().describe(pendingNull),
    from: address.describe("The sender."),
    gas: quantity.describe("Gas provided by the sender."),
    gasPrice: quantity.describe("Gas price in Wei."),
    hash,
    input: data.describe("Data sent along with the transaction."),
    nonce: quantity.describe("Number of transactions the sender made before this one."),
    to: address.nullable().describe("null for a contract creation."),
    transactionIndex: quantity.nullable().describe(pendingNull),
    value: quantity.describe("Value transferred in Wei."),
    v: quantity.describe("ECDSA recovery id."),
    // Nodes write these numbers as QUANTITY, without leading zeros.
    r: data.or(quantity).describe("ECDSA signature r."),
    s: data.or(quantity).describe("ECDSA signature s."),
  })
  .meta({ id: "Transaction", description: "A transaction." });

const headerFields = {
  number: quantity.nullable().describe(pendingNull),
  hash: hash.nullable().describe(pendingNull),
  parentHash: hash,
  nonce: proofOfWorkNonce.nullable().describe(`Proof-of-work hash; ${pendingNull}`),
  sha3Uncles: hash,
  logsBloom: bloom.nullable().describe(pendingNull),
  transactionsRoot: hash,
  stateRoot: hash,
  receiptsRoot: hash,
  miner: address.describe("Beneficiary of the mining rewards."),
  difficulty: quantity,
  totalDifficulty: quantity.nullish().describe("Total chain difficulty up to this block."),
  extraData: data,
  size: quantity.describe("Block size in bytes."),
  gasLimit: quantity,
  gasUsed: quantity.describe("Gas used by all transactions."),
  timestamp: quantity.describe("Unix timestamp."),
  uncles: z.array(hash).describe("Uncle hashes."),
};

export const block = z
  .looseObject({
    ...headerFields,
    transactions: z
      .union([z.array(hash), z.array(transaction)])
      .describe("The hashes of the transactions, or whole transactions if requested."),
  })
  .meta({ id: "Block", description: "A block." });

export const uncle = z
  .looseObject({ ...headerFields, transactions: z.never().optional() })
  .meta({ id: "Uncle", description: "The header of an uncle; uncles have no transactions." });

export const log = z
  .looseObject({
    removed: z
      .boolean()
      .optional()
      .describe("true when the log was removed by a chain reorganization."),
    logIndex: quantity.nullable().describe("Position in the block."),
    transactionIndex: quantity.nullable(),
    transactionHash: hash.nullable(),
    blockHash: hash.nullable(),
    blockNumber: quantity.nullable(),
    address: address.describe("The contract."),
    data: data.describe("Non-indexed arguments."),
    topics: z.array(hash).max(4).describe("Signature hash and indexed arguments."),
  })
  .meta({ id: "Log", description: "A log." });

export const receipt = z
  .looseObject({
    transactionHash: hash,
    transactionIndex: quantity,
    blockHash: hash,
    blockNumber: quantity,
    from: address,
    to: address.nullish().describe("null for a contract creation."),
    cumulativeGasUsed: quantity.describe("Gas used in the block up to and with this transaction."),
    gasUsed: quantity.describe("Gas used by this transaction alone."),
    contractAddress: address.nullish().describe("The created contract, otherwise null."),
    logs: z.array(log),
    logsBloom: bloom,
    root: hash
      .optional()
      .describe("The state root, before Byzantium; since then there is `status` instead."),
    status: quantity.optional().describe("0x1 is success, 0x0 is failure."),
  })
  .meta({ id: "Receipt", description: "The receipt of a mined transaction." });

const wholeNumber = z.int().nonnegative();

const trace = z
  .looseObject({
    action: z.looseObject({}).describe("The action: a call, a creation, a suicide or a reward."),
    result: z
      .looseObject({})
      .nullish()
      .describe("The result of the action. A failed call has `error` instead."),
    error: z.string().optional(),
    subtraces: wholeNumber.describe("Number of child traces."),
    traceAddress: z.array(wholeNumber).describe("Position path in the call tree."),
    type: z.string(),
  })
  .meta({ id: "Trace", description: "One step of a transaction's call tree." });

export const locatedTrace = trace
  .extend({
    blockHash: hash,
    blockNumber: wholeNumber,
    transactionHash: hash.nullish(),
    transactionPosition: wholeNumber.nullish(),
  })
  .meta({ id: "LocatedTrace", description: "A trace with its position on the chain." });

export const replay = z
  .looseObject({
    output: data,
    stateDiff: z.looseObject({}).nullable().describe("null when not requested."),
    trace: z.array(trace).nullable(),
    vmTrace: z.looseObject({}).nullable().describe("null when not requested."),
  })
  .meta({ id: "Replay", description: "The requested traces of a transaction or a call." });

/** The members of a block that are not part of its header. */
const BESIDE_HEADER: readonly string[] = [
  "transactions",
  "uncles",
  "withdrawals",
  "size",
  "totalDifficulty",
];

/**
 * A block's header, as nodes push it to subscribers of new heads.
 * @param json The block as a node wrote it.
 * @param beside Further members that are not part of the header.
 */
export function headerOf(json: Buffer, beside: readonly string[] = []): string {
  const members = Object.entries(JSON.parse(json.toString()) as object);
  const header = members.filter(
    ([name]) => !BESIDE_HEADER.includes(name) && !beside.includes(name),
  );
  return JSON.stringify(Object.fromEntries(header));
}

/**
 * A log that a reorg removed.
 * @param json The log as a node wrote it.
 * @returns The log with `removed: true`, in the place of its `removed` or at the end.
 */
export const asRemoved = (json: Buffer): Buffer => withRemoved(json, "true");

/** As `asRemoved`, with `removed: false`: the log is part of the chain again. */
export const asRestored = (json: Buffer): Buffer => withRemoved(json, "false");

function withRemoved(json: Buffer, value: string): Buffer {
  const [removed] = findMembers(json, ["removed"]) ?? [];
  if (removed) {
    const [before, behind] = [json.subarray(0, removed.start), json.subarray(removed.end)];
    return Buffer.concat([before, Buffer.from(value), behind]);
  }
  const end = json.lastIndexOf("}");
  const member = Buffer.from(`,"removed":${value}`);
  return Buffer.concat([json.subarray(0, end), member, json.subarray(end)]);
}
