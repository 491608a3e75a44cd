// Interprets a node's refusal of a log query for its size. Nodes limit blocks, results or bytes, and word their
// refusals in many ways, which are listed in the table below.
import type { LogRange } from "./log-filter.ts";

/** The part of a node's error that is used here. */
type NodeError = { readonly message: string; readonly data?: unknown };

export type SizeRefusal = {
  /** "range": the node never accepts so many blocks. "results": these blocks have too many logs. */
  readonly about: "range" | "results";
  /** The most blocks that the node says it accepts, if fewer than the query asked for. */
  readonly widest?: number;
  /** The last block up to which the node says it would answer, if before the end of the asked range. */
  readonly hint?: number;
};

/**
 * Reads the limits for the next query from a refusal.
 * @param asked The refused range. Numbers that do not fit into it are ignored.
 * @returns undefined when the refusal is not about size.
 */
export function sizeRefusal(error: NodeError, asked: LogRange): SizeRefusal | undefined {
  const text = textOf(error);
  if (REVERTED.test(text) || OTHER.test(text)) return undefined;
  for (const [about, , words] of dialects) {
    const found = words.exec(text);
    if (!found) continue;
    const widest = numberOf(found.groups?.["widest"]);
    const hint = hintIn(text, asked);
    return {
      about,
      ...(widest >= 1 && widest <= asked.to - asked.from ? { widest } : {}),
      ...(hint === undefined ? {} : { hint }),
    };
  }
  return undefined;
}

/** Whether the node accepts fewer addresses or topics than the query has; another node may accept them. */
export const hasTooManyCriteria = ({ message }: NodeError): boolean =>
  CRITERIA.test(message.slice(0, LONGEST));

const CRITERIA =
  /exceeds? (?:the )?(?:max(?:imum)? )?(?:number of )?(?:addresses|topics)|(?:less|fewer|smaller) number of address|(?:too many|fewer|less|maximum(?: number)?(?: of)?|max(?: number of)?|more than \d{1,9}|up to \d{1,9}|limited to \d{1,9}|at most \d{1,9}) (?:contract )?addresses|contains \d{1,9} filters\. the current limit/i;

/** The most addresses that a node says it accepts in one query; undefined where it tells none. */
export function mostAddressesIn({ message }: NodeError): number | undefined {
  const most = Number(MOST_ADDRESSES.exec(message.slice(0, LONGEST))?.[1]);
  return most >= 1 ? most : undefined;
}

const MOST_ADDRESSES =
  /(?:max(?:imum)?|limit(?:ed)?(?: is| to)?|at most|up to|more than|allowed)[^\d.]{0,30}(\d{1,6})/i;

/** A revert reason is a contract's text, which may contain anything. */
const REVERTED = /\brevert/i;

/** Refusals of ranges that are wrong, not large: a smaller one is refused, too. */
const OTHER =
  /extends? beyond|invalid block range|\b(?:begin|start|from)\w* (?:block )?(?:is |must be )?(?:greater|higher|larger|after)|beyond (?:the )?(?:current )?head|\brate limit/i;

/** Characters. All known refusals are shorter, but a node may write a longer text. */
const LONGEST = 1000;

/** The words of the refusal: some nodes give the reason in `data`, beside a message that says nothing. */
const textOf = ({ message, data }: NodeError): string => {
  const rest = typeof data === "string" ? data : (JSON.stringify(data) ?? "");
  return `${message.slice(0, LONGEST)} ${rest.slice(0, LONGEST)}`.trim();
};

/** Reads "10,000" or "2K". @returns NaN when there is no text. */
const numberOf = (text: string | undefined): number =>
  text === undefined
    ? Number.NaN
    : Number(text.replace(/,|k$/gi, "")) * (/k$/i.test(text) ? 1000 : 1);

const HINTS = [
  // Infura, Alchemy, zkSync, Tenderly, Thirdweb
  /\[(?<from>0x[0-9a-f]{1,13}), ?(?<to>0x[0-9a-f]{1,13})\]/i,
  // reth
  /with the range (?<from>\d{1,15}) ?- ?(?<to>\d{1,15})/i,
  // Infura's data
  /"from":"(?<from>0x[0-9a-f]{1,13})"[^{}]{0,60}"to":"(?<to>0x[0-9a-f]{1,13})"/i,
];

/** The end of a range in the text that begins like the refused range, and ends before it. */
function hintIn(text: string, asked: LogRange): number | undefined {
  for (const words of HINTS) {
    const { from, to } = words.exec(text)?.groups ?? {};
    const last = Number(to);
    if (Number(from) === asked.from && last >= asked.from && last < asked.to) return last;
  }
  return undefined;
}

/** "range": too many blocks, whether they have logs or not. "results": these blocks have too many logs. */
type Dialect = readonly [about: "range" | "results", of: string, words: RegExp];

/**
 * The wordings in which nodes and providers refuse large log queries: the kind, its sources, and the pattern (its group
 * `widest` is the accepted number of blocks). The test lists real refusals. The first matching row counts.
 */
