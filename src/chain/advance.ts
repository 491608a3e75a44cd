// Extends the stored chain up to a node's head: fetches the blocks between both heads; after a reorg, removes blocks
// down to the fork point and adds the other branch. If both chains share no block, the store starts over.

import type { Logger } from "pino";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { RecentNames } from "../lib/keep-newest.ts";
import { deadline, mapConcurrently, soon } from "../lib/waiting.ts";
import type { Reorganisation } from "../observe/incidents.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { BlockSource, Found } from "./block-source.ts";
import type { ChainUpdate } from "./block-store.ts";
import { type Link, linkOf } from "./blocks-below.ts";
import { Confirmation } from "./confirmation.ts";
import type {
  AskedUpstream,
  ChainDialect,
  HeadPosition,
  IdentifiedUpstream,
  Reference,
} from "./dialect.ts";
import type { NodeHeads } from "./node-heads.ts";
import type { Position } from "./stored-block.ts";
import type { IngestedBlock, StoreWriting } from "./writing.ts";

export type AdvanceParts = {
  readonly store: Pick<StoreWriting, "tables" | "size" | "apply" | "startAt" | "clear">;
  readonly dialect: Pick<ChainDialect, "readPosition" | "knowsBlock">;
  readonly source: Pick<BlockSource, "fetch">;
  readonly heads: Pick<NodeHeads, "of" | "hasReached">;
  /** Whether all nodes of the configuration can be asked now. */
  readonly isComplete: () => boolean;
  readonly clock: Pick<Clock, "now" | "wallTime" | "after" | "sleep">;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "headMoved" | "otherChainRefused">;
  /** Aborts all calls to nodes. */
  readonly signal: Signal;
  /** A callback after each chain update. */
  readonly onUpdated: () => void;
};

export type AdvanceBy = {
  /** The node that has the target as its head. */
  readonly leader: IdentifiedUpstream;
  /** All nodes that can be asked, in the order of the configuration. */
  readonly nodes: readonly AskedUpstream[];
  /** Whether the chain has not advanced for so long that it may begin anew above a block that cannot be taken in. */
  readonly isLate: boolean;
  /** Whether our head is young, and nodes near it are as many as those a window or more above it, or more. */
  readonly isNearby: boolean;
  /** Ends the fetches of blocks between the head and the target. */
  readonly signal: Signal;
};

/** Why the chain could not be extended. */
export type Obstacle = {
  readonly block: number;
  /** In words, behind "block N ". */
  readonly reason: string;
  /**
   * `refused`: a lie is the reason, another chain, or the mode `strict`: then the head stays, and calls do not go to the
   * nodes. `missing`: no node gave the block, or its height has none. `claimed`: no node gave the target itself, so perhaps
   * there is none. `odd`: the block cannot be taken in. `lag`: the node that was followed is far below our head; this
   * ends an attempt, and is no reason why the chain does not reach other nodes.
   */
  readonly kind: "refused" | "missing" | "claimed" | "odd" | "lag";
};

/** Whether an obstacle is the reason rather than another: a lying node does not hide what stops the others. */
const comesFirst = (one: Obstacle, other: Obstacle): boolean => {
  const [rank, otherRank] = [RANKS.indexOf(one.kind), RANKS.indexOf(other.kind)];
  return rank === otherRank ? one.block < other.block : rank < otherRank;
};
const RANKS: readonly Obstacle["kind"][] = ["odd", "missing", "claimed", "refused"];

/** How many blocks are fetched at the same time when the chain is behind. */
const AT_ONCE = 8;
/**
 * A store starts with this many blocks below its first head, as far as nodes give them within this time, in
 * milliseconds. Without these blocks an early reorg would reach below the tail: then the store would start over, and
 * filters could not report the removed blocks.
 */
