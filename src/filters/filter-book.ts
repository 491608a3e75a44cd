// The filters of one network: made, polled, ended. They are kept in the state, so that they outlive the
// process; what is in memory only makes polls cheap.
import { randomBytes } from "node:crypto";
import type { Position } from "../chain/block-store.ts";
import type { Chain } from "../chain/chain.ts";
import type { ChainView } from "../chain/chain-view.ts";
import type { LogFilter } from "../evm/log-filter.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { State } from "../state/state.ts";
import type { FilterCount } from "./filter-count.ts";
import { type Cursor, decodeFilter, encodeFilter, type FilterRecord } from "./filter-record.ts";
import { type Changes, type Delivery, type Look, OpenFilter } from "./open-filter.ts";
import type { PendingJournal } from "./pending-journal.ts";
import { hashesOfBlocks, logsOfBlocks } from "./tellers.ts";
import { Lost, type Teller, walk } from "./walk.ts";

export type FilterOptions = {
  readonly network: string;
  /** The most filters of one key, over all networks. */
  readonly perKey: number;
  /** About so many items are told at once. */
  readonly most: number;
};

export type FilterParts = {
  readonly state: State;
  readonly chain: Pick<Chain, "view" | "liveView" | "headOfNodes">;
  readonly journal: PendingJournal;
  readonly count: FilterCount;
  readonly clock: Clock;
  readonly metrics: Pick<Metrics, "filtersCounted">;
};

/** Who calls, and how its answer leaves. */
export type FilterCaller = {
  /** The name of the key. */
  readonly holder: string;
  readonly signal: AbortSignal;
  readonly delivery: Delivery;
};

/** Its signal is made when it is asked for. */
type Waiting = Pick<FilterCaller, "signal">;

type Asked =
  | { readonly kind: "logs"; readonly criteria: LogFilter }
  | { readonly kind: "blocks" | "pending" };

/** A filter that is not polled for so long ends (decisions: filters), in milliseconds. */
const LIFE_MS = 300_000;
const SWEPT_EVERY_MS = 30_000;
/** So many filters are looked at without a pause. */
const SWEPT_AT_ONCE = 500;

export class FilterBook {
  readonly #open = new Map<string, OpenFilter>();
  readonly #tellers = new WeakMap<OpenFilter, Teller>();
  /** While the gateway was away nobody could poll: that time does not count. */
  #startedAtMs = 0;
  readonly #kinds = { logs: 0, blocks: 0, pending: 0 };
  readonly #closing = new AbortController();
  #sweeping: Promise<void> = Promise.resolve();
  readonly #prefix: string;
  readonly #options: FilterOptions;
  readonly #parts: FilterParts;

  constructor(options: FilterOptions, parts: FilterParts) {
    this.#options = options;
    this.#parts = parts;
    this.#prefix = `filter ${options.network} `;
  }

