// Extends the stored chain up to a node's head: fetches the blocks between both heads; after a reorg, removes blocks
// down to the fork point and adds the other branch. If both chains share no block, the store starts over.

import type { Logger } from "pino";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { deadline, mapConcurrently, soon } from "../lib/waiting.ts";
import type { Reorganisation } from "../observe/incidents.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { BlockSource } from "./block-source.ts";
import type { ChainUpdate } from "./block-store.ts";
import { type Link, linkOf } from "./blocks-below.ts";
import { Confirmation } from "./confirmation.ts";
import type { AskedUpstream, ChainDialect, Reference } from "./dialect.ts";
import type { Position } from "./stored-block.ts";
import type { IngestedBlock, StoreWriting } from "./writing.ts";

export type AdvanceParts = {
  readonly store: Pick<StoreWriting, "tables" | "size" | "apply" | "startAt" | "clear">;
  readonly dialect: Pick<ChainDialect, "readPosition" | "knowsBlock">;
  readonly source: Pick<BlockSource, "fetch">;
  /** Whether all nodes of the configuration can be asked now. */
  readonly isComplete: () => boolean;
  readonly clock: Pick<Clock, "now" | "after" | "sleep">;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "headMoved">;
  /** Aborts all calls to nodes. */
  readonly signal: Signal;
  /** A callback after each chain update. */
  readonly onUpdated: () => void;
};

/** How many blocks are fetched at the same time when the chain is behind. */
const AT_ONCE = 8;
/**
 * A store starts with this many blocks below its first head, as far as nodes give them within this time, in
 * milliseconds. Without these blocks an early reorg would reach below the tail: then the store would start over, and
 * filters could not report the removed blocks.
 */
const BEGUN_BELOW = 16;
const BEGUN_BELOW_WITHIN_MS = 5_000;
/** The timeouts when all nodes are asked, in milliseconds: a silent node must not delay the chain. */
const QUESTION = { afterFirstMs: 1_000, longestMs: 5_000 };
/** After this many denials our head counts as removed, even if no other block has taken its place. */
const DENIALS = 3;
/** How many blocks of each branch of a reorg operators see: the oldest ones. */
const SHOWN_BLOCKS = 6;

export class Advance {
  /** How often in a row, and for how long, the nodes have denied that they know our head. */
  readonly #denial: Confirmation;
  /** As `#denial`, for the claim of nodes that their chain shares no block with ours, or is far ahead of it. */
  readonly #strangeness: Confirmation;
  #oversizedBlock: number | undefined;
  readonly #network: string;
  readonly #parts: AdvanceParts;

  constructor({ network }: { readonly network: string }, parts: AdvanceParts) {
    this.#network = network;
    this.#parts = parts;
    this.#denial = new Confirmation(parts);
    this.#strangeness = new Confirmation(parts);
  }

  /** Whether the nodes denied at the last look that they know our head. */
  get isHeadDenied(): boolean {
    return this.#denial.times > 0;
  }

