// The filters of one network in the state, and those of them that this process has in use. One process ends the filters
// that have expired.
import { randomBytes } from "node:crypto";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import { repeat } from "../lib/waiting.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { State } from "../state/state.ts";
import {
  addCounted,
  type Criteria,
  type Cursor,
  criteriaApart,
  criteriaKeyOf,
  decodeFilter,
  encodeFilter,
  type FilterManner,
  type FilterQuestion,
  type FilterRecord,
  filterKinds,
  hasRoom,
  Lifetime,
  mannerOf,
  recordKeyOf,
  removeCounted,
  removeLoneCriteria,
  type StoredFilter,
  weightOf,
  withCriteria,
} from "./filter-record.ts";
import { OpenFilter, WRITTEN_LATE_MS } from "./open-filter.ts";
import { encodePushed } from "./pushed-record.ts";

export type KeptFiltersOptions = {
  readonly network: string;
  /** The most filters, and the most subscriptions, of one key over all networks. */
  readonly perKey: Readonly<Record<FilterManner, number>>;
  /** Whether other processes may poll the same filters. */
  readonly isShared: boolean;
  /** Whether this process ends expired filters: one process of each gateway does. */
  readonly sweeps: boolean;
};

/** A filter's id, its key in the state, its text there, and its record with the criteria. */
export type KeptFilter = {
  readonly id: string;
  readonly key: string;
  readonly text: string;
  readonly record: FilterRecord;
};

export type KeptFiltersParts = {
  readonly state: State;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, "filtersCounted">;
};

const SWEPT_EVERY_MS = 30_000;
/** The shortest time after a sweep until a key with too many filters causes another sweep, in milliseconds. */
const SWEPT_AGAIN_AFTER_MS = 1_000;
/** The number of filters between two pauses of a sweep. */
const SWEPT_AT_ONCE = 500;

export class KeptFilters {
  readonly #open = new Map<string, OpenFilter>();
  readonly #lifetime: Lifetime;
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  readonly #kinds = { logs: 0, blocks: 0, heads: 0, pending: 0 };
  readonly #closing = new AbortController();
  #sweeping: Promise<void> = Promise.resolve();
  readonly #prefix: string;
  #options: KeptFiltersOptions;
  readonly #parts: KeptFiltersParts;

  constructor(options: KeptFiltersOptions, parts: KeptFiltersParts) {
    this.#options = options;
    this.#parts = parts;
    this.#lifetime = new Lifetime(parts);
    this.#prefix = `filter ${options.network} `;
  }

  reconfigure({ perKey }: Pick<KeptFiltersOptions, "perKey">): void {
    this.#options = { ...this.#options, perKey };
  }

