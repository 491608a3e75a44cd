// What a node means when it refuses a log query for its size. Nodes have limits of their own, in blocks, in results or
// in bytes, and many ways to say so: the table below.
import type { LogRange } from "./log-filter.ts";

/** A node's error, as far as it matters here. */
type NodeError = { readonly message: string; readonly data?: unknown };

export type SizeRefusal = {
  /** "range": so many blocks are never accepted. "results": these blocks have too many logs. */
  readonly about: "range" | "results";
  /** The most blocks that the node accepts, by its own words; fewer than were asked for. */
  readonly widest?: number;
  /** The last block up to which the node would answer, by its own words; less than was asked for. */
  readonly hint?: number;
};

/**
 * What a refusal teaches for the next query.
 * @param asked The refused range. A number in the refusal that is not about a part of it is ignored.
 * @returns undefined when the refusal is not about size.
 */
export function sizeRefusal(error: NodeError, asked: LogRange): SizeRefusal | undefined {
  const text = textOf(error);
  if (REVERTED.test(text)) return undefined;
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

/** Whether a node accepts fewer addresses or topics than were asked for; another one may accept them. */
export const hasTooManyCriteria = ({ message }: NodeError): boolean =>
  CRITERIA.test(message.slice(0, LONGEST));

const CRITERIA =
  /exceed max (?:addresses|topics)|less number of address|contains \d{1,9} filters\. the current limit/i;

/** These are a contract's words, which may be any. */
const REVERTED = /\brevert/i;

/** No known refusal is longer, but a node may write anything. */
const LONGEST = 1000;

/** The words of the refusal: some nodes give the reason as `data`, beside a message that says nothing. */
const textOf = ({ message, data }: NodeError): string => {
  const rest = typeof data === "string" ? data : (JSON.stringify(data) ?? "");
  return `${message.slice(0, LONGEST)} ${rest.slice(0, LONGEST)}`.trim();
};

/** "10,000", "2K". NaN when there is none. */
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

/** The last block of a range that begins like the refused one and ends before it. */
function hintIn(text: string, asked: LogRange): number | undefined {
  for (const words of HINTS) {
    const { from, to } = words.exec(text)?.groups ?? {};
    const last = Number(to);
    if (Number(from) === asked.from && last >= asked.from && last < asked.to) return last;
  }
  return undefined;
}

/** "range": too many blocks, whatever is in them. "results": too much is in these blocks. */
type Dialect = readonly [about: "range" | "results", of: string, words: RegExp];

/**
 * How nodes and providers say that a log query is too large: about what, by whom, in which words (`widest` is the
 * number of blocks that are accepted; the test has the refusals that were seen). The first row that fits counts.
 */
const dialects: readonly Dialect[] = [
  ["range", "Thirdweb", /number of requested blocks is (?<widest>[\d,]{1,12}k?)/i],
  [
    "results",
    "Infura, Erigon, Polygon zkEVM, Tenderly, zkSync; reth, LlamaRPC; Nethermind; Erigon; Arbitrum",
    /returned more than [\d,]{1,12} (?:results|logs)|exceeds? max(?:imum)? results|too many (?:logs|results)|matched by query exceeds limit/i,
  ],
  // The range that it names would be answered without a limit on results; any other range may be, too.
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
  [
    "range",
    "Ankr, Base, Besu, Bor, Chainstack, Erigon, Scroll",
    /(?:range|gap) (?:is )?(?:too (?:wide|large|big|high)|larger than|bigger than)|range exceeds|range limit exceeded|exceeds? max(?:imum)? (?:block )?(?:range|gap)/i,
  ],
];