const dialects: readonly Dialect[] = [
  ["range", "Thirdweb", /number of requested blocks is (?<widest>[\d,]{1,12}k?)/i],
  [
    "results",
    "Infura, Erigon, Polygon zkEVM, Tenderly, zkSync; reth, LlamaRPC; Nethermind; Erigon; Arbitrum",
    /returned more than [\d,]{1,12} (?:results|logs)|exceeds? max(?:imum)? results|too many (?:logs|results)|matched by query exceeds limit/i,
  ],
  // Alchemy would answer the range in the text whatever its number of results; other ranges may work, too.
  ["results", "Alchemy", /log response size exceeded/i],
  ["results", "Infura, Arbitrum, Conflux", /query time(?:d )?out|narrow down/i],
  [
    "results",
    "1RPC, Ankr, Optimism",
    /response (?:is )?too (?:large|big)|response size (?:should not|(?:is )?exceed)|result set too large/i,
  ],
  [
    "range",
    "QuickNode, 1RPC, BlockPI, Blast",
    /limited to (?:an? )?(?:0 ?- ?)?(?<widest>[\d,]{1,12}k?) (?:blocks?|range)/i,
  ],
  ["range", "Alchemy", /up to an? (?<widest>[\d,]{1,12}k?) block range/i],
  [
    "range",
    "geth, reth, publicnode, cdk-erigon, Cloudflare",
    /max(?:imum)? (?:block )?range(?: is| of)?:? ?(?<widest>[\d,]{1,12}k?)/i,
  ],
  [
    "range",
    "Infura, Tenderly, Conflux",
    /range [\d ,-]{0,40}(?:exceeds (?:the )?|is bigger than )(?:range )?(?:max(?:imum)? )?(?:limit|value)(?: of)?:? (?<widest>[\d,]{1,12}k?)/i,
  ],
  ["range", "Conflux; dRPC", /(?:max_gap: |ranges? over )(?<widest>[\d,]{1,12}k?)/i],
  [
    "range",
    "Avalanche, Moonbeam, Sei",
    /(?:too many blocks|range is too wide|range too large)[^.]{0,60}max(?:imum)?(?: is set to| allowed is)? (?<widest>[\d,]{1,12}k?)/i,
  ],
  [
    "range",
    "Blast, SimplyVC, Coinbase",
    /(?:for your plan \(\d{1,12} > |blocks range, the limit is |query to at most )(?<widest>[\d,]{1,12}k?)/i,
  ],
  ["range", "BNB Smart Chain", /(?<![a-z] )\blimit exceeded\.?(?:"|$)/i],
  ["results", "Alchemy", /response size is larger than/i],
  [
    "range",
    "Oasis, Harmony",
    /(?:rounds in logs query is|query must be smaller than size):? (?<widest>[\d,]{1,12})/i,
  ],
  [
    "range",
    "Ankr, besu",
    /blocks? (?:distance|gap|span|range)\b[^.\d]{0,40}(?<![\d,])(?<widest>[\d,]{1,12}k?)(?! ?[-,\d])/i,
  ],
  [
    "range",
    "nodes that tell a number of blocks",
    /(?:at most|up to|more than|less than|fewer than|smaller than|greater than|maximum(?: of| is)?|max(?: is)?|limit(?:ed)?(?: is| of| to)?|exceeds?|within|over|only query|only|allowed(?: is)?):? (?:an? )?(?<widest>[\d,]{1,12}k?)[ -](?:blocks?|epochs?|rounds?)\b/i,
  ],
  [
    "range",
    "nodes that tell the largest difference",
    /(?:(?:difference|distance|gap|span) between|from ?block[^.]{0,10} to ?block|to ?block ?- ?from ?block)[^.]{0,80}?(?:than|exceeds?|most|within|maximum|limit|below|under|>)[^.\d]{0,20}(?<widest>[\d,]{1,12}k?)/i,
  ],
  [
    "range",
    "nodes that tell a number behind the blocks",
    /\b(?:number of|block count|blocks?)\b[^.\d]{0,40}(?:below|under|exceeds?|less than|at most|up to|limit(?:ed)?(?: to| of| is)?|max\w*)[^.\d]{0,12}(?<widest>[\d,]{1,12}k?)/i,
  ],
  [
    "range",
    "nodes that tell no number",
    /(?:range|gap|distance|span|window|interval|scope|block count|blocks limit)s?\b[^.]{0,30}\b(?:too|over|larger|bigger|greater|wider|exceed\w*|limit\w*|threshold|max\w*)\b|\b(?:too many|reduce|decrease|narrow|smaller|shrink|split|large|wide|limit)\b[^.]{0,40}\b(?:blocks?|ranges?|rounds|epochs)\b|exceed(?:s|ed)? (?:the )?(?:max(?:imum)? )?(?:block )?(?:range|gap|span|blocks)|\b(?:too|only)\b[^.]{0,20}\b(?:blocks|interval|range)\b/i,
  ],
  [
    "results",
    "nodes that tell no number",
    /\b(?:response|result|results|payload|body|output|logs)\b[^.]{0,40}\b(?:too (?:large|big|many|long)|larger than|greater than|exceeds?|exceeded|over the limit)\b|too many events|string longer than|try paginating|more than [\d,]{1,12} (?:events|records|rows|entries)|(?:query|filter|entity|request) (?:(?:took|takes|is) )?too (?:long|large|big|heavy|complex|expensive|broad)|(?:query|filter) exceeds (?:the )?limit|too much data/i,
  ],
];
