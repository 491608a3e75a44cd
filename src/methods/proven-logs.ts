// Logs of blocks older than the window, proven by hashes, where the network's `proof` is strict. The blooms of headers
// tell which blocks may have matching logs; these blocks give the answer. Each block is the parent of the next one, so
// if the hash of the last block is the chain's, all hashes are.

import type { ChainView } from "../chain/chain-view.ts";
import type { ProofLevel, StoredBlock } from "../chain/stored-block.ts";
import { blockRulesOf } from "../evm/chains/chain-rules.ts";
import { type LogFilter, type LogMatcher, type LogRange, matcherOf } from "../evm/log-filter.ts";
import { isQuantity, numberIn, toNumber, toQuantity } from "../evm/values.ts";
import { findMembers } from "../jsonrpc/members.ts";
import { isNull, parsed } from "../jsonrpc/raw-json.ts";
import { errors, isTooMuchWork, type RpcError } from "../jsonrpc/rpc-error.ts";
import { mapConcurrently } from "../lib/waiting.ts";
import { bloomTestOf } from "../proofs/bloom.ts";
import { checkHeader } from "../proofs/check-header.ts";
import { isJson } from "../proofs/json.ts";
import { askBlock, type FixedPointer } from "./block-lookup.ts";
import { MAY_LAG } from "./forwarding.ts";
import { joinJson, refuseTooMany } from "./log-lists.ts";
import type { CallContext } from "./method.ts";
import { fetchProven, logsIn, type ProvingParts, upstreamCallsFor } from "./proven-blocks.ts";

export type ProvenLogs = { readonly logs: Buffer; readonly proof: ProofLevel };

/** The most headers, in blocks, that are fetched beyond the range to link it to the window. */
const NEAR = 32;
const AT_ONCE = 4;

/**
 * No log is false, and none is missing, if the hash of the last block is the chain's. Near the window that block is the
 * parent of a followed one; elsewhere no usable node may give another hash for its number.
 * @throws RpcError 502 when no node gives a header or a block that can be proven; -32005 when the proof takes more calls
 * to nodes than one call may make, or there are too many logs, each with a smaller range that would do.
 */
export async function provenLogs(
  range: LogRange,
  filter: LogFilter,
  parts: ProvingParts,
): Promise<ProvenLogs> {
  const { network, upstreamCallsLeft: most } = parts.context;
  const budget = new ProofCallBudget({ range, most, limit: network.limits.upstreamCalls });
  const matcher = matcherOf(filter);
  try {
    const candidates = await candidatesIn(range, matcher, { ...parts, budget });
    return await readAll(range, { candidates, matcher }, parts);
  } catch (error) {
    throw isTooMuchWork(error) && !hasRange(error) ? budget.usedUp() : error;
  }
}

const hasRange = (error: unknown): boolean => "from" in Object((error as { data?: unknown }).data);

type Candidate = Pick<OldHeader, "hash" | "transactions">;

/** The blocks that may have matching logs, oldest first. */
async function candidatesIn(
  range: LogRange,
  matcher: LogMatcher,
  parts: ProvingParts & { readonly budget: ProofCallBudget },
): Promise<readonly Candidate[]> {
  const { view, budget } = parts;
  const mayMatch = bloomTestOf(matcher);
  const anchor = await findAnchor(range, parts);
  const candidates: Candidate[] = [];
  const linked = linkedHeaders({ from: range.from, to: anchor.number }, anchor.hash, parts);
  for await (const { number, hash, bloom, transactions } of linked) {
    await view.pause();
    if (number > range.to) continue;
    const isStored = bloom === undefined;
    const isCandidate = isStored || mayMatch(bloom);
    if (isCandidate) candidates.push({ hash, transactions });
    budget.add(isCandidate && !isStored ? upstreamCallsFor(transactions, parts) : 0);
  }
  return candidates.toReversed();
}

