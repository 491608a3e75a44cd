// The chain as the nodes have it, for filters whose blocks the store cannot give: while the network passes calls
// through, and for blocks that could not be taken into the store. Nothing of it is proven. Recent headers are remembered,
// so that all filters together ask for each block once.
import type { Position } from "../chain/stored-block.ts";
import { conditionsOf, criteriaHash, type LogFilter, matcherOf } from "../evm/log-filter.ts";
import { inChainOrder, matches, refuteLogs } from "../evm/log-validation.ts";
import { headerOf } from "../evm/results.ts";
import { isHash, isQuantity, toNumber, toQuantity } from "../evm/values.ts";
import { findElements } from "../jsonrpc/members.ts";
import { isNull, parsed } from "../jsonrpc/raw-json.ts";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { keepNewest } from "../lib/keep-newest.ts";
import { deadline } from "../lib/waiting.ts";
import { bloomTestOf } from "../proofs/bloom.ts";
import type { CallOptions } from "../upstream/asking/call-options.ts";
import type { Pool } from "../upstream/pool.ts";
import type { Reply } from "../upstream/reply.ts";

/** A block that a node gave, linked to its parent by its own words alone. */
export type NodeBlock = Position & {
  readonly parentHash: string;
  /** The header as subscribers of new heads get it: a JSON object. */
  readonly header: string;
  readonly logsBloom: unknown;
};

export type NodeChainParts = {
  readonly pool: Pick<Pool, "call">;
  readonly clock: Pick<Clock, "after">;
  /** Aborts when the network ends. */
  readonly signal: Signal;
};

/** The most headers that are remembered. */
const MOST_HEADERS = 256;
/** The most different questions about the logs of one block that nodes are asked, and the most blocks whose logs are kept. */
const MOST_QUESTIONS = 8;
const MOST_BLOCKS = 4;
/** The timeout of one call, in milliseconds. */
const ASK_MS = 10_000;

/** Equal questions at the same time share one call. */
export class NodeChain {
  readonly #headers = new Map<string, NodeBlock>();
  readonly #asking = new Map<string, Promise<Buffer>>();
  /** The criteria that filters asked for, by block. */
  readonly #questions = new Map<string, Set<string>>();
  /** All logs of a few blocks that many filters asked for. */
  readonly #allLogs = new Map<string, Promise<readonly ReadLog[]>>();
  readonly #parts: NodeChainParts;

  constructor(parts: NodeChainParts) {
    this.#parts = parts;
  }

  /** The newest block of a node. @throws RpcError when no node tells one. */
  async head(): Promise<NodeBlock> {
    const head = this.#read(await this.#ask("eth_getBlockByNumber", '["latest",false]'));
    if (!head) throw errors.upstreamsFailed();
    return head;
  }

  /**
   * The block that the nodes have at a number; undefined when there is none: the height may be one that the chain left
   * out, for which some nodes answer null and others (Filecoin's Lotus) an error.
   * @throws RpcError when no node answers.
   */
  async blockAt(number: number): Promise<NodeBlock | undefined> {
    const block = await this.#blockOf("eth_getBlockByNumber", toQuantity(number));
    return block?.number === number ? block : undefined;
  }

  /** The block with this hash; undefined when no node has it. @throws RpcError when no node answers. */
  async blockOf(hash: string): Promise<NodeBlock | undefined> {
    const known = this.#headers.get(hash);
    if (known) return known;
    const block = await this.#blockOf("eth_getBlockByHash", hash);
    return block?.hash === hash ? block : undefined;
  }

