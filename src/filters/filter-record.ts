// The record of a filter in the state: its question, and the cursors of its client. Each poll writes the record, so long
// criteria are an entry of their own, written once. Also the count of each key's filters over all networks and
// gateways, and the lifetime of filters.
import type { Position } from "../chain/stored-block.ts";
import type { EpochLogFilter } from "../conflux/epoch-logs.ts";
import type { LogFilter } from "../evm/log-filter.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import type { Clock } from "../lib/clock.ts";
import type { State } from "../state/state.ts";

/** Log criteria of a block network, or of an epoch network. */
export type Criteria = LogFilter | EpochLogFilter;

/** The question of a caller that makes a filter. */
export type FilterQuestion = (
  | { readonly kind: "logs"; readonly criteria: Criteria }
  | { readonly kind: "blocks" | "heads" | "pending" }
) & {
  /** The items are whole transactions, or whole blocks of epochs, instead of their hashes. */
  readonly isWhole?: true;
};

export const filterKinds = ["logs", "blocks", "heads", "pending"] as const;

/** The client polls a filter, or the gateway pushes the items over a socket (a subscription). */
export type FilterManner = "polled" | "pushed";

export const mannerOf = ({ isPushed }: Pick<StoredFilter, "isPushed">): FilterManner =>
  isPushed ? "pushed" : "polled";

/** A block whose items the client got, kept in case a reorg removes the block. */
export type DeliveredBlock = {
  /** Absent in records of former versions. */
  readonly number?: number;
  readonly hash: string;
  readonly parentHash: string;
  /** The items that the client gets when a reorg removes the block. */
  readonly items: readonly RawJson[];
};

/** The last block whose items the client got. `path` has the last blocks up to that block, newest first. */
export type CursorPosition = Position & { readonly path?: readonly DeliveredBlock[] };

/** The cursor of a client: a block, or a position in the mempool journal. */
export type Cursor = CursorPosition | { readonly sequence: number };

type RecordWith<OfLogs> = {
  /** The name of the key that made the filter. */
  readonly holder: string;
  /** The time of the last use, in milliseconds since 1970; written only now and then. */
  readonly usedAtMs: number;
  /** Whether the filter is a subscription. */
  readonly isPushed?: true;
  /** The number of notifications that a subscription's client has at `acknowledged`, and at each cursor of `unacknowledged`. */
  readonly counts?: readonly number[];
  /** The number of notifications that have certainly arrived. */
  readonly arrived?: number;
  /** The random name of the pusher of a subscription: each socket that pushes it has another name. */
  readonly by?: string;
  readonly isWhole?: true;
  /** Only where the criteria are an entry of their own: the number of filters that the filter counts as. */
  readonly weight?: number;
} & (
  | ({ readonly kind: "logs" } & OfLogs & CursorState<CursorPosition>)
  | ({ readonly kind: "blocks" | "heads" } & CursorState<CursorPosition>)
  | ({ readonly kind: "pending" } & CursorState<{ readonly sequence: number }>)
);

export type FilterRecord = RecordWith<{ readonly criteria: Criteria }>;

/** A record as its text has it: without criteria that are an entry of their own. */
export type StoredFilter = RecordWith<{ readonly criteria?: Criteria }>;

type CursorState<At> = {
  readonly acknowledged: At;
  /** Unacknowledged cursors: the gateway sent, or died while it sent, answers up to them, so the client may be there. */
  readonly unacknowledged: readonly At[];
};

/** A cursor as the state has it. */
type StoredCursor =
  | (Position & { readonly way?: readonly DeliveredBlock[] })
  | { readonly sequence: number };

/** The cursors of a record as the state has them. */
type StoredRecord = Omit<StoredFilter, "acknowledged" | "unacknowledged"> & {
  readonly told: StoredCursor;
  readonly unsure: readonly StoredCursor[];
};

function storedCursor(at: Cursor): StoredCursor {
  if (!("path" in at)) return at;
  const { path, ...position } = at;
  return { ...position, way: path };
}

