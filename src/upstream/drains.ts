// The drained nodes, in the state that all gateways share: each process reads it again and again. A drain outlives the
// gateway, until an operator ends it (docs/decisions/0063).
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

/** The operator who drained a node (`who`), the address (`from`), and the time (`at`, ISO 8601). */
export type DrainMark = { readonly who: string; readonly from: string; readonly at: string };

type DrainedNode = DrainMark & Omit<NodeDrain, "isDrained">;

const KEY = "drains nodes";
const REFRESH_MS = 250;
/** The most drained nodes in the state, with those that are not configured any more; the oldest leave first. */
const MOST_DRAINED = 1_000;

export type DrainsParts = {
  readonly state: Pick<State, "get" | "update" | "isHeld">;
  readonly clock: Pick<Clock, "wallTime" | "sleep">;
  readonly log: Pick<Logger, "info" | "warn">;
};

export class Drains {
  #text: string | undefined;
  #nodes: readonly DrainedNode[] = [];
  /** Is called when the drained nodes have changed. */
  #listener: () => void = () => undefined;
  readonly #closing = new AbortController();
  readonly #parts: DrainsParts;

  constructor(parts: DrainsParts) {
    this.#parts = parts;
  }

  /** Reads the drained nodes, again and again. Never rejects: while the state cannot be read, the last ones count. */
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

  /**
   * Drains a node, or ends its drain.
   * @returns Whether the state has the change already; otherwise it holds in memory.
   * @throws RpcError when the change can neither be written nor held.
   */
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
      "nodes were drained before this start: they are asked only while no other node can be",
    );
  }

  /** To be called when the gateway ends. */
  tellAtEnd(): void {
    // A drain that holds only in memory may be lost: then `HeldState` logs that when it closes.
    if (this.#parts.state.isHeld?.(KEY)) return;
    this.#tell("info", "nodes stay drained, also after the next start");
  }

  #tell(level: "info" | "warn", message: string): void {
    const nodes = this.#nodes.map(
      ({ network, upstream, who, at }) => `${network}/${upstream}, by ${who} at ${at}`,
    );
    if (nodes.length > 0) this.#parts.log[level]({ nodes }, message);
  }
}

/** The drained nodes in a text of the state; none where another version wrote it in another form. */
function nodesIn(text = "[]"): readonly DrainedNode[] {
  const nodes = parsed(text);
  return Array.isArray(nodes) ? nodes : [];
}
