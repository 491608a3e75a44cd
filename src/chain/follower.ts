// Follows the head of one network: learns which block is the newest one of a node, and extends the stored chain up to
// it (advance.ts). No other code changes the head of the stored chain.

import { NotWritable } from "../disk/writable.ts";
import type { Clock } from "../lib/clock.ts";
import { RecentNames } from "../lib/keep-newest.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { Advance, type AdvanceParts } from "./advance.ts";
import type { IdentifiedUpstream } from "./dialect.ts";
import { pollIntervalMs } from "./freshness.ts";
import { chooseLeader, NodeHeads } from "./node-heads.ts";
import { Progress } from "./progress.ts";
import type { Position } from "./stored-block.ts";

export type FollowedUpstream = IdentifiedUpstream &
  Pick<Upstream, "noteHead"> & {
    readonly announcements: Pick<Upstream["announcements"], "canSubscribe" | "watchHeads">;
  };

export type FollowerParts = Omit<AdvanceParts, "signal" | "onUpdated" | "heads" | "metrics"> & {
  readonly metrics: AdvanceParts["metrics"] & Pick<Metrics, "followed">;
  /** The nodes that may be asked now, in the order of the configuration. */
  readonly nodes: () => readonly FollowedUpstream[];
  readonly writing: {
    /** Makes the store ready for this chain. @throws NotWritable */
    prepare(): Promise<void>;
    /** Why the store cannot be written now; undefined when it can. */
    readonly why: () => string | undefined;
  };
  /** Whether nothing may be told without a proof. */
  readonly isStrict: () => boolean;
  readonly clock: Clock;
  /** A callback: a node said that our head is its newest block. @param at When the node said so, by the clock's `now`. */
  readonly onConfirmed: (at: number) => void;
  /** A callback: the chain may have become live, or is no longer live. */
  readonly onLive: () => void;
};

/** The follower does not choose a node that failed as leader again for this time, in milliseconds, if others can lead. */
const DISTRUST_MS = 3_000;
/** The follower asks all nodes for their heads, not only the leader, when this time has passed, in milliseconds. */
const LOOK_AROUND_MS = 2_000;
/** How often a chain that is behind is looked at while an attempt runs, in milliseconds. */
const WATCH_EVERY_MS = 250;
/** After this many attempts the chain goes live even if the head has changed since the attempt before. */
const LIVE_AFTER = 3;
/**
 * An attempt to extend the chain ends when no node has given a block for this time, in milliseconds: a node's call has a
 * timeout of its own, but a huge block may take half a minute to arrive, be parsed and be proven. The second time is for
 * a chain that is late already.
 */
const IDLE_MS = 60_000;
const LATE_IDLE_MS = 30_000;
/** Nodes that push their heads are also polled, but less often: no node pushes a head that is lower than its last. */
const PUSHED = { times: 2, leastMs: 1_000 };

export class Follower {
  readonly #heads: NodeHeads;
  /** The nodes that failed as leader lately. */
  readonly #distrusted: RecentNames;
  /** The nodes that push their heads. A reload may give the name of one of them to another node. */
  readonly #watched = new Set<FollowedUpstream>();
  #leader: string | undefined;
  #isLive = false;
  /** Why calls are sent to the nodes; undefined again when the chain is live. */
  #whyStopped: string | undefined;
  /** Whether the disk is the reason of `#whyStopped`. */
  #isDiskFull = false;
  readonly #progress: Progress;
  /** The hash of the head that the stored chain reached last, before the chain went live. */
  #reached: string | undefined;
  #triesToGoLive = 0;
  #lookedAroundAt = Number.NEGATIVE_INFINITY;
  /** Resolves the promises of `lookAround` when all nodes were asked once more. */
  #waiting: (() => void)[] = [];
  #isUrgent = false;
  #wake: () => void = () => undefined;
  #running: Promise<void> | undefined;
  readonly #onUpdate = new Set<() => void>();
  readonly #closing = new AbortController();
  readonly #advance: Advance;
  readonly #parts: FollowerParts;

