// Blocks older than the window, fetched with their receipts and proven: what that costs is paid before.
import type { ChainView } from "../chain/chain-view.ts";
import type { Reference } from "../chain/dialect.ts";
import type { StoredBlock } from "../chain/stored-block.ts";
import type { LogMatcher } from "../evm/log-matcher.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { CallContext } from "./method.ts";

export type ProvingParts = {
  readonly view: Pick<
    ChainView,
    "blockAt" | "blockOf" | "positionAt" | "fetch" | "logsOf" | "tail" | "pause"
  >;
  readonly context: Pick<
    CallContext,
    "ask" | "hold" | "payFor" | "isMissing" | "questionsLeft" | "network" | "signal"
  >;
};

const RECEIPTS_OF_BLOCK = ["eth_getBlockReceipts", "eth_getTransactionReceiptsByBlock"];

/** How many questions it takes to fetch a block that has so many transactions, as far as nodes' capabilities are known. */
export const questionsFor = (transactions: number, { context }: ProvingParts): number =>
  isOneByOne(context) ? 1 + transactions : 2;

const isOneByOne = ({ isMissing }: Pick<CallContext, "isMissing">): boolean =>
  RECEIPTS_OF_BLOCK.every((method) => isMissing(method));

/**
 * The block from the store, or from the nodes into it.
 *
 * @param transactions How many it has; undefined where that is not known: then it is paid for when it is.
 * @throws RpcError 502 when no node gives it so that it can be proven; -32005 beyond what the call may ask.
 */
export async function fetchProven(
  reference: Reference,
  transactions: number | undefined,
  parts: ProvingParts,
): Promise<StoredBlock> {
  const found = storedAt(reference, parts) ?? (await fetchPaid(reference, transactions, parts));
  if (found.proof === "none") throw errors.unproven();
  return found;
}

const storedAt = (reference: Reference, { view }: ProvingParts): StoredBlock | undefined =>
  "hash" in reference ? view.blockOf(reference.hash) : view.blockAt(reference.number);

async function fetchPaid(
  reference: Reference,
  transactions: number | undefined,
  { view, context }: ProvingParts,
): Promise<StoredBlock> {
  const isByBlock = !isOneByOne(context);
  await context.payFor("hash" in reference ? "eth_getBlockByHash" : "eth_getBlockByNumber");
  if (isByBlock) await context.payFor("eth_getBlockReceipts");
  else await payForReceipts(transactions ?? 0, context);
  const found = await view.fetch(reference);
  if (typeof found === "string") throw errors.unproven();
  if (!isByBlock && transactions === undefined)
    await payForReceipts(found.outline.transactions, context);
  return found;
}

async function payForReceipts(count: number, context: Pick<CallContext, "payFor">): Promise<void> {
  for (let paid = 0; paid < count; paid += 1) await context.payFor("eth_getTransactionReceipt");
}

/** @throws RpcError 502 when the block left the store since it was found: then it tells of no logs. */
export function logsIn(
  block: StoredBlock,
  matcher: LogMatcher,
  { view }: ProvingParts,
): readonly Buffer[] {
  const logs = view.logsOf(block, matcher);
  if (!view.blockOf(block.hash)) throw errors.unproven();
  return logs;
}
