// The vocabulary of epoch networks, as far as it is checked.
import { z } from "zod";
import { data, hash, quantity } from "../evm/values.ts";
import { looksLikeAddress } from "./address.ts";

const wanted = "want a BASE32 address, such as cfx:aa…";

/** Whether it is right, and of this network, is checked for all parameters of a call at once. */
export const confluxAddress = z
  .string({ error: wanted })
  .refine(looksLikeAddress, { error: wanted })
  .meta({ id: "ConfluxAddress", description: "A BASE32 address (CIP-37)." });

/** An epoch number or tag; where a node takes them, also an object with a block hash. */
export const epochReference = z
  .union([z.string(), z.looseObject({})], { error: "want an epoch number or tag" })
  .meta({ id: "EpochReference", description: "An epoch number (QUANTITY) or a tag." });

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