  /** Extends the stored chain up to the target. @returns false when the node's blocks could not be fetched or used. */
  async to(
    target: Position,
    node: AskedUpstream,
    nodes: readonly AskedUpstream[],
  ): Promise<boolean> {
    const { store } = this.#parts;
    const { head } = store.tables;
    const inOrder = [node, ...nodes.filter((other) => other !== node)];
    if (!head) return this.#startAt(target, inOrder);
    if (target.hash === head.hash) {
      this.#denial.end();
      return true;
    }
    if (target.number < head.number && !(await this.#hearDenial(head, nodes))) return true; // the node lags
    if (target.number - head.number >= store.size.windowBlocks)
      return (await this.#weigh(target, nodes)) && this.#startAt(target, inOrder);
    // For a higher target, the parent hash of the next block shows a fork, so no node is asked for the fork point.
    const isHigher = target.number > head.number;
    const fork = isHigher ? head : await this.#findFork(target, node);
    if (fork === "unclear") return false;
    if (fork === "none") return this.#beginAnew(target, nodes);
    this.#oversizedBlock = undefined;
    if (await this.#fill(head, fork, target, inOrder)) return true;
    return this.#stepOver(target, nodes);
  }

  /** The number of a block that all nodes call too large to be stored; undefined when there is none. */
  get oversizedBlock(): number | undefined {
    return this.#oversizedBlock;
  }

  /** Starts the store over above a block that is too large to be stored: it must not stop the chain for ever. */
  async #stepOver(target: Position, nodes: readonly AskedUpstream[]): Promise<boolean> {
    const oversizedBlock = this.#oversizedBlock;
    if (oversizedBlock === undefined || oversizedBlock >= target.number) return false;
    if (!(await this.#weigh(target, nodes)) || !(await this.#startAt(target, nodes))) return false;
    this.#oversizedBlock = undefined;
    this.#parts.log.error(
      { block: oversizedBlock, head: target.number },
      "a block is larger than limits.block allows: the window begins anew above it",
    );
    return true;
  }

  /** Starts the store over with the target and some blocks below the target. Removes all earlier blocks. */
  async #startAt(target: Position, nodes: readonly AskedUpstream[]): Promise<boolean> {
    const { store, signal } = this.#parts;
    const newest = await this.#fetch({ hash: target.hash }, nodes, target.number);
    if (!newest) return false;
    const [first = newest, ...added] = await this.#withBlocksBelow(newest, nodes);
    if (signal.aborted) return false;
    await store.startAt(first);
    if (added.length > 0) await store.apply({ removed: 0, added });
    this.#tellUpdate(0);
    return true;
  }

  /** The block and linked blocks below it that nodes give within `BEGUN_BELOW_WITHIN_MS`, oldest first. */
  async #withBlocksBelow(
    newest: IngestedBlock,
    nodes: readonly AskedUpstream[],
  ): Promise<IngestedBlock[]> {
    const { source, store, clock, signal: closing } = this.#parts;
    const { number } = newest.outline;
    const count = Math.min(BEGUN_BELOW, store.size.windowBlocks - 1, number);
    const numbers = Array.from({ length: count }, (_, index) => number - 1 - index);
    const { signal, done } = deadline(BEGUN_BELOW_WITHIN_MS, closing, clock);
    const found = await mapConcurrently(numbers, AT_ONCE, (each) =>
      source.fetch({ number: each }, nodes, signal),
    );
    done();
    const blocks = [newest];
    for (const each of found) {
      if (each.kind !== "found" || each.record.hash !== blocks[0]?.outline.parentHash) break;
      blocks.unshift(each.record);
    }
    return blocks;
  }

  /**
   * Asks all nodes whether they know the block. The block is believed when more nodes know than deny it; in a tie the
   * first of `nodes` decides. While some nodes are silent, the others must say so for a while.
   * @returns Whether the block is believed.
   */
  async #weigh({ hash }: Position, nodes: readonly AskedUpstream[]): Promise<boolean> {
    const known = await this.#whoKnows(hash, nodes);
    const count = (answer: boolean): number => known.filter((each) => each === answer).length;
    if (count(true) < count(false) || (count(true) === count(false) && known[0] !== true))
      return false;
    this.#strangeness.say();
    return !known.includes(undefined) || this.#strangeness.isLong;
  }

  /** Starts the store over on another chain, if no node has our tail any more and the target is believed. */
  async #beginAnew(target: Position, nodes: readonly AskedUpstream[]): Promise<boolean> {
    const { store, log } = this.#parts;
    const tail = store.tables.tail ?? 0;
    const ours = store.tables.hashAt(tail);
    const theirs = await this.#askAll(nodes, ({ dialect, signal }, other) =>
      dialect.readPosition(tail, other, signal),
    );
    if (theirs.some((position) => position?.hash === ours)) return false;
    if (!(await this.#weigh(target, nodes))) return false;
    if (!(await this.#startAt(target, nodes))) return false;
    log.warn(
      { block: target.number },
      "the nodes are on another chain: the window begins anew at its head",
    );
    return true;
  }

  /** @returns Whether in several looks no node knew our head and some denied it: then a lower block is the head. */
  async #hearDenial(head: Position, nodes: readonly AskedUpstream[]): Promise<boolean> {
    const known = await this.#whoKnows(head.hash, nodes);
    if (known.includes(true) || !known.includes(false)) {
      this.#denial.end();
      return false;
    }
    this.#denial.say();
    const hasAllReplies = this.#parts.isComplete() && !known.includes(undefined);
    return this.#denial.times >= DENIALS && (hasAllReplies || this.#denial.isLong);
  }

  /** Asks each node whether it knows the block; undefined for a silent node. */
  #whoKnows(hash: string, nodes: readonly AskedUpstream[]): Promise<(boolean | undefined)[]> {
    return this.#askAll(nodes, ({ dialect, signal }, node) =>
      dialect.knowsBlock(hash, node, signal),
    );
  }

