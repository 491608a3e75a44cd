// Fetches blocks older than the window with their receipts and proves them, for their logs. The call that needs them
// pays for the calls to nodes before these are made.
import type { ChainView } from "../chain/chain-view.ts";
import type { Reference } from "../chain/dialect.ts";
import type { StoredBlock } from "../chain/stored-block.ts";
import { type LogFilter, type LogMatcher, matcherOf } from "../evm/log-filter.ts";
import { isQuantity, toNumber } from "../evm/values.ts";
import { findElements } from "../jsonrpc/members.ts";
import { parsed } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { mapConcurrently } from "../lib/waiting.ts";
import type { CallContext } from "./method.ts";

export type ProvingParts = {
  readonly view: Pick<
    ChainView,
    "blockAt" | "blockOf" | "positionAt" | "fetch" | "logsOf" | "tail" | "pause"
  >;
  readonly context: Pick<
    CallContext,
    "ask" | "hold" | "payFor" | "isMissing" | "upstreamCallsLeft" | "network" | "signal"
  >;
};

const RECEIPTS_OF_BLOCK = ["eth_getBlockReceipts", "eth_getTransactionReceiptsByBlock"];

/**
 * How many calls to nodes it takes to fetch a block with so many transactions, as far as the nodes' capabilities are
 * known.
 */
export const upstreamCallsFor = (transactions: number, { context }: ProvingParts): number =>
  isOneByOne(context) ? 1 + transactions : 2;

const isOneByOne = (context: Pick<CallContext, "isMissing">): boolean =>
  RECEIPTS_OF_BLOCK.every((method) => context.isMissing(method));

/**
 * The block from the store, or fetched from the nodes and stored.
 * @param transactions How many the block has. When undefined, the call pays for the receipts after the fetch.
 * @throws RpcError 502 when no node gives a block that can be proven; -32005 when the call has no calls to nodes left.
 */
export async function fetchProven(
  reference: Reference,
  transactions: number | undefined,
  parts: ProvingParts,
): Promise<StoredBlock> {
  const found = await storedOrFetched(reference, transactions, parts);
  if (found.proof === "none") throw errors.unproven();
  return found;
}

const storedOrFetched = async (
  reference: Reference,
  transactions: number | undefined,
  parts: ProvingParts,
): Promise<StoredBlock> =>
  storedAt(reference, parts) ?? (await fetchPaid(reference, transactions, parts));

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

/** The matching logs of a stored block. @throws RpcError 502 when the block has left the store since it was found. */
export function logsIn(
  block: StoredBlock,
  matcher: LogMatcher,
  { view }: ProvingParts,
): readonly Buffer[] {
  const logs = view.logsOf(block, matcher);
  if (!view.blockOf(block.hash)) throw errors.unproven();
  return logs;
}

/** How many blocks are fetched for one query at most. */
const MOST = 16;
const AT_ONCE = 4;

/**
 * Checks the logs that nodes gave against the first blocks that the logs name. Where one node gave impossible logs,
 * another node may have given logs that are possible and still false.
 * @throws RpcError 502 when one of the blocks has other logs, or no node gives the block.
 */
export async function checkClaims(
  logs: Buffer,
  filter: LogFilter,
  parts: ProvingParts,
): Promise<void> {
  const claims = Map.groupBy(claimsIn(logs), ({ number }) => number);
  const affordable = Math.floor(parts.context.upstreamCallsLeft / upstreamCallsFor(0, parts));
  const checked = [...claims].slice(0, Math.min(MOST, affordable));
  const matcher = matcherOf(filter);
  await mapConcurrently(checked, AT_ONCE, async ([number, claimed]) => {
    const block = await storedOrFetched({ number }, undefined, parts);
    if (block.proof === "none") return; // where nobody can repeat the chain's hashes, no block can refute logs
    const theirs = logsIn(block, matcher, parts).map((log) => claimOf(parsed(log)).text);
    const isSame =
      theirs.length === claimed.length && claimed.every(({ text }, at) => text === theirs[at]);
    if (!isSame) throw errors.unproven();
  });
}

type Claim = { readonly number: number; readonly text: string };

const claimsIn = (logs: Buffer): Claim[] =>
  (findElements(logs) ?? []).map(({ start, end }) => claimOf(parsed(logs.subarray(start, end))));

/** The standard members of a log as one text, without the members that some nodes add. */
function claimOf(log: unknown): Claim {
  const { blockNumber, blockHash, transactionHash, logIndex, address, topics, data } = Object(
    log,
  ) as Record<string, unknown>;
  const claimed = [blockHash, transactionHash, logIndex, address, topics, data];
  const number = isQuantity(blockNumber) ? toNumber(blockNumber) : -1;
  return { number, text: JSON.stringify(claimed).toLowerCase() };
}