const BEGUN_BELOW = 16;
const BEGUN_BELOW_WITHIN_MS = 5_000;
/** As `BEGUN_BELOW_WITHIN_MS`, above a block that cannot be taken in: calls go to the nodes until the store begins. */
const BEGUN_ABOVE_WITHIN_MS = 1_000;
/** How long the nodes may take for the block with which a window begins anew, in milliseconds. */
const TARGET_WITHIN_MS = 5_000;
/** The most blocks between the head and the target that are fetched one after the other, each by its child's parent hash. */
const BY_PARENTS = 64;
/** The timeouts when all nodes are asked, in milliseconds: a silent node must not delay the chain. */
const QUESTION = { afterFirstMs: 1_000, longestMs: 5_000 };
/** After this many denials our head counts as removed, even if no other block has taken its place. */
const DENIALS = 3;
/** How many blocks of each branch of a reorg operators see: the oldest ones. */
const SHOWN_BLOCKS = 6;
/** No chain makes blocks faster than this, in milliseconds, over more than `JITTER_SECONDS`. */
const LEAST_BLOCK_MS = 50;
const JITTER_SECONDS = 2;
/** A block that claims a time this far ahead of the clock does not exist yet, in seconds. */
const AHEAD_SECONDS = 60;
/** For this time, in milliseconds, a node whose chain was refused counts as on another chain. */
const APART_MS = 15_000;
/** The log gets one line in this time, in milliseconds, for each node on another chain. */
const TELL_AGAIN_AFTER_MS = 60_000;

/** The word of a node on a block: one whose head is lower `knows nothing`. */
type Word = "knows" | "denies" | "knows nothing";

export class Advance {
  /** How often in a row, and for how long, the nodes have denied that they know our head. */
  readonly #denial: Confirmation;
  /** As `#denial`, for the claim of nodes that their chain shares no block with ours, or is far ahead of it. */
  readonly #strangeness: Confirmation;
  /** Why the last call of `to` for each leader failed, by its name; empty again after a chain update. */
  readonly #obstacles = new Map<string, Obstacle>();
  /** The obstacle that the call of `to` under way has met. */
  #met: Obstacle | undefined;
  /** Ends the fetches of the call of `to` under way. */
  #fetching: Signal;
  #fetchedAt = Number.NEGATIVE_INFINITY;
  /** The nodes whose chain was refused lately, since other nodes have ours; and those that the log has told of. */
  readonly #apart: RecentNames;
  readonly #told: RecentNames;
  readonly #network: string;
  readonly #parts: AdvanceParts;

  constructor({ network }: { readonly network: string }, parts: AdvanceParts) {
    this.#network = network;
    this.#parts = parts;
    this.#fetching = parts.signal;
    this.#denial = new Confirmation(parts);
    this.#strangeness = new Confirmation(parts);
    this.#apart = new RecentNames(APART_MS, parts.clock);
    this.#told = new RecentNames(TELL_AGAIN_AFTER_MS, parts.clock);
  }

  /** Whether the nodes denied at the last look that they know our head. */
  get isHeadDenied(): boolean {
    return this.#denial.times > 0;
  }

  /** When a node last gave a block, by the clock's `now`. */
  get fetchedAt(): number {
    return this.#fetchedAt;
  }

  /** Whether the node's chain was refused lately: it does not contain our oldest block, and another node's chain does. */
  isApart({ name }: Pick<AskedUpstream, "name">): boolean {
    return this.#apart.has(name);
  }

  /** Why the chain cannot be extended to the heads of the nodes; undefined again after a chain update. */
  get obstacle(): Obstacle | undefined {
    const [first, ...others] = this.#obstacles.values();
    return others.reduce(
      (before, next) => (before && comesFirst(before, next) ? before : next),
      first,
    );
  }

