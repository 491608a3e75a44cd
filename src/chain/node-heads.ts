// What each node last replied of its head, and which node's chain is followed.

import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { soon, within } from "../lib/waiting.ts";
import type { AskedNode, ChainDialect } from "./dialect.ts";
import type { Position } from "./stored-block.ts";

export type NodeHeadsParts = {
  readonly dialect: Pick<ChainDialect, "readPosition">;
  readonly clock: Pick<Clock, "now" | "sleep">;
  /** Ends what is under way. */
  readonly signal: Signal;
};

/** A node is waited for so long; after the first reply, so are the others, in milliseconds. */
const TIMEOUT_MS = 250;
/** So long for the first of them, in milliseconds: while one says nothing, another that failed is asked again. */
const LONGEST_MS = 1_000;
/** A node that has not replied for so long is silent, in milliseconds. A slow one replies meanwhile. */
const SILENT_MS = 2_000;

const SAYS_NOTHING = new Error("the node does not tell its head");

export class NodeHeads {
  readonly #heads = new Map<string, { readonly head: Position; readonly at: number }>();
  /** Of nodes that were asked for their head, at that time, and have not replied yet. */
  readonly #reading = new Map<string, { readonly read: Promise<void>; readonly at: number }>();
  readonly #parts: NodeHeadsParts;

  constructor(parts: NodeHeadsParts) {
    this.#parts = parts;
  }

  /** undefined while the node does not tell it. */
  of(node: Pick<AskedNode, "name">): Position | undefined {
    return this.#said(node)?.head;
  }

  /** When the node said so, by the clock. */
  saidAt(node: Pick<AskedNode, "name">): number | undefined {
    return this.#said(node)?.at;
  }

  /** What a node said before it fell silent counts no longer. */
  #said({ name }: Pick<AskedNode, "name">) {
    const said = this.#heads.get(name);
    const { at = Number.POSITIVE_INFINITY } = this.#reading.get(name) ?? {};
    const isSilent = this.#parts.clock.now() - at >= SILENT_MS;
    return said && (!isSilent || said.at > at) ? said : undefined;
  }

  /** The node pushed its head. */
  tell({ name }: Pick<AskedNode, "name">, head: Position): void {
    this.#heads.set(name, { head, at: this.#parts.clock.now() });
  }

  /** Resolves when all replied, or some did and the others take their time, or none does. */
  async readAll(nodes: readonly AskedNode[]): Promise<void> {
    const reads = nodes.map((node) => this.#read(node).then(() => true));
    await soon(reads, { afterFirstMs: TIMEOUT_MS, longestMs: LONGEST_MS }, this.#parts);
  }

  /** @returns false when it failed, or takes its time. */
  async read(node: AskedNode): Promise<boolean> {
    const read = this.#read(node).then(
      () => true,
      () => false,
    );
    return (await within(TIMEOUT_MS, read, this.#parts)) ?? false;
  }

  /** Rejects when the node does not tell it. A node is asked once at a time. */
  #read(node: AskedNode): Promise<void> {
    const under = this.#reading.get(node.name);
    if (under) return under.read;
    const read = this.#ask(node);
    this.#reading.set(node.name, { read, at: this.#parts.clock.now() });
    return read;
  }

  async #ask(node: AskedNode): Promise<void> {
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
  /** The newest block that the node knows; -1 while it names none. */
  readonly number: number;
  /** It failed lately: its chain could not be read or proven. */
  readonly isDistrusted: boolean;
  /** Its head is not higher than ours, and another block than ours at that height. */
  readonly isElsewhere: boolean;
};

/** A node so many blocks behind the best one is still followed: nodes get blocks at different times. */
const TOLERATED_LAG = 1;

/**
 * The present leader as long as it keeps up, so that two nodes on two forks do not pull the chain to
 * and fro; else the best of those that are not distrusted, the first of equals. A leader that left our
 * chain for a branch that is not longer is not followed while others as high as it are still with us.
 *
 * @param nodes In the order of the configuration.
 */
export function chooseLeader(
  nodes: readonly SeenHead[],
  present: string | undefined,
): string | undefined {
  const trusted = nodes.filter(({ number, isDistrusted }) => !isDistrusted && number >= 0);
  const choice = trusted.length > 0 ? trusted : nodes;
  const best = Math.max(...choice.map(({ number }) => number));
  const loyal = choice.filter(({ isElsewhere }) => !isElsewhere);
  const mayLead = loyal.some(({ number }) => number >= best - TOLERATED_LAG) ? loyal : choice;
  const leader = mayLead.find(({ name }) => name === present);
  if (leader && leader.number >= best - TOLERATED_LAG) return leader.name;
  return mayLead.reduce<SeenHead | undefined>(higher, undefined)?.name;
}

const higher = (one: SeenHead | undefined, other: SeenHead): SeenHead =>
  one && one.number >= other.number ? one : other;
