// The header against its hash, and the short lists that it covers: withdrawals and uncles.
import type { Work } from "../lib/turns.ts";
import { encodingOfHash, headerHash, mayBeForeign } from "./header.ts";
import { isAbsent, type Json, sameHex, shown } from "./json.ts";
import { unclesHashOf, withdrawalsRootOf } from "./lists.ts";
import { compare, differs, type PartProof, proven, unproven } from "./part-proof.ts";

/**
 * What is known of a network: some header of it was proven; none was seen yet, so one with fields of
 * its own may have an encoding of its own; or its headers are known to hash to something else.
 */
export type HeaderEncoding = "known" | "unknown" | "foreign";

export function checkHeader(block: Json, encoding: HeaderEncoding): PartProof {
  const { hash } = block;
  if (encodingOfHash(block, hash)) return proven;
  const computed = headerHash(block) ?? "no header that can be hashed";
  const mayDiffer = encoding === "foreign" || (encoding === "unknown" && mayBeForeign(block));
  const isForeign = mayDiffer && isHash(hash);
  return differs(`says ${shown(hash)}, is ${computed}`, isForeign);
}

export function* checkWithdrawals(
  { block, withdrawals }: { block: Json; withdrawals: unknown },
  { isForeignHeader, hasForeign }: { isForeignHeader: boolean; hasForeign: boolean },
): Work<PartProof> {
  const { withdrawalsRoot } = block;
  const isEmpty = Array.isArray(withdrawals) && withdrawals.length === 0;
  if (isAbsent(withdrawalsRoot))
    return isEmpty || isAbsent(withdrawals)
      ? proven
      : differs("withdrawals in a block without root", isForeignHeader);
  const computed = yield* withdrawalsRootOf(withdrawals);
  if (computed === undefined) return differs("a root without its withdrawals", isForeignHeader);
  // Optimism's Isthmus keeps the storage root of its bridge there, and no withdrawals.
  return compare(withdrawalsRoot, computed, isForeignHeader || (hasForeign && isEmpty));
}

export function checkUncles(
  { uncles, sha3Uncles }: Json,
  headers: readonly Json[] | undefined,
  isForeign: boolean,
): PartProof {
  if (!Array.isArray(uncles)) return differs("no list of uncles", isForeign);
  if (uncles.length > 0 && headers === undefined)
    return sameHex(sha3Uncles, NO_UNCLES)
      ? differs("uncles where there are none", isForeign)
      : unproven;
  const computed = unclesHashOf(headers ?? [], uncles);
  if (computed === undefined) return differs("an uncle without its header", isForeign);
  return compare(sha3Uncles, computed, isForeign);
}

/** keccak of the RLP of an empty list. */
const NO_UNCLES = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347";

const isHash = (value: unknown): boolean =>
  typeof value === "string" && /^0x[0-9a-f]{64}$/i.test(value);
