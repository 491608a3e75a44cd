// Follows the head of one network: learns what a node's newest block is, and has the stored
// chain taken there (advance.ts). Nobody else moves it.

import { NotWritable } from "../disk/writable.ts";
import type { Clock } from "../lib/clock.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { Advance, type AdvanceOptions, type AdvanceParts } from "./advance.ts";
import { pollIntervalMs } from "./freshness.ts";
import { chooseLeader, NodeHeads } from "./node-heads.ts";
import type { Position } from "./stored-block.ts";

export type FollowedNode = Pick<
  Upstream,
  "name" | "ask" | "isMissing" | "canSubscribe" | "watchHeads" | "standsAt"
>;

/** What a store that is not prepared, or cannot be written, means for the follower. */
type StoreWriting = {
  /** Makes the store ready for this chain. @throws NotWritable */
  prepare(): Promise<void>;
  /** Why it cannot be written now. */
  readonly why: () => string | undefined;
};

export type FollowerParts = Omit<AdvanceParts, "signal" | "onUpdated"> & {
  /** The nodes that may be asked now, in order. */
  readonly nodes: () => readonly FollowedNode[];
  readonly writing: StoreWriting;
  readonly clock: Clock;
  /** The head is the newest block, a node said. @param at By the clock. */
  readonly onConfirmed: (at: number) => void;
  /** Whether the chain is live may have changed. */
  readonly onLive: () => void;
};

/** A node that failed as leader is not chosen again before, in milliseconds, while there is another. */
const DISTRUST_MS = 3_000;
/** At least so often a look is at all nodes, not only at the leader, in milliseconds. */
const LOOK_AROUND_MS = 2_000;
/** On a chain that never stands still, so many looks are enough. */
const LIVE_AFTER = 3;
/** While heads are pushed, a look is taken all the same, but not so often: no node pushes a rollback. */
const PUSHED = { times: 2, leastMs: 1_000 };

export class Follower {
  readonly #heads: NodeHeads;
  readonly #distrustedUntil = new Map<string, number>();
  /** Nodes that push their heads. One of the same name may take the place of another. */
  readonly #watched = new Set<FollowedNode>();
  #leader: string | undefined;
  #isLive = false;
  /** Why the chain is not followed now, until it is live again. */
  #whyStopped: string | undefined;
  /** The head that was gone to before the chain went live. */
  #reached: string | undefined;
  #triesToGoLive = 0;
  #lookedAroundAt = Number.NEGATIVE_INFINITY;
  /** Resolved when all nodes were looked at once more. */
  #waiting: (() => void)[] = [];
  #isUrgent = false;
  #wake: () => void = () => undefined;
  #running: Promise<void> | undefined;
  readonly #onUpdate = new Set<() => void>();
  readonly #closing = new AbortController();
  readonly #advance: Advance;
  readonly #parts: FollowerParts;