/** The last header to fetch, and the hash that it must have. */
async function findAnchor(
  { from, to }: LogRange,
  parts: ProvingParts & { readonly budget: ProofCallBudget },
): Promise<{ readonly number: number; readonly hash: string }> {
  const { view, context, budget } = parts;
  const headersTo = (last: number): number => countMissing({ from, to: last }, parts);
  const above = view.blockAt(to + 1);
  if (above) {
    budget.plan(headersTo(to));
    return { number: to, hash: above.outline.parentHash };
  }
  const tail = view.blockAt(view.tail);
  const isNear = view.tail - to <= NEAR;
  if (isNear && tail && headersTo(tail.number - 1) <= context.upstreamCallsLeft * SHARE) {
    budget.plan(headersTo(tail.number - 1));
    return { number: tail.number - 1, hash: tail.outline.parentHash };
  }
  budget.plan(headersTo(to - 1) + (view.blockAt(to) ? 0 : upstreamCallsFor(0, parts)));
  return { number: to, hash: (await fetchProven({ number: to }, undefined, parts)).hash };
}

/** How many blocks of the range the store lacks; it stops counting beyond the calls to nodes that are left. */
function countMissing({ from, to }: LogRange, { view, context }: ProvingParts): number {
  let missing = 0;
  for (let number = from; number <= to && missing <= context.upstreamCallsLeft; number += 1)
    if (!view.positionAt(number)) missing += 1;
  return missing;
}

/** The logs of the candidates; no further block is read once there are too many logs. */
async function readAll(
  range: LogRange,
  { candidates, matcher }: { candidates: readonly Candidate[]; matcher: LogMatcher },
  parts: ProvingParts,
): Promise<ProvenLogs> {
  const { results } = parts.context.network.limits.logs;
  const most = range.from === range.to ? Number.POSITIVE_INFINITY : results;
  const logs: Buffer[] = [];
  let proof: ProofLevel = "full";
  for (let at = 0; at < candidates.length && logs.length <= most; at += AT_ONCE) {
    if (parts.context.signal.aborted) throw errors.upstreamTimeout();
    const some = candidates.slice(at, at + AT_ONCE);
    const blocks = await mapConcurrently(some, AT_ONCE, async ({ hash, transactions }) => {
      const block = await fetchProven({ hash }, transactions, parts);
      if (block.proof !== "full") proof = "partial";
      return logsIn(block, matcher, parts);
    });
    for (const log of blocks.flat()) {
      logs.push(log);
      parts.context.hold(log.length);
    }
    await parts.view.pause();
  }
  const json = Buffer.from(joinJson(logs));
  refuseTooMany(json, range, results);
  return { logs: json, proof };
}

type ProvingOptions = {
  readonly range: LogRange;
  /** How many calls to nodes this call may still make. */
  readonly most: number;
  /** How many calls to nodes any call may make, for the error. */
  readonly limit: number;
};

/** The share of the allowed calls that a proposed range takes, since more of its blocks may have matching logs. */
const SHARE = 0.75;

/** The assumed calls to nodes for a block beside its header, while no header has told how many blocks may match. */
const FETCHED = 2;

/**
 * Counts the calls to nodes that the proof of a range takes, and proposes a range that takes no more than one call may
 * make.
 */
export class ProofCallBudget {
  readonly #options: ProvingOptions;
  /** The calls to nodes for all headers, and for the hash of the last one. */
  #headers = 0;
  /** How many headers of the range were read, and the calls to nodes that the blocks with matching logs take. */
  #seen = 0;
  #blocks = 0;

  constructor(options: ProvingOptions) {
    this.#options = options;
  }

  /** Counts calls for headers. @throws RpcError `rangeTooCostly` */
  plan(headers: number): void {
    this.#headers += headers;
    this.#check();
  }

  /** Counts a block. @param calls Its calls to nodes; 0 without matching logs. @throws RpcError `rangeTooCostly` */
  add(calls: number): void {
    this.#seen += 1;
    this.#blocks += calls;
    this.#check();
  }

  /** The error when retries have used up the calls to nodes. */
  usedUp(): RpcError {
    return this.#tooCostly(0.5);
  }

  #check(): void {
    if (this.#headers + this.#blocks > this.#options.most) throw this.#tooCostly(SHARE);
  }

  #tooCostly(share: number): RpcError {
    const { range, most, limit } = this.#options;
    const each = 1 + (this.#seen === 0 ? FETCHED : this.#blocks / this.#seen);
    const width = Math.min((most * share) / each, (range.to - range.from) * share);
    const to = range.from + Math.max(1, Math.floor(width)) - 1;
    return errors.rangeTooCostly(limit, { from: toQuantity(range.from), to: toQuantity(to) });
  }
}

