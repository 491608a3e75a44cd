// Follows the head of one network: hears or asks what a node's newest block is, fetches what is new,
// and moves the stored chain there. The only one that moves it.
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { BlockRecord } from "./block-record.ts";
import type { BlockSource } from "./block-source.ts";
import type { BlockStore, Position } from "./block-store.ts";
import { chooseLeader } from "./choose-leader.ts";
import { knowsBlock, type Reference, readPosition } from "./fetch-block.ts";
import { findFork } from "./find-fork.ts";
import { type Link, planMove } from "./plan-move.ts";
import { pollIntervalMs } from "./poll-interval.ts";
import type { Prover } from "./prover.ts";

export type FollowedNode = Pick<
  Upstream,
  "name" | "ask" | "isMissing" | "canSubscribe" | "watchHeads"
>;

export type FollowerParts = {
  readonly store: BlockStore;
  readonly source: Pick<BlockSource, "fetch">;
  readonly prover: Pick<Prover, "takeDistrust">;
  /** The nodes that may be asked now, in order. */
  readonly nodes: () => readonly FollowedNode[];
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Pick<Metrics, "headMoved">;
};

export type FollowerOptions = {
  readonly network: string;
  readonly windowBlocks: number;
};

/** Blocks fetched side by side when the chain is behind. */
const AT_ONCE = 8;
/** A node that failed as leader is not chosen again before, in milliseconds, while there is another. */
const DOUBT_MS = 10_000;
/** One look in so many is at all nodes, not only at the leader. */
const LOOK_AROUND_EVERY = 8;
/** So often must a node deny our head before it counts as gone without another in its place. */
const DENIALS = 3;
/** While heads are pushed, a look is taken all the same, but not so often: nobody tells of a rollback. */
const PUSHED = { times: 2, leastMs: 1_000 };

export class Follower {
  /** What each node told last of its head. */
  readonly #heads = new Map<string, Position>();
  readonly #doubtedUntil = new Map<string, number>();
  readonly #watched = new Set<string>();
  /** How often in a row the nodes denied our head. */
  #denials = 0;
  #leader: string | undefined;
  #isLive = false;
  #looks = 0;
  /** Who waits for all nodes to be looked at once more. */
  #waiting: (() => void)[] = [];
  #isUrgent = false;
  #wake: () => void = () => undefined;
  #running: Promise<void> | undefined;
  readonly #onMove = new Set<() => void>();
  readonly #closing = new AbortController();
  readonly #options: FollowerOptions;
  readonly #parts: FollowerParts;

  constructor(options: FollowerOptions, parts: FollowerParts) {
    this.#options = options;
    this.#parts = parts;
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#wake();
    await this.#running;
  }

  /** The stored chain was that of the nodes once; from then on it is what callers see. */
  get isLive(): boolean {
    return this.#isLive;
  }

  /** The name of the node whose chain is followed. */
  get leader(): string | undefined {
    return this.#leader;
  }

  /** Looks at all nodes at once: somebody has heard of a new block. */
  hurry(): void {
    this.#isUrgent = true;
    this.#wake();
  }

