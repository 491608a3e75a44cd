// The vocabulary of epoch networks, as far as it is checked.
import { z } from "zod";
import { data, hash, quantity } from "../evm/values.ts";

/** BASE32 or the hex of older nodes: the node behind knows. */
export const confluxAddress = z
  .string({ error: "want an address" })
  .meta({ id: "ConfluxAddress", description: "A BASE32 address." });

/** An epoch number or tag; where a node takes them, also an object with a block hash. */
export const epochReference = z
  .union([z.string(), z.looseObject({})], { error: "want an epoch number or tag" })
  .meta({ id: "EpochReference", description: "An epoch number (QUANTITY) or a tag." });

export const epochLogFilter = z.looseObject({}, { error: "want a log filter object" }).meta({
  id: "EpochLogFilter",
  description: "fromEpoch, toEpoch, blockHashes, address, topics, limit, offset.",
});

export const epochLog = z
  .looseObject({
    address: confluxAddress,
    topics: z.array(hash).max(4),
    data,
    blockHash: hash,
    epochNumber: quantity,
    transactionHash: hash,
    transactionIndex: quantity.describe("Index in the block."),
    logIndex: quantity.describe("Index in the block."),
    transactionLogIndex: quantity.describe("Index in the transaction."),
  })
  .meta({ id: "EpochLog", description: "A log of an epoch network." });
