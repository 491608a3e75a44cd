// A filter as it is kept in the state: its question, and how far its client was told. How many filters a key has over
// all networks and gateways, and how long a filter lives.
import type { Position } from "../chain/stored-block.ts";
import type { EpochLogFilter } from "../conflux/epoch-logs.ts";
import type { LogFilter } from "../evm/log-filter.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import type { Clock } from "../lib/clock.ts";
import type { State } from "../state/state.ts";

/** Log criteria; the network's family tells which of both they are. */
export type Criteria = LogFilter | EpochLogFilter;

/** What a caller asks for with a new filter. */
export type FilterQuestion = (
  | { readonly kind: "logs"; readonly criteria: Criteria }
  | { readonly kind: "blocks" | "heads" | "pending" }
) & {
  /** Whole transactions, or whole blocks of epochs, instead of their hashes. */
  readonly isWhole?: true;
};

export const filterKinds = ["logs", "blocks", "heads", "pending"] as const;

/** How a filter's items reach its client: it polls, or they are pushed over a socket (a subscription). */
export type FilterManner = "polled" | "pushed";

export const mannerOf = ({ isPushed }: FilterRecord): FilterManner =>
  isPushed ? "pushed" : "polled";

/** A block that was told, for the case that it is removed. */
export type DeliveredBlock = {
  readonly hash: string;
  readonly parentHash: string;
  /** What the filter tells when the block is removed. */
  readonly items: readonly RawJson[];
};

/** The block at which a client is, with the last blocks on the way there, newest first. */
export type CursorPosition = Position & { readonly way?: readonly DeliveredBlock[] };

/** How far a client was told: up to a block, or up to a position in the mempool journal. */
export type Cursor = CursorPosition | { readonly sequence: number };

export type FilterRecord = {
  /** The name of the key that made it. */
  readonly holder: string;
  /** In milliseconds since 1970; written now and then only. */
  readonly usedAtMs: number;
  /** Whether it is a subscription. */
  readonly isPushed?: true;
  /** For a subscription: how many notifications its client has at `told`, and at each of `unsure`. */
  readonly counts?: readonly number[];
  /** How many notifications arrived for certain. */
  readonly arrived?: number;
  /** The name of what pushes it. */
  readonly by?: string;
  readonly isWhole?: true;
} & (
  | ({ readonly kind: "logs"; readonly criteria: Criteria } & CursorState<CursorPosition>)
  | ({ readonly kind: "blocks" | "heads" } & CursorState<CursorPosition>)
  | ({ readonly kind: "pending" } & CursorState<{ readonly sequence: number }>)
);

type CursorState<At> = {
  readonly told: At;
  /** Unacknowledged: answers up to these cursors may have arrived, since the gateway died while it sent one. */
  readonly unsure: readonly At[];
};

export const encodeFilter = (record: FilterRecord): string => JSON.stringify(record);

export const decodeFilter = (text: string): FilterRecord => JSON.parse(text) as FilterRecord;

/** How many addresses and topics count as one filter: a larger one counts as several. */
const ALTERNATIVES_OF_ONE = 100;

/** How many filters it counts as. */
export function weightOf(asked: FilterQuestion): number {
  if (asked.kind !== "logs") return 1;
  const { address, topics } = asked.criteria;
  const alternatives = [address, ...(topics ?? [])].reduce(
    (sum, each) => sum + (Array.isArray(each) ? each.length : 1),
    0,
  );
  return Math.max(1, Math.ceil(alternatives / ALTERNATIVES_OF_ONE));
}

/** A filter as it is kept. A very large one counts as several. */
type CountedFilter = {
  readonly manner: FilterManner;
  readonly key: string;
  readonly text: string;
  /** The name of the key that made it. */
  readonly holder: string;
  readonly weight: number;
};

/** Whether there is room for so much more. */
export const hasRoom = async (
  counted: Omit<CountedFilter, "key" | "text">,
  most: number,
  state: Pick<State, "get">,
): Promise<boolean> => numberIn(await state.get(countKey(counted))) + counted.weight <= most;

/** Adds a filter and counts it for its key, in one step. @returns false when the holder has too many. */
export async function addCounted(
  counted: CountedFilter,
  most: number,
  state: Pick<State, "update">,
): Promise<boolean> {
  const { key, text, weight } = counted;
  const { isChanged } = await state.update([countKey(counted), key], ([before]) => {
    const count = numberIn(before) + weight;
    return count > most ? undefined : [String(count), text];
  });
  return isChanged;
}

/** @returns false, having changed nothing, when the filter has changed meanwhile. */
export async function removeCounted(
  { key, text }: Pick<CountedFilter, "key" | "text">,
  state: Pick<State, "update">,
): Promise<boolean> {
  const record = decodeFilter(text);
  const ofKey = countKey({ holder: record.holder, manner: mannerOf(record) });
  const { isChanged } = await state.update([ofKey, key], ([before, there]) => {
    const count = numberIn(before) - weightOf(record);
    return there === text ? [count > 0 ? String(count) : undefined, undefined] : undefined;
  });
  return isChanged;
}

// Names of networks have no underscores, so no network is called so.
const countKey = ({ holder, manner }: Pick<CountedFilter, "holder" | "manner">): string =>
  `filter ${manner === "pushed" ? "_pushed" : "_count"} ${holder}`;

const numberIn = (text: string | undefined): number => Number(text ?? 0);

/** A filter that is not polled, or not pushed, for this time ends (docs/decisions/0035), in milliseconds. */
const LIFE_MS = { polled: 300_000, pushed: 600_000 } as const;

/**
 * How long filters live that nobody polls. Nobody can poll while the gateway or the state is away, so that time does
 * not count.
 */
export class Lifetime {
  /** Until when the state was away, by wall time, as far as this process knows. */
  #awayUntilMs = Number.NEGATIVE_INFINITY;
  readonly #clock: Pick<Clock, "wallTime">;

  constructor(parts: { readonly clock: Pick<Clock, "wallTime"> }) {
    this.#clock = parts.clock;
  }

  /** To be called when polls become possible: nobody could poll before. */
  begin(): void {
    this.#awayUntilMs = this.#clock.wallTime();
  }

  isOver(usedAtMs: number, manner: FilterManner): boolean {
    return this.#clock.wallTime() - Math.max(usedAtMs, this.#awayUntilMs) > LIFE_MS[manner];
  }

  /** Waits for an answer of the state; when the state is away, the lives of filters begin anew. */
  async noting<Value>(asked: Promise<Value>): Promise<Value> {
    try {
      return await asked;
    } catch (error) {
      this.begin();
      throw error;
    }
  }
}