function cursorOf(stored: StoredCursor): Cursor {
  if (!("way" in stored)) return stored;
  const { way, ...position } = stored;
  return { ...position, path: way };
}

/**
 * The text of a record, in which `acknowledged` and `unacknowledged` have the names `told` and `unsure`. The text of a
 * record with a weight has no criteria.
 */
export const encodeFilter = ({ acknowledged, unacknowledged, ...record }: StoredFilter): string =>
  JSON.stringify({
    ...record,
    ...(record.weight === undefined ? {} : { criteria: undefined }),
    told: storedCursor(acknowledged),
    unsure: (unacknowledged as readonly Cursor[]).map(storedCursor),
  });

export function decodeFilter(text: string): StoredFilter {
  const { told, unsure, ...record } = JSON.parse(text) as StoredRecord;
  const cursors = { acknowledged: cursorOf(told), unacknowledged: unsure.map(cursorOf) };
  return { ...record, ...cursors } as StoredFilter;
}

/** The whole record. @param criteria The criteria of a record that has none. */
export const withCriteria = (stored: StoredFilter, criteria: Criteria | undefined): FilterRecord =>
  (stored.weight === undefined ? stored : { ...stored, criteria }) as FilterRecord;

// Names of networks have no underscores, so no filter has such a key.
const CRITERIA_PREFIX = "filter _criteria ";

/** The key of the criteria of a filter whose record has a weight. @param key The key of the record. */
export const criteriaKeyOf = (key: string): string => key.replace(/^filter /, CRITERIA_PREFIX);

/** The key of the record whose criteria are under the key; undefined for keys of other entries. */
export const recordKeyOf = (criteriaKey: string): string | undefined =>
  criteriaKey.startsWith(CRITERIA_PREFIX)
    ? `filter ${criteriaKey.slice(CRITERIA_PREFIX.length)}`
    : undefined;

/** The most addresses and topics of criteria that stand in the record itself: some 1 KB. */
const ALTERNATIVES_IN_RECORD = 16;
/** The most addresses and topics of one filter: a larger filter counts as several. */
const ALTERNATIVES_OF_ONE = 100;

/** The number of filters that a question counts as. */
export const weightOf = (asked: FilterQuestion): number =>
  asked.kind === "logs" ? weightOfCriteria(asked.criteria) : 1;

const weightOfCriteria = (criteria: Criteria): number =>
  Math.max(1, Math.ceil(alternativesIn(criteria) / ALTERNATIVES_OF_ONE));

/** The text of criteria that are an entry of their own; undefined for criteria in the record, and without criteria. */
export const criteriaApart = (asked: FilterQuestion): string | undefined =>
  asked.kind === "logs" && alternativesIn(asked.criteria) > ALTERNATIVES_IN_RECORD
    ? JSON.stringify(asked.criteria)
    : undefined;

const alternativesIn = ({ address, topics }: Criteria): number =>
  [address, ...(topics ?? [])].reduce(
    (sum, each) => sum + (Array.isArray(each) ? each.length : 1),
    0,
  );

const storedWeightOf = (record: StoredFilter): number =>
  record.weight ??
  (record.kind === "logs" && record.criteria ? weightOfCriteria(record.criteria) : 1);

/** A filter in the state, and its weight in the count of its key: a very large filter counts as several. */
type CountedFilter = {
  readonly manner: FilterManner;
  readonly key: string;
  readonly text: string;
  /** The text of criteria that are an entry of their own. */
  readonly criteria?: string | undefined;
  /** The name of the key that made the filter. */
  readonly holder: string;
  readonly weight: number;
};

/** Whether the key has room for a filter of this weight. */
export const hasRoom = async (
  counted: Pick<CountedFilter, "manner" | "holder" | "weight">,
  most: number,
  state: Pick<State, "get">,
): Promise<boolean> => numberIn(await state.get(countKey(counted))) + counted.weight <= most;