  constructor(options: { readonly network: string }, parts: FollowerParts) {
    this.#parts = parts;
    const onUpdated = (): void => {
      this.#progress.advanced();
      for (const listener of [...this.#onUpdate]) listener();
    };
    const { signal } = this.#closing;
    this.#distrusted = new RecentNames(DISTRUST_MS, parts.clock);
    this.#heads = new NodeHeads({ ...parts, signal });
    this.#advance = new Advance(options, { ...parts, heads: this.#heads, signal, onUpdated });
    this.#progress = new Progress(options, parts);
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

  /** Whether callers are shown the stored chain: true once its head was the nodes' head. */
  get isLive(): boolean {
    return this.#isLive;
  }

  /** Why calls are sent to the nodes, in words for a person; undefined while the stored chain is followed. */
  get whyStopped(): string | undefined {
    return this.#whyStopped;
  }

  /** Whether calls are sent to the nodes because the chain cannot be followed, and not because of the disk. */
  get isPassingThrough(): boolean {
    return this.#whyStopped !== undefined && !this.#isDiskFull;
  }

  /** Why the chain does not advance although it is shown to callers; undefined while it advances. */
  get whyStuck(): string | undefined {
    return this.#isLive && this.#progress.isBehind ? this.#whyObstructed() : undefined;
  }

  /** A node whose head is a window or more above ours, in words; undefined when there is none. */
  get whyBehind(): string | undefined {
    return this.#progress.whyBehind;
  }

  /** The name of the node whose chain is followed. */
  get leader(): string | undefined {
    return this.#leader;
  }

  /** Asks all nodes for their heads now, because there is probably a new block. */
  hurry(): void {
    this.#isUrgent = true;
    this.#wake();
  }

  /** Asks all nodes for their heads, and extends the stored chain up to the best head. Resolves even if that fails. */
  lookAround(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.hurry();
    });
  }

  /** Calls `listener` after each chain update. @returns A function that ends these calls. */
  onUpdate(listener: () => void): () => void {
    this.#onUpdate.add(listener);
    return () => this.#onUpdate.delete(listener);
  }

  async #run(): Promise<void> {
    const { clock, log } = this.#parts;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const { promise: woken, resolve } = Promise.withResolvers<void>();
      this.#wake = resolve;
      const isUrgent = this.#isUrgent;
      this.#isUrgent = false;
      const waiting = this.#waiting.splice(0);
      try {
        await this.#look(isUrgent);
      } catch (error) {
        if (error instanceof NotWritable) this.#refuseWrites(error.message);
        else if (!signal.aborted) {
          log.error({ err: error }, "the chain could not be followed, and the gateway tries again");
          this.#passIfLate();
        }
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
    const isCalm =
      isPushed && this.#isLive && !this.#advance.isHeadDenied && !this.#progress.isBehind;
    return isCalm ? Math.max(PUSHED.leastMs, pollMs * PUSHED.times) : pollMs;
  }

  /** Asks nodes for their heads, and extends the stored chain up to the leader's head. */
  async #look(isUrgent: boolean): Promise<void> {
    const nodes = this.#parts.nodes();
    for (const node of nodes) this.#watch(node);
    const leader = this.#chooseLeader(nodes);
    const now = this.#parts.clock.now();
    const isDue = now - this.#lookedAroundAt >= LOOK_AROUND_MS;
    const isAlone = !isUrgent && !isDue && leader && (await this.#heads.read(leader));
    if (!isAlone || this.#isOnOtherBranch(leader)) {
      this.#lookedAroundAt = now;
      await this.#heads.readAll(nodes);
    }
    const chosen = this.#chooseLeader(nodes);
    const head = chosen && this.#heads.of(chosen);
    if (!chosen || !head) return;
    const saidAt = this.#heads.saidAt(chosen) ?? now;
    this.#progress.look(nodes, this.#heads);
    if (this.#advance.obstacle) this.#passIfLate(); // the next attempt may wait for a silent node
    const isThere = await this.#advanceTo(head, chosen, nodes);
    this.#progress.look(nodes, this.#heads);
    for (const node of nodes) this.#noteHead(node);
    if (isThere === "stopped") return;
    this.#passIfLate();
    if (isThere) {
      this.#leader = chosen.name;
      this.#parts.onConfirmed(saidAt);
      if (!this.#isLive && !this.#progress.isLate) this.#goLive(head);
      return;
    }
    this.#distrusted.add(chosen.name);
    if (nodes.some(({ name }) => !this.#distrusted.has(name))) this.#wake(); // another node may lead
  }

  /** Extends the stored chain up to the head. @returns false when that failed; "stopped" when the disk refuses writes. */
  async #advanceTo(
    head: Position,
    leader: FollowedUpstream,
    nodes: readonly FollowedUpstream[],
  ): Promise<boolean | "stopped"> {
    const { writing } = this.#parts;
    const why = writing.why();
    if (why !== undefined) {
      this.#refuseWrites(why);
      return "stopped";
    }
    await writing.prepare();
    const { isOutnumbered, isNearby } = this.#progress;
    const isLate = this.#progress.isLate && !isOutnumbered;
    const endWatch = this.#watchAttempt(nodes);
    const { signal, done } = this.#whileBlocksCome(isLate ? LATE_IDLE_MS : IDLE_MS);
    try {
      return await this.#advance.to(head, { leader, nodes, isLate, isNearby, signal });
    } finally {
      endWatch();
      done();
    }
  }

  /**
   * Looks at the nodes' heads while an attempt to extend the chain waits for a node, and passes calls through when the
   * chain is late: a node that does not answer must not keep the network silent. @returns A function that ends this.
   */
  #watchAttempt(nodes: readonly FollowedUpstream[]): () => void {
    const { clock } = this.#parts;
    let hasEnded = false;
    let cancel = (): void => undefined;
    const watch = async (): Promise<void> => {
      // Perhaps only the leader was asked before the attempt, and the others have its head by now.
      if (clock.now() - this.#lookedAroundAt >= LOOK_AROUND_MS) {
        this.#lookedAroundAt = clock.now();
        await this.#heads.readAll(nodes);
        if (hasEnded) return;
        this.#progress.look(nodes, this.#heads);
      }
      this.#passIfLate();
      cancel = clock.after(WATCH_EVERY_MS, () => void watch());
    };
    void watch();
    return () => {
      hasEnded = true;
      cancel();
    };
  }

  /** A signal that aborts when no node has given a block for this time, in milliseconds, or when the follower closes. */
  #whileBlocksCome(idleMs: number): { readonly signal: AbortSignal; readonly done: () => void } {
    const { clock } = this.#parts;
    const begunAt = clock.now();
    const attempt = new AbortController();
    const end = (): void => attempt.abort();
    this.#closing.signal.addEventListener("abort", end);
    let cancel = (): void => undefined;
    const watch = (): void => {
      const leftMs = Math.max(begunAt, this.#advance.fetchedAt) + idleMs - clock.now();
      if (leftMs <= 0) end();
      else cancel = clock.after(leftMs, watch);
    };
    watch();
    const done = (): void => {
      cancel();
      this.#closing.signal.removeEventListener("abort", end);
    };
    return { signal: attempt.signal, done };
  }

  #refuseWrites(why: string): void {
    this.#isDiskFull = true;
    this.#stop(why);
  }

  /**
   * Sends calls to the nodes when nodes have had newer blocks for some block times and the chain did not advance, unless
   * a lie is the reason: then the head stays at the last proven block, as it does where proof is strict.
   */
  #passIfLate(): void {
    if (this.#progress.isLate && !this.isPassingThrough && this.#mayPass()) {
      this.#isDiskFull = false;
      const why = this.#whyObstructed() ?? "no node gives the next block in time";
      this.#stop(why);
      const block = this.#advance.obstacle?.block;
      this.#parts.log.error(
        { block, head: this.#parts.store.tables.head?.number, why },
        "the chain cannot be followed: calls are passed through to the nodes",
      );
    }
    this.#progress.measure(this.isPassingThrough);
  }

  #mayPass(): boolean {
    const { obstacle } = this.#advance;
    if (this.#parts.isStrict()) return false;
    if (this.#progress.isOutnumbered) return false;
    if (!obstacle) return this.#progress.isVeryLate;
    if (obstacle.kind === "refused") return false;
    // One node names a head that nobody gives, and another node has our head: there is no newer block to be missed.
    return obstacle.kind !== "claimed" || !this.#progress.isConfirmed;
  }

  #whyObstructed(): string | undefined {
    const { obstacle } = this.#advance;
    return obstacle && `block ${obstacle.block} ${obstacle.reason}`;
  }

  /** Sends calls to the nodes from now on, so that no caller sees a head that grows old. */
  #stop(why: string): void {
    this.#whyStopped = why;
    this.#isLive = false;
    this.#triesToGoLive = 0;
    this.#reached = undefined;
    this.#parts.onLive();
  }