  #askAll<Answer>(
    nodes: readonly AskedUpstream[],
    ask: (parts: AdvanceParts, node: AskedUpstream) => Promise<Answer | undefined>,
  ): Promise<(Answer | undefined)[]> {
    const questions = nodes.map((node) => ask(this.#parts, node));
    return soon(questions, QUESTION, this.#parts);
  }

  /**
   * The newest block that the stored chain and the node's chain have in common.
   * @param highest A block of the node's chain, which is not above the stored head.
   */
  #findFork(highest: Position, node: AskedUpstream): Promise<Position | "none" | "unclear"> {
    const { store, dialect, signal } = this.#parts;
    const range = { lowest: store.tables.tail ?? 0, highest: highest.number };
    return findFork(range, {
      ours: (number) => store.tables.hashAt(number),
      theirs: async (number) =>
        number === highest.number
          ? highest.hash
          : (await dialect.readPosition(number, node, signal))?.hash,
    });
  }

  /** Fetches the blocks between the fork point and the target, and adds them to the stored chain. */
  async #fill(
    head: Position,
    fork: Position,
    target: Position,
    nodes: readonly AskedUpstream[],
  ): Promise<boolean> {
    let from: Position = head;
    let onto: Position = fork;
    let branch: IngestedBlock[] = [];
    if (target.number === fork.number) {
      await this.#apply(head.number - fork.number, []);
      return true;
    }
    while (onto.number + branch.length < target.number) {
      const next = await this.#fetchAfter(onto.number + branch.length, target, nodes);
      if (!next) return false;
      branch.push(...next);
      // A reorg is applied in one update, so the head never becomes lower in between.
      const last = branch.at(-1)?.outline.number ?? 0;
      if (last < Math.min(head.number, target.number)) continue;
      const update = planUpdate(from, branch.map(linkOf), onto);
      if (!update) return this.#retryFromParent(branch[0], onto, target, nodes);
      await this.#apply(update.removed, branch);
      onto = from = linkOf(branch.at(-1) as IngestedBlock);
      branch = [];
    }
    return true;
  }

  /** Continues after a reorg: the parent of the first fetched block is not the stored block below that block. */
  async #retryFromParent(
    first: IngestedBlock | undefined,
    onto: Position,
    target: Position,
    nodes: readonly AskedUpstream[],
  ): Promise<boolean> {
    const { head } = this.#parts.store.tables;
    const [node] = nodes;
    if (!first || !head || !node || first.outline.parentHash === onto.hash) return false;
    const parent = { number: onto.number, hash: first.outline.parentHash };
    const fork = await this.#findFork(parent, node);
    if (fork === "unclear") return false;
    if (fork === "none") return this.#beginAnew(target, nodes);
    return fork.hash === onto.hash ? false : this.#fill(head, fork, target, nodes);
  }

  /** Fetches some blocks after a number, in order; the target by its hash. undefined when no node gives one of them. */
  async #fetchAfter(
    number: number,
    target: Position,
    nodes: readonly AskedUpstream[],
  ): Promise<IngestedBlock[] | undefined> {
    const count = Math.min(AT_ONCE, target.number - number);
    const fetching = Array.from({ length: count }, (_, index) => {
      const wanted = number + 1 + index;
      const reference = wanted === target.number ? { hash: target.hash } : { number: wanted };
      return this.#fetch(reference, nodes, wanted);
    });
    const records = await Promise.all(fetching);
    return records.every((record) => record !== undefined) ? records : undefined;
  }

  async #fetch(
    reference: Reference,
    nodes: readonly AskedUpstream[],
    number: number,
  ): Promise<IngestedBlock | undefined> {
    const found = await this.#parts.source.fetch(reference, nodes, this.#parts.signal);
    if (found.kind === "too large")
      this.#oversizedBlock = Math.max(this.#oversizedBlock ?? 0, number);
    return found.kind === "found" ? found.record : undefined;
  }

  async #apply(removed: number, added: readonly IngestedBlock[]): Promise<void> {
    if (this.#parts.signal.aborted) return;
    const reorganisation = removed > 0 ? this.#reorganisationOf(removed, added) : undefined;
    await this.#parts.store.apply({ removed, added });
    this.#tellUpdate(removed, reorganisation);
  }

  /** Reads the stored branch that the next update removes, so it must run before the update. */
  #reorganisationOf(removed: number, added: readonly IngestedBlock[]): Reorganisation {
    const { tables } = this.#parts.store;
    const at = (tables.head?.number ?? 0) - removed;
    const named = (number: number) => ({ number, hash: tables.hashAt(number) ?? "" });
    const count = Math.min(removed, SHOWN_BLOCKS);
    return {
      fork: named(at),
      removed: Array.from({ length: count }, (_, index) => named(at + 1 + index)),
      added: added
        .slice(0, SHOWN_BLOCKS)
        .map(({ hash, outline: { number } }) => ({ number, hash })),
      removedCount: removed,
      addedCount: added.length,
    };
  }

  #tellUpdate(removed: number, reorganisation?: Reorganisation): void {
    const { store, log, metrics } = this.#parts;
    const { head } = store.tables;
    this.#denial.end();
    this.#strangeness.end();
    if (removed > 0) log.info({ depth: removed, head: head?.number }, "reorganisation");
    const number = head?.number ?? 0;
    const blocks = head ? number - (store.tables.tail ?? number) + 1 : 0;
    const update = { number, removed, blocks, bytes: store.tables.bytes };
    metrics.headMoved(this.#network, update, reorganisation);
    this.#parts.onUpdated();
  }
}