  /** Begins the sweeps, which end expired filters. */
  start(): void {
    this.#lifetime.begin();
    const parts = { clock: this.#parts.clock, signal: this.#closing.signal };
    if (this.#options.sweeps) this.#sweeping = repeat(SWEPT_EVERY_MS, () => this.#sweep(), parts);
  }

  /** The records of all kept filters; none in a process that does not sweep. @throws While the state is away. */
  async takeUp(): Promise<readonly StoredFilter[]> {
    if (!this.#options.sweeps) return [];
    const entries = await this.#parts.state.list(this.#prefix);
    const records = entries.map(({ text }) => decodeFilter(text));
    this.#countAll(records);
    return records;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#sweeping;
    await Promise.all([...this.#open.values()].map((filter) => filter.close()));
  }

  /**
   * Writes a new filter, which begins at the cursor that `begin` gives.
   * @param by The name of the pusher of a subscription; undefined: the client polls.
   * @throws RpcError when the key has too many filters.
   */
  async add(
    asked: FilterQuestion,
    { holder, by }: { readonly holder: string; readonly by?: string | undefined },
    begin: () => Promise<Cursor>,
  ): Promise<KeptFilter> {
    const { state, clock } = this.#parts;
    const manner: FilterManner = by === undefined ? "polled" : "pushed";
    const perKey = this.#options.perKey[manner];
    const counting = { holder, manner, weight: weightOf(asked) };
    const { weight } = counting;
    if (!(await this.#makeRoom(counting))) throw errors.tooManyFilters(perKey, manner, weight);
    const start = await begin();
    const criteria = criteriaApart(asked);
    const used = {
      ...{ holder, usedAtMs: clock.wallTime() },
      ...(criteria === undefined ? {} : { weight }),
    };
    const cursors = { acknowledged: start, unacknowledged: [] };
    const polled = { ...asked, ...used, ...cursors } as unknown as FilterRecord;
    const steps = [{ count: 0, at: start }];
    const text =
      by === undefined
        ? encodeFilter(polled)
        : encodePushed({ by, asked, ...used, arrived: 0, steps });
    const id = newId();
    const key = this.#prefix + id;
    const counted = { ...counting, key, text, criteria };
    // Other calls make filters at the same time: the room at first may be used up now.
    if (!(await addCounted(counted, perKey, state)))
      throw errors.tooManyFilters(perKey, manner, weight);
    this.#count(asked, 1);
    return { id, key, text, record: withCriteria(decodeFilter(text), criteriaOf(asked)) };
  }

  /** A subscription; undefined when this key has none with the id. @throws RpcError while the state is away. */
  async pushed(id: string, holder: string): Promise<KeptFilter | undefined> {
    this.#lifetime.readClock();
    const key = this.#prefix + id;
    const text = await this.#lifetime.noting(this.#parts.state.get(key));
    if (text === undefined) return undefined;
    const stored = decodeFilter(text);
    const isThere =
      stored.by !== undefined &&
      stored.holder === holder &&
      !this.#lifetime.isOver(this.#lastUse(stored), "pushed");
    const record = isThere ? await this.#whole(stored, { key, text }) : undefined;
    return record && { id, key, text, record };
  }

  /**
   * The record with its criteria. A record whose criteria are gone, as in a damaged state, is ended.
   * @returns undefined where there are no criteria any more.
   */
  async #whole(
    stored: StoredFilter,
    { key, text }: Pick<KeptFilter, "key" | "text">,
  ): Promise<FilterRecord | undefined> {
    if (stored.weight === undefined) return withCriteria(stored, undefined);
    const criteria = await this.#lifetime.noting(this.#parts.state.get(criteriaKeyOf(key)));
    if (criteria !== undefined) return withCriteria(stored, JSON.parse(criteria) as Criteria);
    await this.#remove(key, text);
    return undefined;
  }

  /**
   * The filter; undefined when this key has no such filter: unknown filters, ended filters and those of another key look
   * the same.
   * @throws RpcError while the state is away.
   */
  async find(id: string, holder: string): Promise<OpenFilter | undefined> {
    const name = id.toLowerCase();
    const filter = this.#open.get(name) ?? (await this.#load(name));
    if (filter?.record.holder !== holder) return undefined;
    this.#lifetime.readClock();
    const manner = mannerOf(filter.record);
    const isOver =
      this.#lifetime.isOver(filter.usedAtMs, manner) &&
      !(await this.#askForUseElsewhere(name, manner));
    return isOver ? undefined : filter;
  }

  /** Whether another process used the filter lately, as the state says. */
  async #askForUseElsewhere(name: string, manner: FilterManner): Promise<boolean> {
    if (!this.#options.isShared) return false;
    const text = await this.#lifetime.noting(this.#parts.state.get(this.#prefix + name));
    return text !== undefined && !this.#lifetime.isOver(this.#lastUse(decodeFilter(text)), manner);
  }

  async #load(name: string): Promise<OpenFilter | undefined> {
    const { state, clock } = this.#parts;
    const { isShared } = this.#options;
    const key = this.#prefix + name;
    const text = await this.#lifetime.noting(state.get(key));
    const record =
      text === undefined ? undefined : await this.#whole(decodeFilter(text), { key, text });
    // Another call may have opened the filter meanwhile: a process opens each filter once.
    const isOpen = this.#open.get(name);
    if (isOpen || text === undefined || !record) return isOpen;
    const usedAtMs = this.#lastUse(record);
    const options = { key, text, criteria: criteriaOf(record), usedAtMs, isShared };
    const filter = new OpenFilter(options, { state, clock });
    this.#open.set(name, filter);
    return filter;
  }

  /** The latest time at which the filter can have been used: another process writes a use up to a minute late. */
  #lastUse({ usedAtMs }: Pick<StoredFilter, "usedAtMs">): number {
    const lateMs = this.#options.isShared ? WRITTEN_LATE_MS : 0;
    return usedAtMs + lateMs;
  }

  /** Ends a filter. @returns false when the filter was gone already. */
  async end(id: string): Promise<boolean> {
    const name = id.toLowerCase();
    const key = this.#prefix + name;
    for (;;) {
      const text = await this.#parts.state.get(key);
      if (text === undefined) this.#open.delete(name);
      if (text === undefined) return false;
      if (await this.#remove(key, text)) return true;
    }
  }

  /** @returns false when the filter has changed: another process polled it, or ended it. */
  async #remove(key: string, text: string): Promise<boolean> {
    if (!(await removeCounted({ key, text }, this.#parts.state))) return false;
    this.#open.delete(key.slice(this.#prefix.length));
    this.#count(decodeFilter(text), -1);
    return true;
  }

  /** @returns Whether the key has room, if need be after a sweep. */
  async #makeRoom(counting: Parameters<typeof hasRoom>[0]): Promise<boolean> {
    const { state, clock } = this.#parts;
    const perKey = this.#options.perKey[counting.manner];
    if (await hasRoom(counting, perKey, state)) return true;
    if (clock.now() - this.#sweptAtMs <= SWEPT_AGAIN_AFTER_MS) return false;
    await this.#sweep();
    return hasRoom(counting, perKey, state);
  }

  /** Ends the expired filters. */
  async #sweep(): Promise<void> {
    const { state, clock } = this.#parts;
    this.#sweptAtMs = clock.now();
    this.#lifetime.readClock();
    const left: StoredFilter[] = [];
    let looked = 0;
    const entries = await this.#lifetime.noting(state.list(this.#prefix));
    const ids = new Set(entries.map(({ key }) => key.slice(this.#prefix.length)));
    for (const id of this.#open.keys()) if (!ids.has(id)) this.#open.delete(id);
    for (const { key, text } of entries) {
      const id = key.slice(this.#prefix.length);
      const usedHereAtMs = this.#open.get(id)?.usedAtMs ?? Number.NEGATIVE_INFINITY;
      const record = decodeFilter(text);
      // Another process may have used the filter since.
      const usedAtMs = Math.max(usedHereAtMs, this.#lastUse(record));
      const isOver = this.#lifetime.isOver(usedAtMs, mannerOf(record));
      if (!isOver || !(await this.#remove(key, text))) left.push(record);
      looked += 1;
      if (looked % SWEPT_AT_ONCE === 0) await clock.yield();
    }
    if (this.#options.isShared) this.#countAll(left);
  }

  #count({ kind }: Pick<FilterQuestion, "kind">, by: 1 | -1): void {
    this.#kinds[kind] += by;
    this.#tellCount();
  }

  #countAll(records: readonly StoredFilter[]): void {
    for (const kind of filterKinds)
      this.#kinds[kind] = records.filter((record) => record.kind === kind).length;
    this.#tellCount();
  }

  /** Reports the counts from the sweeping process alone: its sweeps see the changes of all processes. */
  #tellCount(): void {
    if (!this.#options.sweeps) return;
    this.#parts.metrics.filtersCounted(this.#options.network, this.#kinds);
  }
}

const criteriaOf = (asked: FilterQuestion): Criteria | undefined =>
  asked.kind === "logs" ? asked.criteria : undefined;

/** A random QUANTITY of 32 digits: js-conflux-sdk takes no shorter ids. */
export function newId(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0] ?? 0) | 0x10;
  return `0x${bytes.toString("hex")}`;
}

const UNSERVED_SWEPT_EVERY_MS = 300_000;

/**
 * Ends expired filters of networks that the gateway no longer serves, until the signal aborts. Only served networks
 * sweep their filters; other filters would count for their keys for ever. Filters in use stay, since another gateway
 * with another configuration may serve the network. Also removes criteria, of all networks, that have no record.
 */
export function endUnserved(
  isServed: (network: string) => boolean,
  parts: {
    readonly state: Pick<State, "list" | "update">;
    readonly clock: Clock;
    readonly signal: AbortSignal;
  },
): Promise<void> {
  const { state, clock } = parts;
  const lifetime = new Lifetime(parts);
  const end = async (): Promise<void> => {
    const entries = await lifetime.noting(state.list("filter "));
    lifetime.readClock();
    const keys = new Set(entries.map(({ key }) => key));
    for (const [index, { key, text }] of entries.entries()) {
      if (index % SWEPT_AT_ONCE === SWEPT_AT_ONCE - 1) await clock.yield();
      const record = recordKeyOf(key);
      if (record !== undefined && !keys.has(record)) await removeLoneCriteria(key, record, state);
      const [, network = ""] = key.split(" ");
      // Names of networks have no underscores, so an underscore begins another kind of entry.
      if (network.startsWith("_") || isServed(network)) continue;
      const filter = decodeFilter(text);
      if (!lifetime.isOver(filter.usedAtMs + WRITTEN_LATE_MS, mannerOf(filter))) continue;
      await removeCounted({ key, text }, state);
    }
  };
  lifetime.begin();
  return repeat(UNSERVED_SWEPT_EVERY_MS, end, parts);
}
