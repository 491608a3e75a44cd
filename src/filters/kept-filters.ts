// The filters of one network as they are kept in the state, and those of them that are in use.
import { randomBytes } from "node:crypto";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { State } from "../state/state.ts";
import type { FilterCount } from "./filter-count.ts";
import {
  type Asked,
  type Cursor,
  decodeFilter,
  encodeFilter,
  type FilterRecord,
  weightOf,
} from "./filter-record.ts";
import { OpenFilter } from "./open-filter.ts";

export type KeptFiltersParts = {
  readonly state: State;
  readonly count: FilterCount;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, "filtersCounted">;
};

type Counted = Asked & { readonly holder: string };

/** A filter that is not polled for so long ends (decisions: filters), in milliseconds. */
const LIFE_MS = 300_000;
const SWEPT_EVERY_MS = 30_000;
/** A key that has too many filters asks in vain: not each time is looked whether some have ended. */
const SWEPT_AGAIN_AFTER_MS = 1_000;
/** So many filters are looked at without a pause. */
const SWEPT_AT_ONCE = 500;

export class KeptFilters {
  readonly #open = new Map<string, OpenFilter>();
  /** While the gateway was away nobody could poll: that time does not count. */
  #startedAtMs = 0;
  #sweptAtMs = Number.NEGATIVE_INFINITY;
  readonly #kinds = { logs: 0, blocks: 0, pending: 0 };
  readonly #closing = new AbortController();
  #sweeping: Promise<void> = Promise.resolve();
  readonly #prefix: string;
  readonly #options: { readonly network: string; readonly perKey: number };
  readonly #parts: KeptFiltersParts;

  constructor(
    options: { readonly network: string; readonly perKey: number },
    parts: KeptFiltersParts,
  ) {
    this.#options = options;
    this.#parts = parts;
    this.#prefix = `filter ${options.network} `;
  }

  /** Takes up what is kept, and ends from then on what nobody polls any more. */
  async start(): Promise<readonly FilterRecord[]> {
    const { state, clock } = this.#parts;
    this.#startedAtMs = clock.wallTime();
    const records = (await state.list(this.#prefix)).map(({ text }) => decodeFilter(text));
    for (const record of records) this.#count(record, 1);
    this.#sweeping = this.#sweepAgainAndAgain();
    return records;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#sweeping;
    await Promise.all([...this.#open.values()].map((filter) => filter.atRest()));
  }

  /**
   * Keeps a new filter, which begins where `begin` says.
   *
   * @returns The id: 128 random bits as QUANTITY. @throws RpcError when its key has too many.
   */
  async add(asked: Asked, holder: string, begin: () => Promise<Cursor>): Promise<string> {
    const made = { ...asked, holder };
    await this.#makeRoomFor(made);
    this.#count(made, 1); // before anything is waited for: many may be made at once
    try {
      const told = await begin();
      const record = { ...made, usedAtMs: this.#parts.clock.wallTime(), told, unsure: [] };
      const id = `0x${BigInt(`0x${randomBytes(16).toString("hex")}`).toString(16)}`;
      const text = encodeFilter(record as unknown as FilterRecord);
      await this.#parts.state.replace(this.#prefix + id, undefined, text);
      return id;
    } catch (error) {
      this.#count(made, -1);
      throw error;
    }
  }

  /** @throws RpcError when there is no such filter of this key: unknown, ended, or of another key look the same. */
  async find(id: string, holder: string): Promise<OpenFilter> {
    const name = id.toLowerCase();
    const filter = this.#open.get(name) ?? (await this.#load(name));
    if (filter?.record.holder !== holder || this.#isOver(filter.usedAtMs))
      throw errors.filterNotFound();
    return filter;
  }

  async #load(name: string): Promise<OpenFilter | undefined> {
    const { state } = this.#parts;
    const key = this.#prefix + name;
    const text = await state.get(key);
    // Another call may have been as fast: a filter is open once.
    const isOpen = this.#open.get(name);
    if (isOpen || text === undefined) return isOpen;
    const filter = new OpenFilter(
      { key, text, usedAtMs: this.#lastUse(decodeFilter(text)) },
      { state },
    );
    this.#open.set(name, filter);
    return filter;
  }

  #lastUse({ usedAtMs }: FilterRecord): number {
    return Math.max(usedAtMs, this.#startedAtMs);
  }

  #isOver(usedAtMs: number): boolean {
    return this.#parts.clock.wallTime() - usedAtMs > LIFE_MS;
  }

  /** @returns false when it was gone already. */
  async end(id: string): Promise<boolean> {
    const { state } = this.#parts;
    const name = id.toLowerCase();
    this.#open.delete(name);
    for (;;) {
      const text = await state.get(this.#prefix + name);
      if (text === undefined) return false;
      if (!(await state.replace(this.#prefix + name, text, undefined))) continue;
      this.#count(decodeFilter(text), -1);
      return true;
    }
  }

  async #sweepAgainAndAgain(): Promise<void> {
    const { clock } = this.#parts;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await clock.sleep(SWEPT_EVERY_MS, signal).catch(() => undefined);
      if (!signal.aborted) await this.#sweep();
    }
  }

  /** @throws RpcError */
  async #makeRoomFor(filter: Counted): Promise<void> {
    const { count, clock } = this.#parts;
    const { perKey } = this.#options;
    const isTooMuch = (): boolean => count.of(filter.holder) + weightOf(filter) > perKey;
    if (!isTooMuch()) return;
    if (clock.now() - this.#sweptAtMs > SWEPT_AGAIN_AFTER_MS) await this.#sweep();
    if (isTooMuch()) throw errors.tooManyFilters(perKey);
  }

  /** Ends the filters that nobody polls any more. */
  async #sweep(): Promise<void> {
    const { state, clock } = this.#parts;
    this.#sweptAtMs = clock.now();
    let looked = 0;
    const entries = await state.list(this.#prefix);
    const ids = new Set(entries.map(({ key }) => key.slice(this.#prefix.length)));
    for (const id of this.#open.keys()) if (!ids.has(id)) this.#open.delete(id);
    for (const { key, text } of entries) {
      const id = key.slice(this.#prefix.length);
      const usedHereAtMs = this.#open.get(id)?.usedAtMs ?? Number.NEGATIVE_INFINITY;
      // Another process may have polled it since.
      const isOver = this.#isOver(usedHereAtMs) && this.#isOver(this.#lastUse(decodeFilter(text)));
      if (isOver) await this.end(id);
      looked += 1;
      if (looked % SWEPT_AT_ONCE === 0) await clock.yield();
    }
  }

  #count(filter: Counted, by: 1 | -1): void {
    const { count, metrics } = this.#parts;
    count.add(filter.holder, by * weightOf(filter));
    this.#kinds[filter.kind] += by;
    metrics.filtersCounted(this.#options.network, this.#kinds);
  }
}