  constructor(options: AdvanceOptions, parts: FollowerParts) {
    this.#parts = parts;
    const onUpdated = (): void => {
      for (const listener of [...this.#onUpdate]) listener();
    };
    const { signal } = this.#closing;
    this.#heads = new NodeHeads({ ...parts, signal });
    this.#advance = new Advance(options, { ...parts, signal, onUpdated });
  }

  start(): void {
    this.#running ??= this.#run();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#wake();
    await this.#running;
    for (const done of this.#waiting.splice(0)) done();
  }

  /** The stored chain was that of the nodes once; from then on it is what callers see. */
  get isLive(): boolean {
    return this.#isLive;
  }

  /** The number of a block above the head that is too large to be taken in; undefined when none is. */
  get hurdle(): number | undefined {
    return this.#advance.hurdle;
  }

  /** Why the stored chain is left where it is; undefined while it is followed. */
  get whyStopped(): string | undefined {
    return this.#whyStopped;
  }

  /** The name of the node whose chain is followed. */
  get leader(): string | undefined {
    return this.#leader;
  }

  /** Looks at all nodes at once: there is word of a new block. */
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

  /** Calls `listener` after each chain update; returns how to stop. */
  onUpdate(listener: () => void): () => void {
    this.#onUpdate.add(listener);
    return () => this.#onUpdate.delete(listener);
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
        if (error instanceof NotWritable) this.#stop(error.message);
        else if (!signal.aborted)
          log.error({ err: error }, "following the chain failed, trying again");
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
    const pollMs = pollIntervalMs(store.tables);
    const isPushed = [...this.#watched].some(({ name }) => name === this.#leader);
    const isCalm = isPushed && this.#isLive && !this.#advance.isHeadDenied;
    return isCalm ? Math.max(PUSHED.leastMs, pollMs * PUSHED.times) : pollMs;
  }

  /** Finds out where the head is, and goes there. */
  async #look(isUrgent: boolean): Promise<void> {
    const nodes = this.#parts.nodes();
    for (const node of nodes) this.#watch(node);
    const leader = this.#chooseLeader(nodes);
    const now = this.#parts.clock.now();
    const isDue = now - this.#lookedAroundAt >= LOOK_AROUND_MS;
    const isAlone = !isUrgent && !isDue && leader && (await this.#heads.read(leader));
    if (!isAlone || this.#isElsewhere(leader)) {
      this.#lookedAroundAt = now;
      await this.#heads.readAll(nodes);
    }
    const chosen = this.#chooseLeader(nodes);
    const head = chosen && this.#heads.of(chosen);
    if (!chosen || !head) return;
    const saidAt = this.#heads.saidAt(chosen) ?? now;
    const isThere = await this.#advanceTo(head, chosen, nodes);
    for (const node of nodes) this.#tellWhereItStands(node);
    if (isThere === "stopped") return;
    if (isThere) {
      this.#leader = chosen.name;
      this.#parts.onConfirmed(saidAt);
      if (!this.#isLive) this.#goLive(head);
      return;
    }
    this.#distrust(chosen.name);
    if (nodes.some(({ name }) => !this.#isDistrusted(name))) this.#wake(); // another one may lead
  }

  /** Takes the stored chain to the head, where it can be written; where the nodes stand is known all the same. */
  async #advanceTo(
    head: Position,
    chosen: FollowedNode,
    nodes: readonly FollowedNode[],
  ): Promise<boolean | "stopped"> {
    const { writing } = this.#parts;
    const why = writing.why();
    if (why !== undefined) {
      this.#stop(why);
      return "stopped";
    }
    await writing.prepare();
    return this.#advance.to(head, chosen, nodes);
  }

  /** Callers are not shown a head that stays behind: what they ask goes to the nodes. */
  #stop(why: string): void {
    this.#whyStopped = why;
    this.#isLive = false;
    this.#triesToGoLive = 0;
    this.#reached = undefined;
    this.#parts.onLive();
  }

  /**
   * Callers saw the nodes' own head until now, and it may have moved on while blocks were
   * fetched: the chain is looked at once more before it takes its place.
   */
  #goLive(head: Position): void {
    this.#isLive = this.#reached === head.hash || this.#triesToGoLive >= LIVE_AFTER;
    if (this.#isLive) this.#whyStopped = undefined;
    this.#triesToGoLive += 1;
    this.#reached = head.hash;
    this.#parts.onLive();
    this.hurry();
  }

  #chooseLeader(nodes: readonly FollowedNode[]): FollowedNode | undefined {
    const seen = nodes.map((node) => ({
      name: node.name,
      number: this.#heads.of(node)?.number ?? -1,
      isDistrusted: this.#isDistrusted(node.name),
      isElsewhere: this.#isElsewhere(node),
    }));
    const leader = chooseLeader(seen, this.#leader);
    return nodes.find(({ name }) => name === leader);
  }

  #distrust(name: string): void {
    this.#distrustedUntil.set(name, this.#parts.clock.now() + DISTRUST_MS);
  }

  #isDistrusted(name: string): boolean {
    return (this.#distrustedUntil.get(name) ?? 0) > this.#parts.clock.now();
  }

  /** Which nodes callers' questions should go to: those on the chain that callers are shown. */
  #tellWhereItStands(node: FollowedNode): void {
    const head = this.#heads.of(node);
    if (head) node.standsAt(head, this.#isElsewhere(node));
  }

  /** Where our chain has a block, the node's head is another one. */
  #isElsewhere(node: FollowedNode): boolean {
    const { store } = this.#parts;
    const head = this.#heads.of(node);
    if (!head || head.number > (store.tables.head?.number ?? -1)) return false;
    const ours = store.tables.hashAt(head.number);
    return ours !== undefined && ours !== head.hash;
  }

  /** Lets the node push its heads, where it can. */
  #watch(node: FollowedNode): void {
    if (!node.canSubscribe || this.#watched.has(node)) return;
    this.#watched.add(node);
    const stop = (): boolean => this.#watched.delete(node);
    const listener = {
      onHead: (head: Position) => {
        this.#heads.tell(node, head);
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
}
