// The nodes' wording of refused log queries on epoch networks: the gateway both uses and recognises it.
import type { NodeError } from "../evm/revert.ts";
import { RpcError } from "../jsonrpc/rpc-error.ts";

export const tooManyHashes = (count: number): RpcError =>
  new RpcError(-32602, `filter.block_hashes can contain up to 128 hashes; ${count} were provided.`);

export const reversedEpochs = (from: number, to: number): RpcError =>
  filterError(`Filter has wrong epoch numbers set (from: ${from}, to: ${to})`);

/** @param most.rule The setting of the caller's key, if the limit is the key's own. */
export const gapTooWide = (
  from: number,
  to: number,
  { blocks, rule }: { blocks: number; rule?: string | undefined },
): RpcError =>
  filterError(
    `The gap between from_epoch and to_epoch is larger than max_gap (from: ${from}, to: ${to}, max_gap: ${blocks})`,
    rule === undefined ? undefined : { rule, limit: blocks },
  );

const BEYOND = "expected a numbers with less than largest epoch number";

/** The error for a range that begins and ends after the newest mined epoch. */
export const beyondEpochs = (): RpcError => filterError(`Invalid params: ${BEYOND}.`);

const filterError = (why: string, data?: unknown): RpcError =>
  new RpcError(-32016, `Error processing request: Filter error: ${why}`, { data });

/** Whether the node would answer for fewer epochs, but does not say for how many. */
export const tooManyLogs = (error: NodeError): boolean =>
  largestGap(error) === undefined && TOO_MUCH.test(textOf(error));

/** The number of epochs for which the node would answer, if it says so; else undefined. */
export function largestGap(error: NodeError): number | undefined {
  const text = textOf(error);
  for (const words of TOO_WIDE) {
    const most = Number(words.exec(text)?.[1]?.replaceAll(",", ""));
    if (most > 0) return most;
  }
  return undefined;
}

/**
 * Whether the node has not executed these epochs yet. A node that is slightly behind truncates the range and then calls
 * it reversed, so the range must be known not to be reversed.
 */
export const isBeyondHead = (error: NodeError): boolean => BEYOND_HEAD.test(textOf(error));

const BEYOND_HEAD = new RegExp(`${BEYOND}|is not executed|wrong epoch numbers set`, "i");

const TOO_MUCH =
  /too many logs|more than [0-9,]+ (logs|results)|narrow down|query timeout|response size|(range|gap) (is )?(too (large|big|wide|high)|larger|bigger)|exceeds? max(imum)? (gap|range)/i;

/** The wordings of conflux-rust, Confura, and providers of Ethereum nodes that also serve epochs. */
const TOO_WIDE = [
  /max_gap: ([0-9]+)/,
  /range exceeds (?:the )?max(?:imum)? (?:value|limit)(?: of)?:? ([0-9,]+)/i,
  /max(?:imum)? (?:allowed )?(?:block |epoch )?(?:range|gap)(?: is| of| =|:)? ([0-9,]+)/i,
  /range (?:[0-9]+ exceeds )?limit (?:of |is )?([0-9,]+)/i,
  /(?:limited|up) to (?:an? |0 ?- ?)?([0-9,]+)(?: blocks?| epochs?)? range/i,
  /ranges? over ([0-9,]+) (?:blocks|epochs)/i,
];

/** Message and data: nodes and providers put the reason into either. All known reasons are shorter than the limit. */
const textOf = ({ message, data }: NodeError): string =>
  `${message} ${typeof data === "string" ? data : JSON.stringify(data ?? "")}`.slice(0, 2000);
