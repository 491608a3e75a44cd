// All receipts of one block, from whichever dialect the upstreams speak.

import { findMembers, textOf } from "../jsonrpc/members.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";
import {
  type BlockOutline,
  type FixedPointer,
  isNull,
  nullWhenUnknown,
  readBlock,
} from "./block-lookup.ts";
import type { CallContext } from "./method.ts";

type Asking = Pick<CallContext, "ask">;

/** Questions about one block that are under way at once: a block must not fill the upstream's queue. */
const AT_ONCE = 16;
const ATTEMPTS = 2;

const dialects = ["eth_getBlockReceipts", "eth_getTransactionReceiptsByBlock"];

/** @returns `null` when the block is unknown, `[]` when it is known and empty. */
export async function receiptsOf(pointer: FixedPointer, context: Asking): Promise<RawJson> {
  const reference = pointer.kind === "hash" ? pointer.hash : pointer.number;
  for (const dialect of dialects) {
    try {
      return await nullWhenUnknown(context.ask(dialect, JSON.stringify([reference])));
    } catch (thrown) {
      if (!isMethodMissing(thrown)) throw thrown;
    }
  }
  return oneByOne(pointer, context);
}

/** No upstream has the method. */
export const isMethodMissing = (thrown: unknown): boolean =>
  thrown instanceof RpcError && thrown.code === -32601;

async function oneByOne(pointer: FixedPointer, context: Asking): Promise<RawJson> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const block = await readBlock(pointer, context);
    if (!block) return "null";
    const receipts = await readReceipts(block, context);
    if (receipts) return `[${receipts.join(",")}]`;
  }
  throw errors.blockChanged();
}

/** In the order of the block; undefined when one is missing or of another block: a reorganisation came between. */
async function readReceipts(
  { hash, transactions }: BlockOutline,
  context: Asking,
): Promise<readonly string[] | undefined> {
  const receipts: string[] = [];
  for (let start = 0; start < transactions.length; start += AT_ONCE) {
    const some = await Promise.all(
      transactions
        .slice(start, start + AT_ONCE)
        .map((transaction) =>
          nullWhenUnknown(context.ask("eth_getTransactionReceipt", JSON.stringify([transaction]))),
        ),
    );
    if (!some.every((receipt) => isOfBlock(receipt, hash))) return undefined;
    receipts.push(...some.map((receipt) => receipt.toString("utf8")));
  }
  return receipts;
}

function isOfBlock(receipt: Buffer, hash: string): boolean {
  if (isNull(receipt)) return false;
  const [blockHash] = findMembers(receipt, ["blockHash"]) ?? [];
  return (
    blockHash !== undefined &&
    textOf(receipt, blockHash).toLowerCase() === `"${hash.toLowerCase()}"`
  );
}