  /** Extends the stored chain up to the target. @returns false when the node's blocks could not be fetched or used. */
  async to(target: Position, by: AdvanceBy): Promise<boolean> {
    this.#met = undefined;
    this.#fetching = by.signal;
    const isThere = (await this.#reach(target, by)) || (await this.#stepOver(target, by));
    if (!isThere) this.#obstruct(target.number, "does not link to the stored chain", "odd");
    this.#keepObstacle(isThere, by);
    return isThere;
  }

  /** Keeps what the last attempt has met, unless the leader lags: that does not stop the chain. */
  #keepObstacle(isThere: boolean, { leader, nodes }: AdvanceBy): void {
    const met = this.#met;
    this.#obstacles.delete(leader.name);
    if (!isThere && met && met.kind !== "lag") this.#obstacles.set(leader.name, met);
    const names = nodes.map(({ name }) => name);
    for (const name of this.#obstacles.keys())
      if (!names.includes(name)) this.#obstacles.delete(name);
  }

  async #reach(target: Position, by: AdvanceBy): Promise<boolean> {
    const { store } = this.#parts;
    const { head } = store.tables;
    if (!head) return this.#startOver(target, by);
    if (target.hash === head.hash) {
      this.#denial.end();
      return true;
    }
    if (target.number < head.number && !(await this.#hearDenial(head, by.nodes)))
      return this.#takeForLag(head, target); // the node lags
    if (target.number - head.number >= store.size.windowBlocks) return this.#startOver(target, by);
    // For a higher target, the parent hash of the next block shows a fork, so no node is asked for the fork point.
    const isHigher = target.number > head.number;
    const fork = isHigher ? head : await this.#findFork(target, by.leader);
    if (fork === "none") return this.#beginAnew(target, by);
    if (fork !== "unclear" && (await this.#fill({ head, fork, target }, by))) return true;
    const mayBeMissing = !this.#met || this.#met.kind === "missing";
    return mayBeMissing && !by.signal.aborted && this.#fillByParents(head, target, by);
  }

  /** Records why the chain does not advance; the lowest block counts. */
  #obstruct(block: number, reason: string, kind: Obstacle["kind"]): void {
    // Where no node gives the target, nothing shows that the blocks below it exist.
    const isClaim = kind === "claimed" && this.#met?.kind === "missing";
    if (!this.#met || isClaim || (block < this.#met.block && this.#met.kind !== "claimed"))
      this.#met = { block, reason, kind };
  }

  /** Takes a lower head for the lag of its node. @returns false when it lags too much to confirm our head. */
  #takeForLag(head: Position, target: Position): boolean {
    if (head.number - target.number < this.#parts.store.size.windowBlocks) return true;
    this.#obstruct(target.number, "is the newest of the nodes that answer, which lag", "lag");
    return false;
  }

  /** Starts the store over above a block that cannot be taken in: it must not stop the chain for ever. */
  async #stepOver(target: Position, by: AdvanceBy): Promise<boolean> {
    const stopped = this.#met;
    const { head } = this.#parts.store.tables;
    if (
      !by.isLate ||
      !head ||
      !stopped ||
      stopped.kind === "refused" ||
      stopped.kind === "lag" ||
      stopped.block >= target.number
    )
      return false;
    // The attempt may have used up its own time. A node that does not answer must not keep the next attempt waiting.
    const { signal, done } = deadline(TARGET_WITHIN_MS, this.#parts.signal, this.#parts.clock);
    this.#fetching = signal;
    const isStarted = await this.#startOver(target, by);
    done();
    if (!isStarted) return false;
    const { block, reason } = stopped;
    this.#parts.log.error(
      { block, reason, head: target.number },
      "a block cannot be taken in: the window begins anew above it",
    );
    return true;
  }

  /** Starts the store over with the target and some blocks below it, if the target is believed. Removes all other blocks. */
  async #startOver(target: Position, by: AdvanceBy): Promise<boolean> {
    const { store, signal } = this.#parts;
    const nodes = inOrder(by);
    if (!(await this.#confirmLeaving(target, by))) return false;
    const newest = await this.#fetch({ hash: target.hash }, nodes, target.number);
    if (!newest) return false;
    if (!(await this.#weigh(newest, by.nodes))) {
      this.#obstruct(target.number, "is not known to the other nodes", "refused");
      return false;
    }
    const [first = newest, ...added] = await this.#withBlocksBelow(newest, by);
    if (signal.aborted) return false;
    await store.startAt(first);
    if (added.length > 0) await store.apply({ removed: 0, added });
    this.#tellUpdate(0);
    return true;
  }

  /** The block and linked blocks below it that nodes give within a while, oldest first. */
  async #withBlocksBelow(newest: IngestedBlock, by: AdvanceBy): Promise<IngestedBlock[]> {
    const { source, store, clock, signal: closing } = this.#parts;
    const { number } = newest.outline;
    const count = Math.min(BEGUN_BELOW, store.size.windowBlocks - 1, number);
    const numbers = Array.from({ length: count }, (_, index) => number - 1 - index);
    const withinMs = by.isLate ? BEGUN_ABOVE_WITHIN_MS : BEGUN_BELOW_WITHIN_MS;
    const { signal, done } = deadline(withinMs, closing, clock);
    const found = await mapConcurrently(numbers, AT_ONCE, (each) =>
      source.fetch({ number: each }, inOrder(by), signal),
    );
    done();
    const blocks = [newest];
    for (const each of found) {
      if (each.kind !== "found") continue; // a height without a block, or the next one does not link
      if (each.record.hash !== blocks[0]?.outline.parentHash) break;
      blocks.unshift(each.record);
    }
    return blocks;
  }

  /**
   * Asks all nodes whether they know the block. The block is believed when more nodes know than deny it; in a tie the
   * first of `nodes` decides. While some nodes are silent, the others must say so for a while, unless the store is empty.
   */
  async #weigh(
    { hash, outline }: IngestedBlock,
    nodes: readonly AskedUpstream[],
  ): Promise<boolean> {
    if (nodes.length < 2) return true;
    const { clock, store } = this.#parts;
    const claim = { ...outline, wallSeconds: clock.wallTime() / 1000 };
    let isClaimTooFar = false;
    const words = await this.#askAll(nodes, async ({ dialect, signal }, node) => {
      const isKnown = await dialect.knowsBlock(hash, node, signal);
      if (isKnown !== false) return isKnown && "knows";
      const head = await dialect.readPosition("latest", node, signal);
      const word = head && wordOn(claim, head);
      if (head && word === "denies" && head.number < outline.number) isClaimTooFar = true;
      return word;
    });
    const isFirst = !store.tables.head;
    if (!outweighs(words, { isFirst, isClaimTooFar })) return false;
    this.#strangeness.say();
    return isFirst || !words.includes(undefined) || this.#strangeness.isLong;
  }

  /** Starts the store over on another chain, if no node has our tail any more and the target is believed. */
  async #beginAnew(target: Position, by: AdvanceBy): Promise<boolean> {
    if ((await this.#whoHasTail(by)) === "leader") return false; // the node has changed its chain meanwhile
    if (!(await this.#startOver(target, by))) return false;
    this.#parts.log.warn(
      { block: target.number },
      "the nodes are on another chain: the window begins anew at its head",
    );
    return true;
  }

  /**
   * Whether the store may leave its blocks for the leader's chain: the leader says now that it is of this network, and its
   * chain contains our oldest block, or no other node's chain does. A head far above the others' is not believed. While
   * some nodes cannot be asked, the claim must last.
   */
  async #confirmLeaving(target: Position, by: AdvanceBy): Promise<boolean> {
    const { store, isComplete } = this.#parts;
    const { head } = store.tables;
    if (!(await by.leader.confirmIdentity())) {
      this.#obstruct(target.number, "is of a node that does not confirm its chain id", "refused");
      return false;
    }
    if (!head) return true;
    const holder = await this.#whoHasTail(by);
    if (holder === "leader") {
      const isFar = target.number - head.number >= store.size.windowBlocks;
      if (isFar && by.isNearby)
        this.#obstruct(target.number, "is far above the heads of the other nodes", "refused");
      return !isFar || !by.isNearby;
    }
    if (holder === "nobody" && isComplete()) return true;
    if (holder === "nobody") this.#strangeness.say();
    if (holder === "nobody" && this.#strangeness.isLong) return true;
    if (holder === "other") this.#refuseChain(target, by);
    else this.#obstruct(target.number, "is perhaps on another chain than ours", "refused");
    return false;
  }

  /**
   * Finds the node whose chain contains the oldest block of our window: the leader, another one, or none. "unclear": another
   * one, and the leader tells no block at that height.
   */
  async #whoHasTail(by: AdvanceBy): Promise<"leader" | "other" | "unclear" | "nobody"> {
    const { tables } = this.#parts.store;
    const tail = tables.tail ?? 0;
    const ours = tables.hashAt(tail);
    const [leaders, ...others] = await this.#askAll(inOrder(by), ({ dialect, signal }, node) =>
      dialect.readPosition(tail, node, signal),
    );
    if (leaders?.hash === ours) return "leader";
    if (!others.some((position) => position?.hash === ours)) return "nobody";
    return leaders ? "other" : "unclear";
  }

  #refuseChain({ number, hash }: Position, { leader: { name: upstream } }: AdvanceBy): void {
    const { log, metrics, store } = this.#parts;
    this.#obstruct(
      number,
      `of ${upstream} is on a chain that shares no block with ours`,
      "refused",
    );
    this.#apart.add(upstream);
    metrics.otherChainRefused(this.#network, upstream);
    if (this.#told.has(upstream)) return;
    this.#told.add(upstream);
    log.error(
      { upstream, block: number, hash, tail: store.tables.tail },
      "an upstream is on another chain than the other upstreams: its chain is not followed",
    );
  }

  /** @returns Whether in several looks no node knew our head and some denied it: then a lower block is the head. */
  async #hearDenial(head: Position, nodes: readonly AskedUpstream[]): Promise<boolean> {
    const known = await this.#askAll(nodes, ({ dialect, signal }, node) =>
      dialect.knowsBlock(head.hash, node, signal),
    );
    const hasAllReplies = this.#parts.isComplete() && !known.includes(undefined);
    const isDenied = nodes.some(
      (node, index) => known[index] === false && (hasAllReplies || this.#hadHeight(node, head)),
    );
    if (known.includes(true) || !isDenied) {
      this.#denial.end();
      return false;
    }
    this.#denial.say();
    return this.#denial.times >= DENIALS && (hasAllReplies || this.#denial.isLong);
  }