  /** Takes up the filters that are kept. */
  async start(): Promise<void> {
    const { state, clock, journal } = this.#parts;
    this.#startedAtMs = clock.wallTime();
    const records = (await state.list(this.#prefix)).map(({ text }) => decodeFilter(text));
    for (const record of records) this.#count(record, 1);
    const pending = records.flatMap((record) =>
      record.kind === "pending" ? [record.told, ...record.unsure] : [],
    );
    await journal.start(pending.map(({ sequence }) => sequence));
    this.#sweeping = this.#sweepAgainAndAgain();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#sweeping;
    await Promise.all([...this.#open.values()].map((filter) => filter.atRest()));
    await this.#parts.journal.close();
  }

  /** @returns The id: 128 random bits as QUANTITY. @throws RpcError */
  async create(asked: Asked, caller: Omit<FilterCaller, "delivery">): Promise<string> {
    const { count, state, clock } = this.#parts;
    const { perKey } = this.#options;
    const { holder } = caller;
    const weight = weightOf(asked);
    if (count.of(holder) + weight > perKey) await this.#sweep();
    if (count.of(holder) + weight > perKey) throw errors.tooManyFilters(perKey);
    const made = { ...asked, holder };
    this.#count(made, 1); // before anything is waited for: many may be made at once
    try {
      const told = await this.#beginning(asked, caller);
      const record = { ...made, usedAtMs: clock.wallTime(), told, unsure: [] };
      const id = `0x${BigInt(`0x${randomBytes(16).toString("hex")}`).toString(16)}`;
      const text = encodeFilter(record as unknown as FilterRecord);
      await state.replace(this.#prefix + id, undefined, text);
      return id;
    } catch (error) {
      this.#count(made, -1);
      throw error;
    }
  }

  /** What happened since the last poll. @throws RpcError */
  async changes(id: string, caller: FilterCaller): Promise<Changes> {
    const { clock } = this.#parts;
    const filter = await this.#find(id, caller.holder);
    const look: Look = (places) => this.#look(filter, places, caller);
    try {
      const changes = await filter.poll(look, caller, clock.wallTime());
      if (changes) return changes;
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
      await this.#end(id);
    }
    this.#open.delete(id.toLowerCase());
    throw errors.filterNotFound();
  }

  /** What a log filter asks for; it counts as used. @throws RpcError for filters of other kinds too. */
  async criteria(id: string, { holder }: Pick<FilterCaller, "holder">): Promise<LogFilter> {
    const filter = await this.#find(id, holder);
    if (filter.record.kind !== "logs") throw errors.filterNotFound();
    filter.usedAtMs = this.#parts.clock.wallTime();
    return filter.record.criteria;
  }

  /** @returns Whether there was such a filter of this key. */
  async remove(id: string, { holder }: Pick<FilterCaller, "holder">): Promise<boolean> {
    try {
      await this.#find(id, holder);
    } catch {
      return false;
    }
    return this.#end(id);
  }

  async #beginning(asked: Asked, caller: Waiting): Promise<Cursor> {
    if (asked.kind === "pending") return { sequence: await this.#parts.journal.begin(caller) };
    const { chain } = this.#parts;
    // Before the chain is followed, what comes after the nodes' own head is new all the same.
    const head =
      chain.view()?.head ??
      (await chain.headOfNodes(caller.signal)) ??
      (await this.#liveView(caller)).head;
    return { number: head.number, hash: head.hash };
  }

  async #look(filter: OpenFilter, places: readonly Cursor[], caller: Waiting): Promise<Changes> {
    const { chain, clock, journal } = this.#parts;
    if (filter.record.kind === "pending") {
      const [at] = places as readonly { sequence: number }[];
      const changes = at && journal.since(at.sequence);
      if (!changes) throw new Lost();
      return changes;
    }
    await this.#liveView(caller);
    const options = { teller: this.#tellerOf(filter), most: this.#options.most };
    const walked = await walk(places as readonly Position[], options, {
      view: () => chain.view(),
      clock,
    });
    if (!walked) throw errors.chainMoves();
    return walked;
  }

  /** @throws RpcError 503 while the chain is not followed yet. */
  async #liveView(caller: Waiting): Promise<ChainView> {
    const { chain } = this.#parts;
    const view = chain.view() ?? (await chain.liveView(caller.signal));
    if (!view) throw errors.noUpstream();
    return view;
  }

  #tellerOf(filter: OpenFilter): Teller {
    const known = this.#tellers.get(filter);
    if (known) return known;
    const { record } = filter;
    const teller = record.kind === "logs" ? logsOfBlocks(record.criteria) : hashesOfBlocks;
    this.#tellers.set(filter, teller);
    return teller;
  }

  /** @throws RpcError when there is no such filter of this key: unknown, ended, or of another key look the same. */
  async #find(id: string, holder: string): Promise<OpenFilter> {
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
  async #end(id: string): Promise<boolean> {
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

  /** Ends the filters that nobody polls any more. */
  async #sweep(): Promise<void> {
    const { state, clock } = this.#parts;
    let looked = 0;
    for (const { key, text } of await state.list(this.#prefix)) {
      const id = key.slice(this.#prefix.length);
      const usedAtMs = this.#open.get(id)?.usedAtMs ?? this.#lastUse(decodeFilter(text));
      if (this.#isOver(usedAtMs)) await this.#end(id);
      looked += 1;
      if (looked % SWEPT_AT_ONCE === 0) await clock.yield();
    }
  }

  #count(filter: Asked & { readonly holder: string }, by: 1 | -1): void {
    const { count, metrics } = this.#parts;
    count.add(filter.holder, by * weightOf(filter));
    this.#kinds[filter.kind] += by;
    metrics.filtersCounted(this.#options.network, this.#kinds);
  }
}

/** A filter of very many addresses and topics takes the room of several. */
const ALTERNATIVES_OF_ONE = 100;

function weightOf(asked: Asked): number {
  if (asked.kind !== "logs") return 1;
  const { address, topics } = asked.criteria;
  const alternatives = [address, ...(topics ?? [])].reduce(
    (sum, each) => sum + (Array.isArray(each) ? each.length : 1),
    0,
  );
  return Math.max(1, Math.ceil(alternatives / ALTERNATIVES_OF_ONE));
}