  /**
   * The matching logs of a block, in order. The nodes are asked by the block's hash (EIP-234), so that no node answers
   * about another block, and by its number where they refuse that. Some nodes answer an empty list for a block that they
   * lack: unless the block's bloom excludes the criteria, a second node is asked as well, and the block must still be known.
   * Where many filters ask for the logs of one block, all its logs are fetched once for the others.
   * @throws RpcError when no node answers; 503 when a reorg removed the block meanwhile.
   */
  async logsOf(block: NodeBlock, filter: LogFilter): Promise<Buffer[]> {
    const questions = this.#questions.get(block.hash) ?? new Set();
    if (questions.size <= MOST_QUESTIONS) questions.add(criteriaHash(filter).toString("hex"));
    keepNewest(this.#questions, [block.hash, questions], MOST_HEADERS);
    if (questions.size <= MOST_QUESTIONS) return this.#matchingLogs(block, filter);
    const known = this.#allLogs.get(block.hash);
    const all = known ?? this.#matchingLogs(block, {}).then((logs) => logs.map(readLog));
    if (!known) keepNewest(this.#allLogs, [block.hash, all], MOST_BLOCKS);
    try {
      const matcher = matcherOf(filter);
      return (await all)
        .filter(({ address, topics }) => matches(matcher, address, topics))
        .map(({ json }) => json);
    } catch (error) {
      this.#allLogs.delete(block.hash);
      if (isRefusal(error)) return this.#matchingLogs(block, filter); // all its logs are too many for the nodes
      throw error;
    }
  }

  async #matchingLogs(block: NodeBlock, filter: LogFilter): Promise<Buffer[]> {
    const { hash, number, logsBloom } = block;
    const matcher = matcherOf(filter);
    const mayMatch = !hasBloom(logsBloom) || bloomTestOf(matcher)(logsBloom);
    const expected = { matcher, within: new Set([hash]) };
    const asked = this.#ask("eth_getLogs", paramsOf({ blockHash: hash }, filter), {
      block: number,
      reaches: number,
      isFalse: (json) => refuteLogs(json, expected),
      crossCheck: {
        name: "logs of a block, and none",
        isUncertain: (reply) => mayMatch && reply.kind === "result" && isEmpty(reply.json),
      },
    });
    const logs = await asked.catch((error: unknown) => {
      if (isRefusal(error)) return error;
      throw error;
    });
    const isCertain = Buffer.isBuffer(logs) && !(mayMatch && isEmpty(logs));
    if (!isCertain && !(await this.#blockOf("eth_getBlockByHash", hash))) throw errors.chainMoves();
    return Buffer.isBuffer(logs) ? logsIn(logs) : this.#logsByNumber(block, filter, logs);
  }

  /** @param refusal The nodes' refusal of the block's hash, which is thrown when they refuse the number, too. */
  async #logsByNumber(
    { hash, number }: NodeBlock,
    filter: LogFilter,
    refusal: RpcError,
  ): Promise<Buffer[]> {
    const at = toQuantity(number);
    const params = paramsOf({ fromBlock: at, toBlock: at }, filter);
    const within = { from: number, to: number };
    const matcher = matcherOf(filter);
    const logs = await this.#ask("eth_getLogs", params, {
      ...{ block: number, reaches: number },
      isFalse: (json) => refuteLogs(json, { matcher, within }),
    }).catch((error: unknown) => {
      throw isRefusal(error) ? refusal : error;
    });
    const found = logsIn(logs);
    const isOther = found.some((log) => blockHashOf(log) !== hash);
    if (isOther || (await this.blockAt(number))?.hash !== hash) throw errors.chainMoves();
    return found;
  }

  /** A node's refusal counts as the absence of the block. A node that answers null may lag, so a second one is asked. */
  async #blockOf(method: string, reference: string): Promise<NodeBlock | undefined> {
    const isUncertain = (reply: Reply): boolean => reply.kind === "result" && isNull(reply.json);
    const options = { crossCheck: { name: "a block, and none", isUncertain } };
    try {
      return this.#read(await this.#ask(method, JSON.stringify([reference, false]), options));
    } catch (error) {
      if (isRefusal(error)) return undefined;
      throw error;
    }
  }

  #read(json: Buffer): NodeBlock | undefined {
    if (isNull(json)) return undefined;
    const block = Object(parsed(json)) as Record<string, unknown>;
    const { number, hash, parentHash, logsBloom } = block;
    if (!isHash(hash) || !isHash(parentHash) || !isQuantity(number)) return undefined;
    const own = hash.toLowerCase();
    const known = this.#headers.get(own) ?? {
      ...{ number: toNumber(number), hash: own, parentHash: parentHash.toLowerCase(), logsBloom },
      header: headerOf(json),
    };
    keepNewest(this.#headers, [own, known], MOST_HEADERS);
    return known;
  }

  #ask(method: string, params: string, options?: CallOptions): Promise<Buffer> {
    const name = method + params;
    const asking =
      this.#asking.get(name) ??
      this.#askOnce(method, params, options).finally(() => this.#asking.delete(name));
    this.#asking.set(name, asking);
    return asking;
  }

  async #askOnce(method: string, params: string, options?: CallOptions): Promise<Buffer> {
    const { pool, clock, signal } = this.#parts;
    const limit = deadline(ASK_MS, signal, clock);
    try {
      return await pool.call(method, params, limit.signal, options);
    } finally {
      limit.done();
    }
  }
}

const paramsOf = (blocks: object, filter: LogFilter): string =>
  JSON.stringify([{ ...blocks, ...conditionsOf(filter) }]);

/** Whether a header has a bloom with some bit: some nodes (of ZKsync, Aurora, Polygon) write zeros whatever the logs. */
const hasBloom = (bloom: unknown): bloom is string =>
  typeof bloom === "string" && /^0x.*[1-9a-f]/i.test(bloom);

const isRefusal = (error: unknown): error is RpcError =>
  error instanceof RpcError && error.json !== undefined;

/** `[]` or `null`. */
const isEmpty = (logs: Buffer): boolean => logs.length <= 4;

/** The logs of a checked answer, in the order of the chain. */
function logsIn(answer: Buffer): Buffer[] {
  const logs = inChainOrder(answer);
  return (findElements(logs) ?? []).map(({ start, end }) => logs.subarray(start, end));
}

type ReadLog = {
  readonly json: Buffer;
  readonly address: string;
  readonly topics: readonly string[];
};

/** @param json A log whose members were checked. */
function readLog(json: Buffer): ReadLog {
  const { address, topics } = parsed(json) as Omit<ReadLog, "json">;
  return { json, address, topics };
}

function blockHashOf(log: Buffer): string | undefined {
  const { blockHash } = Object(parsed(log)) as { blockHash?: unknown };
  return typeof blockHash === "string" ? blockHash.toLowerCase() : undefined;
}
