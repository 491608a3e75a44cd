// The ways in which a caller names a block: number, tag, hash, or the object of EIP-1898.
import { z } from "zod";
import { hash, type Issue, isHash, isQuantity, toNumber, whyNoQuantity } from "./values.ts";

const wanted = "want a block number, latest, earliest, pending, safe or finalized";
const NUMBER_OR_TAG =
  /^(0x(0|[1-9a-fA-F][0-9a-fA-F]{0,63})|latest|earliest|pending|safe|finalized)$/;
const NUMBER_TAG_OR_HASH =
  /^(0x(0|[1-9a-fA-F][0-9a-fA-F]{0,63}|[0-9a-fA-F]{64})|latest|earliest|pending|safe|finalized)$/;

const whyNot = ({ input }: Issue): string =>
  typeof input === "string" && input.startsWith("0x") ? whyNoQuantity({ input }) : wanted;

export const blockNumberOrTag = z
  .string({ error: wanted })
  .regex(NUMBER_OR_TAG, { error: whyNot })
  .meta({ id: "BlockNumberOrTag", description: "A block number (QUANTITY) or a tag." });

const blockObject = z
  .looseObject({
    blockNumber: blockNumberOrTag.nullish(),
    blockHash: hash.nullish(),
    requireCanonical: z.boolean({ error: "want true or false" }).nullish(),
  })
  .refine(({ blockNumber, blockHash }) => (blockNumber ?? null) === null || !blockHash, {
    error: "cannot specify both BlockHash and BlockNumber, choose one or the other",
  })
  .refine(({ blockNumber, blockHash }) => blockNumber || blockHash, {
    error: "want blockNumber or blockHash",
  });

/** Any way to name a block; as in geth, a bare hash too. */
export const blockReference = z
  .union([z.string().regex(NUMBER_TAG_OR_HASH, { error: whyNot }), blockObject], { error: whyNot })
  .meta({
    id: "BlockReference",
    description: "A block number, tag or hash, or an EIP-1898 object.",
  });

export type BlockReference = z.infer<typeof blockReference>;

/** The two ways in which nodes look blocks up. */
export type BlockPointer =
  | { readonly kind: "hash"; readonly hash: string; readonly mustBeCanonical: boolean }
  | { readonly kind: "number"; readonly numberOrTag: string };

export function pointerOf(reference: BlockReference): BlockPointer {
  if (typeof reference === "string") {
    return isHash(reference)
      ? { kind: "hash", hash: reference, mustBeCanonical: false }
      : { kind: "number", numberOrTag: reference };
  }
  const { blockHash, blockNumber, requireCanonical } = reference;
  return blockHash
    ? { kind: "hash", hash: blockHash, mustBeCanonical: requireCanonical === true }
    : { kind: "number", numberOrTag: blockNumber ?? "latest" };
}

/** Unwraps an object that contains a block number or tag; all other references are returned unchanged. */
export function plainReference(reference: unknown): unknown {
  if (typeof reference !== "object" || reference === null) return reference;
  const { blockNumber } = reference as { blockNumber?: unknown };
  return blockNumber ?? reference;
}

/** Whether a block number is beyond 2^53: no chain is that long, and few nodes can read such a number. */
export const isBeyondAnyChain = (reference: unknown): boolean =>
  isQuantity(reference) && toNumber(reference) > Number.MAX_SAFE_INTEGER;