/** The hash of each chain at a number; undefined when the hash is not known. */
type Chains = {
  readonly ours: (number: number) => string | undefined;
  readonly theirs: (number: number) => Promise<string | undefined>;
};

/**
 * Finds the newest block that both chains have. Doubles its steps downwards up to the first common block, then bisects:
 * a few questions when the fork point is near, and about twenty when the fork point is 10,000 blocks away.
 * @returns "none" when the chains differ at the lowest number, too; "unclear" when the other chain gives no hash.
 */
export async function findFork(
  { lowest, highest }: { lowest: number; highest: number },
  { ours, theirs }: Chains,
): Promise<Position | "none" | "unclear"> {
  if (highest < lowest) return "none";
  const agree = async (number: number): Promise<boolean | undefined> => {
    const hash = await theirs(number);
    return hash === undefined ? undefined : hash === ours(number);
  };
  let differing = highest + 1;
  let agreeing = highest;
  for (let step = 1; ; step *= 2) {
    const isSame = await agree(agreeing);
    if (isSame === undefined) return "unclear";
    if (isSame) break;
    if (agreeing === lowest) return "none";
    differing = agreeing;
    agreeing = Math.max(lowest, agreeing - step);
  }
  while (differing - agreeing > 1) {
    const middle = Math.floor((agreeing + differing) / 2);
    const isSame = await agree(middle);
    if (isSame === undefined) return "unclear";
    if (isSame) agreeing = middle;
    else differing = middle;
  }
  const hash = ours(agreeing);
  return hash === undefined ? "unclear" : { number: agreeing, hash };
}

/**
 * How many blocks are removed when the head becomes the last block of a branch.
 * @param branch Oldest first. If it is empty, `onto` becomes the head.
 * @param onto The canonical block that is the parent of the branch's first block.
 * @returns undefined when the blocks are not linked to each other and to `onto`.
 */
export function planUpdate(
  head: Position,
  branch: readonly Link[],
  onto: Position,
): Pick<ChainUpdate, "removed"> | undefined {
  if (onto.number > head.number) return undefined;
  let last = onto;
  for (const block of branch) {
    if (block.number !== last.number + 1 || block.parentHash !== last.hash) return undefined;
    last = block;
  }
  return { removed: head.number - onto.number };
}
