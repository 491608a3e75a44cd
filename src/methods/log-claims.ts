// Logs that nodes told, held against the blocks that they are said to be of: where a node was caught at
// what cannot be, another one may tell what only could be.
import type { LogFilter } from "../evm/log-filter.ts";
import { matcherOf } from "../evm/log-matcher.ts";
import { isQuantity, toNumber } from "../evm/values.ts";
import { findElements } from "../jsonrpc/members.ts";
import { parsed } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { inBatches } from "./in-batches.ts";
import { fetchProven, logsIn, type ProvingParts, questionsFor } from "./proven-blocks.ts";

/** So many blocks are fetched for one query at most. */
const MOST = 16;
const AT_ONCE = 4;

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
  const affordable = Math.floor(parts.context.questionsLeft / questionsFor(0, parts));
  const checked = [...claims].slice(0, Math.min(MOST, affordable));
  const matcher = matcherOf(filter);
  await inBatches(checked, AT_ONCE, async ([number, claimed]) => {
    const block = await fetchProven({ number }, undefined, parts);
    const theirs = logsIn(block, matcher, parts).map((log) => claimOf(parsed(log)).text);
    const isSame =
      theirs.length === claimed.length && claimed.every(({ text }, at) => text === theirs[at]);
    if (!isSame) throw errors.unproven();
  });
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
