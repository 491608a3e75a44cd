// Logs of blocks older than the window that stand on more than a node's word: on the blocks themselves and
// their receipts, fetched and proven. For networks whose `proof` is strict, and where a node was caught.
import type { ChainView } from "../chain/chain-view.ts";
import type { StoredBlock } from "../chain/stored-block.ts";
import type { LogFilter } from "../evm/log-filter.ts";
import { matcherOf } from "../evm/log-matcher.ts";
import { isQuantity, toNumber } from "../evm/values.ts";
import { findElements } from "../jsonrpc/members.ts";
import { parsed } from "../jsonrpc/parsed.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { inBatches } from "./in-batches.ts";
import { joinJson } from "./join-json.ts";
import type { LogRange } from "./log-range.ts";

/** So many blocks are fetched for one query at most, each with two calls of nodes or more. */
const MOST = 16;
const AT_ONCE = 4;

export type ProvingParts = {
  readonly view: Pick<ChainView, "blockAt" | "fetch" | "logsOf">;
  /** How often nodes may still be asked for the call. */
  readonly questionsLeft: number;
};

/**
 * The logs of a few blocks, from the blocks themselves: none is false, and none is missing.
 *
 * @returns undefined when these are more blocks than are fetched for one query.
 * @throws RpcError 502 when a block is not to be had so that it can be proven.
 */
export async function provenLogs(
  { from, to }: LogRange,
  filter: LogFilter,
  parts: ProvingParts,
): Promise<Buffer | undefined> {
  const count = to - from + 1;
  if (count > mostOf(parts)) return undefined;
  const numbers = Array.from({ length: count }, (_, index) => from + index);
  const matcher = matcherOf(filter);
  const blocks = await inBatches(numbers, AT_ONCE, async (number) =>
    parts.view.logsOf(await fetchProven(number, parts), matcher),
  );
  return Buffer.from(joinJson(blocks.flat()));
}

/**
 * Holds logs that nodes told against the first blocks that they are said to be of.
 *
 * @throws RpcError 502 when one of the blocks has others, or is not to be had.
 */
export async function checkClaims(
  logs: Buffer,
  filter: LogFilter,
  parts: ProvingParts,
): Promise<void> {
  const claims = Map.groupBy(claimsIn(logs), ({ number }) => number);
  const matcher = matcherOf(filter);
  await inBatches([...claims].slice(0, mostOf(parts)), AT_ONCE, async ([number, claimed]) => {
    const block = await fetchProven(number, parts);
    const theirs = parts.view.logsOf(block, matcher).map((log) => claimOf(parsed(log)).text);
    const isSame =
      theirs.length === claimed.length && claimed.every(({ text }, at) => text === theirs[at]);
    if (!isSame) throw errors.unproven();
  });
}

const mostOf = ({ questionsLeft }: ProvingParts): number =>
  Math.min(MOST, Math.floor(questionsLeft / 2));

async function fetchProven(number: number, { view }: ProvingParts): Promise<StoredBlock> {
  const found = view.blockAt(number) ?? (await view.fetch({ number }));
  if (typeof found === "string" || found.proof === "none") throw errors.unproven();
  return found;
}

type Claim = { readonly number: number; readonly text: string };

const claimsIn = (logs: Buffer): Claim[] =>
  (findElements(logs) ?? []).map(({ start, end }) => claimOf(parsed(logs.subarray(start, end))));

/** What a log says, without what nodes add to it. */
function claimOf(log: unknown): Claim {
  const { blockNumber, blockHash, transactionHash, logIndex, address, topics, data } = Object(
    log,
  ) as Record<string, unknown>;
  const said = [blockHash, transactionHash, logIndex, address, topics, data];
  const number = isQuantity(blockNumber) ? toNumber(blockNumber) : -1;
  return { number, text: JSON.stringify(said).toLowerCase() };
}