  /** Looks at all nodes and goes where the head is; resolves when that is done, as far as it can be. */
  lookAround(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.hurry();
    });
  }

  /** Calls `listener` after each move; returns how to stop. */
  onMove(listener: () => void): () => void {
    this.#onMove.add(listener);
    return () => this.#onMove.delete(listener);
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#parts;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      const isUrgent = this.#isUrgent;
      this.#isUrgent = false;
      const waiting = this.#waiting.splice(0);
      try {
        await this.#look(isUrgent);
      } catch (error) {
        if (!signal.aborted) log.error({ err: error }, "following the chain failed, trying again");
      }
      for (const done of waiting) done();
      if (signal.aborted) return;
      const resting = new AbortController();
      const rest = clock.sleep(this.#restMs(), resting.signal).catch(() => undefined);
      await Promise.race([rest, woken]);
      resting.abort();
    }
  }

  #restMs(): number {
    const { store } = this.#parts;
    const pollMs = pollIntervalMs(store);
    const isPushed = this.#leader !== undefined && this.#watched.has(this.#leader);
    const isCalm = isPushed && this.#isLive && this.#denials === 0;
    return isCalm ? Math.max(PUSHED.leastMs, pollMs * PUSHED.times) : pollMs;
  }

  /** Finds out where the head is, and goes there. */
  async #look(isUrgent: boolean): Promise<void> {
    const nodes = this.#parts.nodes();
    for (const node of nodes) this.#watch(node);
    this.#looks += 1;
    const leader = this.#chooseLeader(nodes);
    const isRound = isUrgent || !leader || this.#looks % LOOK_AROUND_EVERY === 1;
    await Promise.all((isRound ? nodes : [leader]).map((node) => this.#readHead(node)));
    const chosen = this.#chooseLeader(nodes);
    const head = chosen && this.#heads.get(chosen.name);
    if (!chosen || !head) return;
    if (await this.#goTo(head, chosen, nodes)) {
      this.#leader = chosen.name;
      this.#isLive = true;
      return;
    }
    this.#doubt(chosen.name);
    if (nodes.some(({ name }) => !this.#isDoubted(name))) this.#wake(); // another one may lead
  }

  #chooseLeader(nodes: readonly FollowedNode[]): FollowedNode | undefined {
    const seen = nodes.map(({ name }) => ({
      name,
      number: this.#heads.get(name)?.number ?? -1,
      isDoubted: this.#isDoubted(name),
    }));
    const leader = chooseLeader(seen, this.#leader);
    return nodes.find(({ name }) => name === leader);
  }

  #doubt(name: string): void {
    this.#doubtedUntil.set(name, this.#parts.clock.now() + DOUBT_MS);
  }

  #isDoubted(name: string): boolean {
    return (this.#doubtedUntil.get(name) ?? 0) > this.#parts.clock.now();
  }

  async #readHead(node: FollowedNode): Promise<void> {
    const position = await readPosition("latest", node, this.#closing.signal);
    if (position) this.#heads.set(node.name, position);
    else this.#heads.delete(node.name);
  }

  /** Lets the node push its heads, where it can. */
  #watch(node: FollowedNode): void {
    if (!node.canSubscribe || this.#watched.has(node.name)) return;
    this.#watched.add(node.name);
    const stop = (): boolean => this.#watched.delete(node.name);
    const listener = {
      onHead: (head: Position) => {
        this.#heads.set(node.name, head);
        this.#wake();
      },
      onEnd: () => {
        stop();
        this.#wake();
      },
    };
    node.watchHeads(listener, this.#closing.signal).then((isWatched) => {
      if (!isWatched) stop();
    }, stop);
  }

  /** @returns false when the node could not lead there. */
  async #goTo(
    target: Position,
    node: FollowedNode,
    nodes: readonly FollowedNode[],
  ): Promise<boolean> {
    const { store } = this.#parts;
    if (this.#parts.prover.takeDistrust()) await store.clear();
    const { head } = store;
    if (!head) return this.#startAt(target, nodes);
    if (target.hash === head.hash) {
      this.#denials = 0;
      return true;
    }
    if (target.number < head.number && !(await this.#isGone(head, nodes))) return true; // it lags
    if (target.number - head.number >= this.#options.windowBlocks)
      return (await this.#isBelieved(target, nodes)) && this.#startAt(target, nodes);
    const fork = await this.#findFork(head, target, node);
    if (fork === "unclear") return false;
    if (fork === "none") return this.#beginAnew(target, nodes);
    return this.#fill(head, fork, target, [node, ...nodes.filter((other) => other !== node)]);
  }

  /** The first block of a store; what was there before is given up for it. */
  async #startAt(target: Position, nodes: readonly FollowedNode[]): Promise<boolean> {
    const record = await this.#fetch({ hash: target.hash }, nodes);
    if (!record || this.#closing.signal.aborted) return false;
    await this.#parts.store.startAt(record);
    this.#tellMove(0);
    return true;
  }

  /** More nodes know the block than deny it; of as many, the first of the configuration decides. */
  async #isBelieved({ hash }: Position, nodes: readonly FollowedNode[]): Promise<boolean> {
    const known = await Promise.all(
      nodes.map((node) => knowsBlock(hash, node, this.#closing.signal)),
    );
    const count = (answer: boolean): number => known.filter((each) => each === answer).length;
    return count(true) > count(false) || (count(true) === count(false) && known[0] === true);
  }

  /** The node's chain has nothing in common with ours. Only when all nodes say so, ours is given up. */
  async #beginAnew(target: Position, nodes: readonly FollowedNode[]): Promise<boolean> {
    const { store, log } = this.#parts;
    const tail = store.tail ?? 0;
    const ours = store.hashAt(tail);
    const theirs = await Promise.all(
      nodes.map((other) => readPosition(tail, other, this.#closing.signal)),
    );
    if (theirs.some((position) => position?.hash === ours)) return false;
    if (!(await this.#isBelieved(target, nodes))) return false;
    if (!(await this.#startAt(target, nodes))) return false;
    log.warn(
      { block: target.number },
      "the nodes are on another chain: starting anew from its head",
    );
    return true;
  }

  /** Whether no node knows our head any more, several times in a row: then a lower head is the head. */
  async #isGone(head: Position, nodes: readonly FollowedNode[]): Promise<boolean> {
    const known = await Promise.all(
      nodes.map((node) => knowsBlock(head.hash, node, this.#closing.signal)),
    );
    const isDenied = known.includes(false) && !known.includes(true);
    this.#denials = isDenied ? this.#denials + 1 : 0;
    return this.#denials >= DENIALS;
  }

  /** The newest block that the stored chain and the node's have in common. */
  async #findFork(
    head: Position,
    target: Position,
    node: FollowedNode,
  ): Promise<Position | "none" | "unclear"> {
    // The usual case is found out by the link of the next block, without asking.
    if (target.number === head.number + 1) return head;
    const { store } = this.#parts;
    const range = { lowest: store.tail ?? 0, highest: Math.min(head.number, target.number) };
    return findFork(range, {
      ours: (number) => store.hashAt(number),
      theirs: async (number) => {
        if (number === target.number) return target.hash;
        return (await readPosition(number, node, this.#closing.signal))?.hash;
      },
    });
  }

  /** Fetches what lies between the fork and the target, and moves there. */
  async #fill(
    head: Position,
    fork: Position,
    target: Position,
    nodes: readonly FollowedNode[],
  ): Promise<boolean> {
    let from: Position = head;
    let onto: Position = fork;
    let branch: BlockRecord[] = [];
    if (target.number === fork.number) {
      await this.#apply(head.number - fork.number, []);
      return true;
    }
    while (onto.number + branch.length < target.number) {
      const next = await this.#fetchAfter(onto.number + branch.length, target, nodes);
      if (!next) return false;
      branch.push(...next);
      // A reorganisation is applied as a whole: the head never falls behind where it was.
      const last = branch.at(-1)?.outline.number ?? 0;
      if (last < Math.min(head.number, target.number)) continue;
      const move = planMove(from, branch.map(linkOf), onto);
      if (!move) return this.#retryFromParent(branch[0], onto, target, nodes);
      await this.#apply(move.removed, branch);
      onto = from = linkOf(branch.at(-1) as BlockRecord);
      branch = [];
    }
    return true;
  }

  /** The next block did not stand on our head: a reorganisation that was not asked for yet. */
  async #retryFromParent(
    first: BlockRecord | undefined,
    onto: Position,
    target: Position,
    nodes: readonly FollowedNode[],
  ): Promise<boolean> {
    const { store } = this.#parts;
    const { head } = store;
    const [node] = nodes;
    if (!first || !head || !node || first.outline.parentHash === onto.hash) return false;
    const range = { lowest: store.tail ?? 0, highest: onto.number };
    const fork = await findFork(range, {
      ours: (number) => store.hashAt(number),
      theirs: async (number) =>
        number === onto.number
          ? first.outline.parentHash
          : (await readPosition(number, node, this.#closing.signal))?.hash,
    });
    if (fork === "unclear") return false;
    if (fork === "none") return this.#beginAnew(target, nodes);
    return fork.hash === onto.hash ? false : this.#fill(head, fork, target, nodes);
  }

  /** Some blocks after a number, in order; the last of all by its hash. undefined when one is not to be had. */
  async #fetchAfter(
    number: number,
    target: Position,
    nodes: readonly FollowedNode[],
  ): Promise<BlockRecord[] | undefined> {
    const count = Math.min(AT_ONCE, target.number - number);
    const references = Array.from({ length: count }, (_, index): Reference => {
      const wanted = number + 1 + index;
      return wanted === target.number ? { hash: target.hash } : { number: wanted };
    });
    const records = await Promise.all(references.map((each) => this.#fetch(each, nodes)));
    return records.every((record) => record !== undefined) ? records : undefined;
  }

  async #fetch(
    reference: Reference,
    nodes: readonly FollowedNode[],
  ): Promise<BlockRecord | undefined> {
    const found = await this.#parts.source.fetch(reference, nodes, this.#closing.signal);
    return found.kind === "found" ? found.record : undefined;
  }

  async #apply(removed: number, added: readonly BlockRecord[]): Promise<void> {
    if (this.#closing.signal.aborted) return;
    await this.#parts.store.move({ removed, added });
    this.#tellMove(removed);
  }

  #tellMove(removed: number): void {
    const { store, log, metrics } = this.#parts;
    const { head } = store;
    this.#denials = 0;
    if (removed > 0) log.info({ depth: removed, head: head?.number }, "reorganisation");
    const number = head?.number ?? 0;
    const blocks = head ? number - (store.tail ?? number) + 1 : 0;
    metrics.headMoved(this.#options.network, { number, removed, blocks, bytes: store.bytes });
    for (const listener of [...this.#onMove]) listener();
  }
}

const linkOf = ({ hash, outline }: BlockRecord): Link => ({
  number: outline.number,
  hash,
  parentHash: outline.parentHash,
});
