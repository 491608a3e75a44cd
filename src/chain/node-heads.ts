// The head that each node told last, and the choice of the node whose chain is followed (the leader).

import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { soon, within } from "../lib/waiting.ts";
import type { AskedUpstream, ChainDialect } from "./dialect.ts";
import type { Position } from "./stored-block.ts";

export type NodeHeadsParts = {
  readonly dialect: Pick<ChainDialect, "readPosition">;
  readonly clock: Pick<Clock, "now" | "sleep">;
  /** Aborts all calls to nodes. */
  readonly signal: Signal;
};

/** The timeout for one node, and for the other nodes after the first reply, in milliseconds. */
const TIMEOUT_MS = 250;
/** The timeout for the first reply, in milliseconds. After it, the follower asks nodes that failed again. */
const LONGEST_MS = 1_000;
/** A node that has not replied for this time counts as silent, in milliseconds: a slow node replies within this time. */
const SILENT_MS = 2_000;

const SAYS_NOTHING = new Error("the node does not report its head");

export class NodeHeads {
  readonly #heads = new Map<string, { readonly head: Position; readonly at: number }>();
  /** The highest number that each node ever told, by the name of the node. */
  readonly #highest = new Map<string, number>();
  /** The calls that wait for a reply, each with the time at which it began, by the name of the node. */
  readonly #reading = new Map<string, { readonly read: Promise<void>; readonly at: number }>();
  readonly #parts: NodeHeadsParts;

  constructor(parts: NodeHeadsParts) {
    this.#parts = parts;
  }

  /** The node's head; undefined while the node tells none or is silent. */
  of(node: Pick<AskedUpstream, "name">): Position | undefined {
    return this.#said(node)?.head;
  }

  /** Whether the node's head was ever at this number or above. */
  hasReached({ name }: Pick<AskedUpstream, "name">, number: number): boolean {
    return (this.#highest.get(name) ?? -1) >= number;
  }

  /** When the node told its head, by the clock's `now`. */
  saidAt(node: Pick<AskedUpstream, "name">): number | undefined {
    return this.#said(node)?.at;
  }

  /** The head that the node told last; undefined for a silent node, unless the node pushed a head after it was asked. */
  #said({ name }: Pick<AskedUpstream, "name">) {
    const said = this.#heads.get(name);
    const { at = Number.POSITIVE_INFINITY } = this.#reading.get(name) ?? {};
    const isSilent = this.#parts.clock.now() - at >= SILENT_MS;
    return said && (!isSilent || said.at > at) ? said : undefined;
  }

  /** Records a head that the node pushed or replied. */
  tell({ name }: Pick<AskedUpstream, "name">, head: Position): void {
    this.#highest.set(name, Math.max(head.number, this.#highest.get(name) ?? -1));
    this.#heads.set(name, { head, at: this.#parts.clock.now() });
  }

  /** Asks all nodes. Resolves when all have replied, or at the timeouts. */
  async readAll(nodes: readonly AskedUpstream[]): Promise<void> {
    const reads = nodes.map((node) => this.#read(node).then(() => true));
    await soon(reads, { afterFirstMs: TIMEOUT_MS, longestMs: LONGEST_MS }, this.#parts);
  }

  /** Asks one node. @returns false when the node failed, or did not reply in time. */
  async read(node: AskedUpstream): Promise<boolean> {
    const read = this.#read(node).then(
      () => true,
      () => false,
    );
    return (await within(TIMEOUT_MS, read, this.#parts)) ?? false;
  }

  /** Asks the node, unless a call to the node still waits for its reply. Rejects when the node does not report its head. */
  #read(node: AskedUpstream): Promise<void> {
    const under = this.#reading.get(node.name);
    if (under) return under.read;
    const read = this.#ask(node);
    this.#reading.set(node.name, { read, at: this.#parts.clock.now() });
    return read;
  }

  async #ask(node: AskedUpstream): Promise<void> {
    const { dialect, signal } = this.#parts;
    const position = await dialect.readPosition("latest", node, signal);
    this.#reading.delete(node.name);
    if (position) this.tell(node, position);
    else this.#heads.delete(node.name);
    if (!position) throw SAYS_NOTHING;
  }
}

type SeenHead = {
  readonly name: string;
  /** The number of the node's newest block; -1 while the node tells none. */
  readonly number: number;
  /** Whether the node failed as leader lately: its blocks could not be read or proven. */
  readonly isDistrusted: boolean;
  /** Whether the stored chain has another block than the node's head at that height. */
  readonly isOnOtherBranch: boolean;
};

/** A leader that is this many blocks behind the best node stays the leader: nodes get blocks at different times. */
const TOLERATED_LAG = 1;

/**
 * Chooses the leader: the node whose chain is followed. The present leader stays while it keeps up: otherwise the head
 * could change again and again between two branches. Else the node with the highest head leads, the first one of equals.
 * Distrusted nodes lead only when all nodes are distrusted. A node on another branch leads only if its head is more than
 * `TOLERATED_LAG` blocks above each head on the stored chain.
 * @param nodes In the order of the configuration.
 */
export function chooseLeader(
  nodes: readonly SeenHead[],
  present: string | undefined,
): string | undefined {
  const trusted = nodes.filter(({ number, isDistrusted }) => !isDistrusted && number >= 0);
  const choice = trusted.length > 0 ? trusted : nodes;
  const best = Math.max(...choice.map(({ number }) => number));
  const loyal = choice.filter(({ isOnOtherBranch }) => !isOnOtherBranch);
  const mayLead = loyal.some(({ number }) => number >= best - TOLERATED_LAG) ? loyal : choice;
  const leader = mayLead.find(({ name }) => name === present);
  if (leader && leader.number >= best - TOLERATED_LAG) return leader.name;
  return mayLead.reduce<SeenHead | undefined>(higher, undefined)?.name;
}

const higher = (one: SeenHead | undefined, other: SeenHead): SeenHead =>
  one && one.number >= other.number ? one : other;