  /**
   * Before the chain is live, callers see the nodes' own head, which may change while blocks are fetched. So the chain
   * goes live only if the nodes have the same head when they are asked once more.
   */
  #goLive(head: Position): void {
    this.#isLive = this.#reached === head.hash || this.#triesToGoLive >= LIVE_AFTER;
    if (this.#isLive && this.#whyStopped !== undefined) {
      this.#parts.log.info({ head: head.number }, "the chain is followed again");
      this.#whyStopped = undefined;
      this.#isDiskFull = false;
      this.#progress.measure(false);
    }
    this.#triesToGoLive += 1;
    this.#reached = head.hash;
    this.#parts.onLive();
    this.hurry();
  }

  #chooseLeader(nodes: readonly FollowedUpstream[]): FollowedUpstream | undefined {
    const seen = nodes.map((node) => ({
      name: node.name,
      number: this.#heads.of(node)?.number ?? -1,
      isDistrusted: this.#distrusted.has(node.name),
      isOnOtherBranch: this.#isOnOtherBranch(node),
    }));
    const leader = chooseLeader(seen, this.#progress.isSlow ? undefined : this.#leader);
    return nodes.find(({ name }) => name === leader);
  }

  /** Tells the upstream its node's head and branch: calls go first to nodes that are on the chain that callers see. */
  #noteHead(node: FollowedUpstream): void {
    const head = this.#heads.of(node);
    if (head) node.noteHead(head, this.#isOnOtherBranch(node) || this.#advance.isApart(node));
  }

  /** Whether the stored chain has another block than the node's head at that height. */
  #isOnOtherBranch(node: FollowedUpstream): boolean {
    const { store } = this.#parts;
    const head = this.#heads.of(node);
    if (!head || head.number > (store.tables.head?.number ?? -1)) return false;
    const ours = store.tables.hashAt(head.number);
    return ours !== undefined && ours !== head.hash;
  }

  /** Subscribes to the node's heads, if the node can push them. */
  #watch(node: FollowedUpstream): void {
    if (!node.announcements.canSubscribe || this.#watched.has(node)) return;
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
    node.announcements.watchHeads(listener, this.#closing.signal).then((isWatched) => {
      if (!isWatched) stop();
    }, stop);
  }
}
