// The headers of old blocks, each the parent of the one above it: what is true of the last hash is true of all.

import type { ChainView } from "../chain/chain-view.ts";
import type { StoredBlock } from "../chain/stored-block.ts";
import type { LogRange } from "../evm/log-filter.ts";
import { isQuantity, toNumber, toQuantity } from "../evm/values.ts";
import { findMembers } from "../jsonrpc/members.ts";
import { isNull, parsed } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { checkHeader } from "../proofs/check-header.ts";
import { isJson } from "../proofs/json.ts";
import { askBlock, type FixedPointer } from "./block-lookup.ts";
import type { CallContext } from "./method.ts";
import { MAY_LAG } from "./passing-on.ts";

/** A block that the store has, or the header of one that it does not. */
export type LinkedBlock =
  | { readonly kind: "stored"; readonly block: StoredBlock }
  | { readonly kind: "header"; readonly header: OldHeader };

export type LinkingParts = {
  readonly view: Pick<ChainView, "blockAt" | "blockOf">;
  readonly context: Pick<CallContext, "ask">;
};

/** Headers that are asked for together. */
const AT_ONCE = 16;

/**
 * Newest first.
 *
 * @param hash The last block's, as it is known from above.
 * @throws RpcError 502 when no node gives a header that has the hash; -32005 beyond what the call may ask.
 */
export async function* linkedHeaders(
  { from, to }: LogRange,
  hash: string,
  parts: LinkingParts,
): AsyncGenerator<LinkedBlock> {
  let expected = hash;
  for (let last = to; last >= from; last -= AT_ONCE) {
    const count = Math.min(AT_ONCE, last - from + 1);
    const numbers = Array.from({ length: count }, (_, index) => last - index);
    const found = await Promise.all(numbers.map((number) => findAt(number, parts)));
    for (const block of found) {
      // A node that gave another block of this number may have made it up: its hash is right for it.
      const isIt = block !== undefined && identityOf(block).hash === expected;
      const linked = isIt ? block : await findByHash(expected, parts);
      yield linked;
      expected = identityOf(linked).parentHash;
    }
  }
}

function identityOf(found: LinkedBlock): { hash: string; parentHash: string } {
  if (found.kind === "header") return found.header;
  const { hash, outline } = found.block;
  return { hash, parentHash: outline.parentHash };
}

async function findAt(number: number, parts: LinkingParts): Promise<LinkedBlock | undefined> {
  const block = parts.view.blockAt(number);
  if (block) return { kind: "stored", block };
  const header = await askHeader({ kind: "number", number: toQuantity(number) }, parts.context);
  return header && { kind: "header", header };
}

async function findByHash(hash: string, { view, context }: LinkingParts): Promise<LinkedBlock> {
  const block = view.blockOf(hash);
  if (block) return { kind: "stored", block };
  const header = await askHeader({ kind: "hash", hash }, context);
  if (!header) throw errors.unproven();
  return { kind: "header", header };
}

/** undefined when the nodes do not know the block. */
async function askHeader(
  pointer: FixedPointer,
  context: LinkingParts["context"],
): Promise<OldHeader | undefined> {
  const number = pointer.kind === "number" ? toNumber(pointer.number) : undefined;
  const read = (json: Buffer): OldHeader | undefined => {
    const header = readHeader(json);
    const isIt =
      pointer.kind === "hash" ? header?.hash === pointer.hash : header?.number === number;
    return isIt ? header : undefined;
  };
  const isFalse = (json: Buffer): boolean => !isNull(json) && read(json) === undefined;
  const options = { ...MAY_LAG, block: number, isFalse, fullTransactions: false };
  // Read once more: an equal question of somebody else's may have been answered with anything.
  return read(await askBlock(pointer, options, context));
}

/** The header of a block that a node gave with the hashes of its transactions. */
type OldHeader = {
  readonly number: number;
  /** In lower case, as is the parent's. */
  readonly hash: string;
  readonly parentHash: string;
  /** DATA. */
  readonly bloom: string;
  /** So many transactions at most: no hash covers how many the node lists here. */
  readonly transactions: number;
};

/** Without the list of transactions no header is longer, in bytes. */
const LONGEST = 1 << 17;
/** A hash with its quotes and a comma. */
const LISTED_BYTES = 69;

/** Held against its own hash: undefined when it is no header, or is not what its hash says. */
function readHeader(json: Buffer): OldHeader | undefined {
  const [list] = findMembers(json, ["transactions"]) ?? [];
  if (!list || json.length - (list.end - list.start) > LONGEST) return undefined;
  const around = [json.subarray(0, list.start), EMPTY_LIST, json.subarray(list.end)];
  const header = parsed(Buffer.concat(around));
  if (!isJson(header) || checkHeader(header, "known").kind !== "proven") return undefined;
  const { number, hash, parentHash, logsBloom } = header;
  if (!isQuantity(number)) return undefined;
  return {
    number: toNumber(number),
    hash: String(hash).toLowerCase(),
    parentHash: String(parentHash).toLowerCase(),
    bloom: String(logsBloom),
    transactions: Math.ceil((list.end - list.start) / LISTED_BYTES),
  };
}

const EMPTY_LIST = Buffer.from("[]");
