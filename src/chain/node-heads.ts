// What each node told last of its head; and asking them for it.
import type { Clock } from "../lib/clock.ts";
import { within } from "../lib/waiting.ts";
import type { AskedNode, ChainDialect } from "./dialect.ts";
import type { Position } from "./store-keys.ts";

export type NodeHeadsParts = {
  readonly dialect: Pick<ChainDialect, "readPosition">;
  readonly clock: Pick<Clock, "now" | "sleep">;
  /** Ends what is under way. */
  readonly signal: AbortSignal;
};

/** A node is waited for so long; and when the first one told its head, the others, in milliseconds. */
const TIMEOUT_MS = 250;

const SAYS_NOTHING = new Error("the node does not tell its head");

export class NodeHeads {
  readonly #told = new Map<string, { readonly head: Position; readonly at: number }>();
  /** Of nodes that were asked for their head and have not told it yet. */
  readonly #reading = new Map<string, Promise<void>>();
  readonly #parts: NodeHeadsParts;

  constructor(parts: NodeHeadsParts) {
    this.#parts = parts;
  }

  /** undefined while the node does not tell it. */
  of({ name }: Pick<AskedNode, "name">): Position | undefined {
    return this.#told.get(name)?.head;
  }

  /** When it told it, by the clock. */
  toldAt({ name }: Pick<AskedNode, "name">): number | undefined {
    return this.#told.get(name)?.at;
  }

  /** The node told it by itself. */
  tell({ name }: Pick<AskedNode, "name">, head: Position): void {
    this.#told.set(name, { head, at: this.#parts.clock.now() });
  }

  /** Resolves when all told their heads, or some did and the others take their time. */
  async readAll(nodes: readonly AskedNode[]): Promise<void> {
    const reads = nodes.map((node) => this.#read(node));
    await Promise.any(reads).catch(() => undefined);
    await within(TIMEOUT_MS, Promise.allSettled(reads), this.#parts);
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
    const reading = this.#reading.get(node.name) ?? this.#ask(node);
    this.#reading.set(node.name, reading);
    return reading;
  }

  async #ask(node: AskedNode): Promise<void> {
    const { dialect, signal } = this.#parts;
    const position = await dialect.readPosition("latest", node, signal);
    this.#reading.delete(node.name);
    if (position) this.tell(node, position);
    else this.#told.delete(node.name);
    if (!position) throw SAYS_NOTHING;
  }
}