/** Adds a filter with its criteria and counts it for its key, in one step. @returns false when the key has too many filters. */
export async function addCounted(
  counted: CountedFilter,
  most: number,
  state: Pick<State, "update">,
): Promise<boolean> {
  const { key, text, criteria, weight } = counted;
  const keys = [countKey(counted), key, ...(criteria === undefined ? [] : [criteriaKeyOf(key)])];
  const { isChanged } = await state.update(keys, ([before]) => {
    const count = numberIn(before) + weight;
    return count > most ? undefined : [String(count), text, criteria];
  });
  return isChanged;
}

/** Removes a filter, its criteria and its count, in one step. @returns false, without a change, when the filter's text has changed. */
export async function removeCounted(
  { key, text }: Pick<CountedFilter, "key" | "text">,
  state: Pick<State, "update">,
): Promise<boolean> {
  const record = decodeFilter(text);
  const ofKey = countKey({ holder: record.holder, manner: mannerOf(record) });
  const keys = [ofKey, key, ...(record.weight === undefined ? [] : [criteriaKeyOf(key)])];
  const { isChanged } = await state.update(keys, ([before, there]) => {
    const count = numberIn(before) - storedWeightOf(record);
    const left = count > 0 ? String(count) : undefined;
    return there === text ? [left, undefined, undefined] : undefined;
  });
  return isChanged;
}

/** Removes criteria without a record. Both are written in one step, so only a damaged or restored state has such. */
export async function removeLoneCriteria(
  criteriaKey: string,
  key: string,
  state: Pick<State, "update">,
): Promise<void> {
  await state.update([key, criteriaKey], ([record, criteria]) =>
    record === undefined && criteria !== undefined ? [undefined, undefined] : undefined,
  );
}

const countKey = ({ holder, manner }: Pick<CountedFilter, "holder" | "manner">): string =>
  `filter ${manner === "pushed" ? "_pushed" : "_count"} ${holder}`;

const numberIn = (text: string | undefined): number => Number(text ?? 0);

/** In milliseconds. A filter that no client polls, or no process pushes, for this time ends (docs/decisions/0035). */
const LIFE_MS = { polled: 300_000, pushed: 600_000 } as const;

/** A clock of the machine that jumps by more than this against the monotonic one was set, or the machine slept. */
const CLOCK_SET_BY_MS = 2_000;

/** Knows which filters have expired. While the gateway or the state is away, no client can poll, and no time counts. */
export class Lifetime {
  /** The wall time until which the state was away, as far as this process knows. */
  #awayUntilMs = Number.NEGATIVE_INFINITY;
  /** The wall time less the monotonic time, when both were read last. */
  #offsetMs: number;
  readonly #clock: Pick<Clock, "now" | "wallTime">;

  constructor(parts: { readonly clock: Pick<Clock, "now" | "wallTime"> }) {
    this.#clock = parts.clock;
    this.#offsetMs = this.#offsetNow;
  }

  /** Called when polls become possible: all lifetimes begin anew. */
  begin(): void {
    this.#awayUntilMs = this.#clock.wallTime();
  }

  /** To be called before lifetimes are judged: when the machine's clock was set, all lifetimes begin anew. */
  readClock(): void {
    const offsetMs = this.#offsetNow;
    if (Math.abs(offsetMs - this.#offsetMs) > CLOCK_SET_BY_MS) this.begin();
    this.#offsetMs = offsetMs;
  }

  get #offsetNow(): number {
    return this.#clock.wallTime() - this.#clock.now();
  }

  isOver(usedAtMs: number, manner: FilterManner): boolean {
    return this.#clock.wallTime() - Math.max(usedAtMs, this.#awayUntilMs) > LIFE_MS[manner];
  }

  /** Waits for an answer of the state; when the state is away, all lifetimes begin anew. @throws The state's error. */
  async noting<Value>(asked: Promise<Value>): Promise<Value> {
    try {
      return await asked;
    } catch (error) {
      this.begin();
      throw error;
    }
  }
}