type LinkingParts = {
  readonly view: Pick<ChainView, "blockAt" | "blockOf">;
  readonly context: Pick<CallContext, "ask" | "network">;
};

/** How many headers are fetched at the same time. */
const HEADERS_AT_ONCE = 16;

/**
 * The blocks of a range, newest first, each the parent of the one before.
 * @param hash The hash of the newest block.
 * @throws RpcError 502 when no node gives a header with the hash; -32005 beyond what the call may ask.
 */
async function* linkedHeaders(
  { from, to }: LogRange,
  hash: string,
  parts: LinkingParts,
): AsyncGenerator<OldHeader> {
  let expected = hash;
  for (let last = to; last >= from; last -= HEADERS_AT_ONCE) {
    const count = Math.min(HEADERS_AT_ONCE, last - from + 1);
    const numbers = Array.from({ length: count }, (_, index) => last - index);
    const found = await Promise.all(numbers.map((number) => findAt(number, parts)));
    for (const header of found) {
      // A node may have made up another block with this number, whose hash fits its header.
      const linked = header?.hash === expected ? header : await findByHash(expected, parts);
      yield linked;
      expected = linked.parentHash;
    }
  }
}

async function findAt(
  number: number,
  { view, context }: LinkingParts,
): Promise<OldHeader | undefined> {
  const block = view.blockAt(number);
  if (block) return storedHeader(block);
  return askHeader({ kind: "number", number: toQuantity(number) }, context);
}

async function findByHash(hash: string, { view, context }: LinkingParts): Promise<OldHeader> {
  const block = view.blockOf(hash);
  const header = block ? storedHeader(block) : await askHeader({ kind: "hash", hash }, context);
  if (!header) throw errors.unproven();
  return header;
}

const storedHeader = ({ number, hash, outline }: StoredBlock): OldHeader => {
  const { parentHash, transactions } = outline;
  return { number, hash, parentHash, bloom: undefined, transactions };
};

/** undefined when the nodes do not know the block. */
async function askHeader(
  pointer: FixedPointer,
  context: LinkingParts["context"],
): Promise<OldHeader | undefined> {
  const number = pointer.kind === "number" ? toNumber(pointer.number) : undefined;
  const read = (json: Buffer): OldHeader | undefined => {
    const header = readHeader(json, context.network.chainId);
    const isIt =
      pointer.kind === "hash" ? header?.hash === pointer.hash : header?.number === number;
    return isIt ? header : undefined;
  };
  const isFalse = (json: Buffer): boolean => !isNull(json) && read(json) === undefined;
  const options = { ...MAY_LAG, block: number, isFalse, fullTransactions: false };
  // Checked again, since the reply may be shared with another caller's equal call, which accepts any block.
  return read(await askBlock(pointer, options, context));
}

/** The header of a stored block, or of a block that a node gave with the hashes of its transactions. */
type OldHeader = {
  readonly number: number;
  /** In lower case, like the parent's. */
  readonly hash: string;
  readonly parentHash: string;
  /** DATA; undefined for a stored block, which needs no bloom test, since the index of its logs is as fast. */
  readonly bloom: string | undefined;
  /** The most transactions that a node's list can have. The header's hash does not prove this list. */
  readonly transactions: number;
};

/** The most bytes of a header without its list of transactions. */
const LONGEST = 1 << 17;
/** The bytes of a hash with its quotes and a comma. */
const LISTED_BYTES = 69;

/** Reads a header and checks it against its own hash. Undefined when it is no header, or it does not have its hash. */
function readHeader(json: Buffer, chainId: number): OldHeader | undefined {
  const [list] = findMembers(json, ["transactions"]) ?? [];
  if (!list || json.length - (list.end - list.start) > LONGEST) return undefined;
  const around = [json.subarray(0, list.start), EMPTY_LIST, json.subarray(list.end)];
  const header = parsed(Buffer.concat(around));
  if (!isJson(header)) return undefined;
  const rules = blockRulesOf(chainId, numberIn(header["number"]));
  if (checkHeader(header, rules).kind !== "proven") return undefined;
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