  /**
   * Whether the node had a block at our head's height, and still has some of our window. Otherwise it lags, or fetches
   * the chain from its beginning, and knows nothing of our head.
   */
  #hadHeight(node: AskedUpstream, head: Position): boolean {
    const { heads, store } = this.#parts;
    const itsHead = heads.of(node)?.number ?? -1;
    return heads.hasReached(node, head.number) && itsHead >= (store.tables.tail ?? 0);
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
      theirs: async (number) => {
        if (number === highest.number) return highest.hash;
        const position = await dialect.readPosition(number, node, signal);
        // For a height without a block, some nodes give the block before it.
        return position?.number === number ? position.hash : undefined;
      },
    });
  }

  /** Fetches the blocks between the fork point and the target, and adds them to the stored chain. */
  async #fill({ head, fork, target }: Stretch, by: AdvanceBy): Promise<boolean> {
    let from: Position = head;
    let onto: Position = fork;
    let branch: IngestedBlock[] = [];
    let asked = fork.number;
    if (target.number === fork.number) {
      await this.#apply(head.number - fork.number, []);
      return true;
    }
    while (asked < target.number) {
      const next = await this.#fetchAfter(asked, target, inOrder(by));
      if (next.length === 0) return false;
      asked = Math.min(asked + AT_ONCE, target.number);
      branch.push(...next);
      // A reorg is applied in one update, so the head never becomes lower in between.
      const last = branch.at(-1)?.outline.number ?? 0;
      if (last < Math.min(head.number, target.number)) {
        if (asked < target.number) continue;
        return false;
      }
      const update = planUpdate(from, branch.map(linkOf), onto);
      if (!update) return this.#retryFromParent(branch[0], { head, fork: onto, target }, by);
      await this.#apply(update.removed, branch);
      onto = from = linkOf(branch.at(-1) as IngestedBlock);
      branch = [];
    }
    return onto.hash === target.hash;
  }

  /** Continues after a reorg: the parent of the first fetched block is not the stored block below that block. */
  async #retryFromParent(
    first: IngestedBlock | undefined,
    { fork: onto, target }: Stretch,
    by: AdvanceBy,
  ): Promise<boolean> {
    const { head } = this.#parts.store.tables;
    if (!first || !head || first.outline.parentHash === onto.hash) return false;
    if (first.outline.number !== onto.number + 1) return false; // the number of its parent is not known
    const parent = { number: onto.number, hash: first.outline.parentHash };
    const fork = await this.#findFork(parent, by.leader);
    if (fork === "unclear") return false;
    if (fork === "none") return this.#beginAnew(target, by);
    return fork.hash === onto.hash ? false : this.#fill({ head, fork, target }, by);
  }

  /**
   * Goes down from the target, from each block to the block that its parent hash names, to a block of the stored chain.
   * So a reorg can be followed on a chain where some heights have no block, and a node cannot hide a block.
   */
  async #fillByParents(head: Position, target: Position, by: AdvanceBy): Promise<boolean> {
    const { tables } = this.#parts.store;
    if (Math.abs(target.number - head.number) > BY_PARENTS) return false;
    const branch: IngestedBlock[] = [];
    let next: Position = target;
    while (branch.length < BY_PARENTS && tables.hashAt(next.number) !== next.hash) {
      const block = await this.#fetch({ hash: next.hash }, inOrder(by), next.number);
      if (!block || block.outline.number > next.number) return false;
      branch.unshift(block);
      const { parentHash, number } = block.outline;
      // A block of the stored chain has the parent's number; otherwise that number is at most one less.
      next = { hash: parentHash, number: tables.outline(parentHash)?.number ?? number - 1 };
    }
    // Nodes give blocks by hash that a reorg has dropped meanwhile: to take them would make the head go back.
    const { dialect, signal } = this.#parts;
    const there = await dialect.readPosition(target.number, by.leader, signal);
    if (there?.hash !== target.hash) return false;
    const stored = this.#parts.store.tables.head;
    const update = stored && planUpdate(stored, branch.map(linkOf), next);
    if (!update || tables.hashAt(next.number) !== next.hash) return false;
    await this.#apply(update.removed, branch);
    return true;
  }

  /** Fetches some blocks after a number, in order, as far as nodes give them; the target by its hash. */
  async #fetchAfter(
    number: number,
    target: Position,
    nodes: readonly AskedUpstream[],
  ): Promise<IngestedBlock[]> {
    const count = Math.min(AT_ONCE, target.number - number);
    const fetching = Array.from({ length: count }, (_, index) => {
      const wanted = number + 1 + index;
      const reference = wanted === target.number ? { hash: target.hash } : { number: wanted };
      return this.#fetch(reference, nodes, wanted);
    });
    const records = await Promise.all(fetching);
    return records.filter((record) => record !== undefined);
  }

  async #fetch(
    reference: Reference,
    nodes: readonly AskedUpstream[],
    number: number,
  ): Promise<IngestedBlock | undefined> {
    const signal = this.#fetching;
    const found = await this.#parts.source.fetch(reference, nodes, signal);
    if (found.kind === "found") {
      this.#fetchedAt = this.#parts.clock.now();
      return found.record;
    }
    const why = signal.aborted ? "is not given by any node in time" : wordsFor(found);
    this.#obstruct(number, why, kindOf(found, reference));
    return undefined;
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
    const numbers = Array.from({ length: count }, (_, index) => at + 1 + index);
    return {
      fork: named(at),
      removed: numbers.map(named).filter(({ hash }) => hash !== ""),
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
    this.#obstacles.clear();
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

type Stretch = { readonly head: Position; readonly fork: Position; readonly target: Position };

const inOrder = ({ leader, nodes }: AdvanceBy): readonly AskedUpstream[] => [
  leader,
  ...nodes.filter((other) => other !== leader),
];

function kindOf(found: Exclude<Found, { kind: "found" }>, reference: Reference): Obstacle["kind"] {
  if (found.kind === "unproven") return found.isRefused ? "refused" : "odd";
  if (found.kind === "too large") return "odd";
  return "hash" in reference && found.kind === "unknown" ? "claimed" : "missing";
}

/** Why no node gave a block, in words behind "block N ". */
function wordsFor(found: Exclude<Found, { kind: "found" }>): string {
  switch (found.kind) {
    case "too large":
      return "is larger than limits.block allows";
    case "unknown":
      return "is not known to any node";
    case "no receipts":
      return "is given by no node with its receipts";
    case "unproven":
      return `is given by no node in a form that can be taken in (${found.reason})`;
    case "failed":
      return `is not given by any node (${found.reason})`;
  }
}

/**
 * The word of a node that does not know a block. A node whose head is lower knows nothing of the block, unless its head
 * is so new that the chain cannot have grown to the block since.
 * @param claim The number and time of the block, and the time now; times in seconds since 1970.
 */
export function wordOn(
  claim: { readonly number: number; readonly timestamp: number; readonly wallSeconds: number },
  head: HeadPosition,
): Word {
  const missing = claim.number - head.number;
  if (missing <= 0) return "denies";
  if (head.timestamp === undefined) return "knows nothing";
  if (claim.timestamp > Math.max(claim.wallSeconds, head.timestamp) + AHEAD_SECONDS)
    return "denies";
  const seconds = claim.timestamp - head.timestamp + JITTER_SECONDS;
  return seconds * 1000 < missing * LEAST_BLOCK_MS ? "denies" : "knows nothing";
}

/** Whether the nodes' words speak for a block. In a tie the first node decides, but an empty store has to begin somewhere. */
function outweighs(
  words: readonly (Word | undefined)[],
  { isFirst, isClaimTooFar }: { readonly isFirst: boolean; readonly isClaimTooFar: boolean },
): boolean {
  const count = (word: Word): number => words.filter((each) => each === word).length;
  const lead = count("knows") - count("denies");
  if (lead !== 0) return lead > 0;
  return !isClaimTooFar && (isFirst || words[0] === "knows");
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
 * How many blocks are removed when the head becomes the last block of a branch. Some heights of a chain may have no
 * block, so the parent hashes alone say what is linked.
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
    if (block.number <= last.number || block.parentHash !== last.hash) return undefined;
    last = block;
  }
  return { removed: head.number - onto.number };
}
