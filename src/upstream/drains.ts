// The nodes that operators spare, in the state that all gateways share: each of their processes looks what is there. A drain
// outlives the gateway, until somebody ends it (docs/decisions/0063).
import type { Logger } from "pino";
import { parsed } from "../jsonrpc/raw-json.ts";
import { isoText } from "../lib/calendar.ts";
import type { Clock } from "../lib/clock.ts";
import { repeat } from "../lib/waiting.ts";
import type { State } from "../state/state.ts";

export type NodeDrain = {
  readonly network: string;
  readonly upstream: string;
  readonly isDrained: boolean;
};

/** Who drained a node, from where, and when (ISO 8601). */
export type DrainMark = { readonly who: string; readonly from: string; readonly at: string };

type DrainedNode = DrainMark & Omit<NodeDrain, "isDrained">;

const KEY = "drains nodes";
const REFRESH_MS = 250;
/** Nodes that are not configured any more are among them. */
const MOST_DRAINED = 1_000;

export type DrainsParts = {
  readonly state: Pick<State, "get" | "update" | "isHeld">;
  readonly clock: Pick<Clock, "wallTime" | "sleep">;
  readonly log: Pick<Logger, "info" | "warn">;
};

export class Drains {
  #text: string | undefined;
  #nodes: readonly DrainedNode[] = [];
  /** Is told when other nodes are drained. */
  #listener: () => void = () => undefined;
  readonly #closing = new AbortController();
  readonly #parts: DrainsParts;

  constructor(parts: DrainsParts) {
    this.#parts = parts;
  }

  /** Reads them, and goes on reading. Never fails: while the state is away, what is known holds. */
  async start(): Promise<void> {
    await this.look();
    const { clock } = this.#parts;
    void repeat(REFRESH_MS, () => this.look(), { clock, signal: this.#closing.signal });
  }

  close(): void {
    this.#closing.abort();
  }

  async look(): Promise<void> {
    const text = await this.#parts.state.get(KEY).catch(() => this.#text);
    if (text === this.#text) return;
    this.#text = text;
    this.#nodes = nodesIn(text);
    this.#listener();
  }

  onChange(listener: () => void): void {
    this.#listener = listener;
  }

  has({ network, upstream }: Omit<NodeDrain, "isDrained">): boolean {
    return this.of(network).has(upstream);
  }

  /** The drained nodes of a network, by name. */
  of(network: string): ReadonlyMap<string, DrainMark> {
    const own = this.#nodes.filter((node) => node.network === network);
    return new Map(own.map(({ upstream, who, from, at }) => [upstream, { who, from, at }]));
  }

  /** @returns Whether it is kept already; else it holds in memory. @throws RpcError when it does not hold. */
  async set(
    { network, upstream, isDrained }: NodeDrain,
    { who, from }: Omit<DrainMark, "at">,
  ): Promise<{ readonly isKept: boolean }> {
    const { state, clock } = this.#parts;
    const mark = { network, upstream, who, from, at: isoText(clock.wallTime()) };
    const isIt = (node: DrainedNode): boolean =>
      node.network === network && node.upstream === upstream;
    await state.update(
      [KEY],
      ([text]) => {
        const nodes = nodesIn(text);
        if (nodes.some(isIt) === isDrained) return undefined;
        const others = nodes.filter((node) => !isIt(node));
        return [JSON.stringify([...others, ...(isDrained ? [mark] : [])].slice(-MOST_DRAINED))];
      },
      { isUrgent: true },
    );
    await this.look();
    return { isKept: state.isHeld?.(KEY) !== true };
  }

  /** To be called when the gateway has begun. */
  tellAtStart(): void {
    this.#tell(
      "warn",
      "nodes are drained since before this start: they are asked only while no other can be",
    );
  }

  /** To be called when the gateway ends. */
  tellAtEnd(): void {
    // What is held says itself whether it was lost.
    if (this.#parts.state.isHeld?.(KEY)) return;
    this.#tell("info", "nodes stay drained, after the next start too");
  }

  #tell(level: "info" | "warn", message: string): void {
    const nodes = this.#nodes.map(
      ({ network, upstream, who, at }) => `${network}/${upstream}, by ${who} at ${at}`,
    );
    if (nodes.length > 0) this.#parts.log[level]({ nodes }, message);
  }
}

/** None in a text that another version wrote in another form. */
function nodesIn(text = "[]"): readonly DrainedNode[] {
  const nodes = parsed(text);
  return Array.isArray(nodes) ? nodes : [];
}
