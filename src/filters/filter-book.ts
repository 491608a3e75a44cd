// The filters of one network: they are made, polled and ended here.

import type { ChainView, ViewSource } from "../chain/chain-view.ts";
import type { Position } from "../chain/stored-block.ts";
import { isNull, type RawJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Signal } from "../lib/cancellation.ts";
import { inBatches, orAborted, repeat } from "../lib/waiting.ts";
import type { Pool } from "../upstream/pool.ts";
import {
  type Criteria,
  type Cursor,
  type CursorPosition,
  type FilterManner,
  type FilterQuestion,
  mannerOf,
} from "./filter-record.ts";
import type { Formatter, Formatters } from "./formatters.ts";
import {
  type KeptFilter,
  KeptFilters,
  type KeptFiltersOptions,
  type KeptFiltersParts,
} from "./kept-filters.ts";
import type { MempoolFilters } from "./mempool-reader.ts";
import type { Changes, Delivery, Look, OpenFilter } from "./open-filter.ts";
import { PushedRecords } from "./pushed-record.ts";
import { retrace } from "./retrace.ts";
import {
  LOST_AFTER,
  LOST_AGAIN_AFTER_MS,
  Lost,
  type Within,
  waitForCursor,
  walk,
  withPath,
} from "./walk.ts";

export type FilterLimits = {
  readonly perKey: KeptFiltersOptions["perKey"];
  /** About how many items one answer has. */
  readonly most: number;
};

export type FilterOptions = FilterLimits & KeptFiltersOptions;

export type FilterParts = KeptFiltersParts & {
  readonly chain: Pick<ViewSource, "view" | "liveView" | "headOfNodes" | "reach"> & {
    readonly whyStopped?: ViewSource["whyStopped"];
  };
  readonly journal: MempoolFilters;
  readonly formatters: Formatters;
  /** Left out: no whole transactions or blocks are told. */
  readonly pool?: Pick<Pool, "call">;
};

/** A caller, and how the answer reaches it. */
export type FilterCaller = {
  /** The name of the key. */
  readonly holder: string;
  /** Left out: the caller polls. */
  readonly manner?: FilterManner;
  readonly signal: Signal;
  readonly delivery: Delivery;
};

/** The caller's signal is made when it is read for the first time. */
type Waiting = Pick<FilterCaller, "signal">;

/** The question of a filter, and its formatter. */
type AskedFormat = { readonly asked: FilterQuestion; readonly formatter: Formatter };

/**
 * Makes what all subscriptions with the same question are told. Each function throws Lost when some block cannot be had
 * any more.
 */
export type LookMaker = {
  /** Which logs, if the question is for logs. */
  readonly matcher: Formatter["matcher"];
  /** The items since a client was at the cursor. */
  look(at: Cursor, caller: Waiting): Promise<Changes>;
  /** Makes the items of an earlier look again. */
  retrace(from: Cursor, to: Cursor, caller: Waiting): Promise<Pick<Changes, "items" | "more">>;
};

/**
 * Where whole transactions or blocks are told: how many items a look has, and how many calls to nodes run at the same
 * time.
 */
const MOST_WHOLE = 64;
const ASKED_AT_ONCE = 8;

/** While the state is away, it is tried again after this time, in milliseconds. */
const TAKEN_UP_AGAIN_AFTER_MS = 1_000;

export class FilterBook {
  readonly #kept: KeptFilters;
  /** Writes the records of subscriptions. */
  readonly records: Pick<PushedRecords, "write">;
  readonly #formatters = new WeakMap<OpenFilter, Formatter>();
  readonly #closing = new AbortController();
  #takingUp: Promise<void> | undefined;
  #options: FilterOptions;
  readonly #parts: FilterParts;

  constructor(options: FilterOptions, parts: FilterParts) {
    this.#kept = new KeptFilters(options, parts);
    this.records = new PushedRecords(parts);
    this.#options = options;
    this.#parts = parts;
  }

  reconfigure(limits: FilterLimits): void {
    this.#options = { ...this.#options, ...limits };
    this.#kept.reconfigure(limits);
  }

  /** Reads the filters that are kept. While the state is away, the book begins without them and reads them later. */
  async start(): Promise<void> {
    this.#kept.start();
    await this.#takeUp().catch(() => {
      this.#takingUp = this.#takeUpLater();
    });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#takingUp;
    await this.#kept.close();
    await this.#parts.journal.close();
  }

  /** @returns The id. @throws RpcError */
  async create(
    asked: FilterQuestion,
    caller: Pick<FilterCaller, "holder" | "signal">,
  ): Promise<string> {
    return (await this.#kept.add(asked, caller, () => this.#beginning(asked, caller))).id;
  }

  /** Makes a subscription. @param caller.by The name of what pushes it. @throws RpcError */
  begin(
    asked: FilterQuestion,
    caller: Pick<FilterCaller, "holder" | "signal"> & { readonly by: string },
  ): Promise<KeptFilter> {
    return this.#kept.add(asked, caller, () => this.#beginning(asked, caller));
  }

  /** A subscription of this key; undefined when there is none. @throws RpcError while the state is away. */
  pushed(id: string, holder: string): Promise<KeptFilter | undefined> {
    return this.#kept.pushed(id, holder);
  }

  /** Makes what all subscriptions with this question are told. */
  lookMakerFor(asked: FilterQuestion): LookMaker {
    const { pushedLogs } = this.#parts.formatters;
    const formatter =
      asked.kind === "logs" && pushedLogs ? pushedLogs(asked.criteria) : this.#formatterFor(asked);
    const told = { asked, formatter };
    const whole = async <Items extends Pick<Changes, "items">>(found: Items, caller: Waiting) =>
      asked.isWhole ? { ...found, items: await this.#completed(found.items, caller) } : found;
    return {
      matcher: formatter.matcher,
      look: async (at, caller) => whole(await this.#look(told, [at], caller), caller),
      retrace: async (from, to, caller) =>
        whole(await this.#retrace(told, [from, to], caller), caller),
    };
  }

  /**
   * The items since the last poll.
   * @param check Throws when the caller is no longer allowed to have such a filter.
   * @throws RpcError
   */
  async changes(
    id: string,
    caller: FilterCaller,
    check: (asked: FilterQuestion) => void,
  ): Promise<Changes> {
    const { clock } = this.#parts;
    const filter = await this.#kept.find(id, caller.holder);
    if (!filter || filter.record.isPushed) throw errors.filterNotFound();
    check(filter.record);
    const told = { asked: filter.record, formatter: this.#formatterOf(filter) };
    const look: Look = (cursors) => this.#look(told, cursors, caller);
    try {
      const changes = await filter.poll(look, caller, clock.wallTime());
      if (changes) return changes;
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
    }
    await this.#kept.end(id);
    throw errors.filterNotFound();
  }

  /**
   * The criteria of a log filter. Asking for them counts as a use.
   * @throws RpcError, also for filters of other kinds.
   */
  async criteria(
    id: string,
    { holder }: Pick<FilterCaller, "holder">,
    check: (asked: FilterQuestion) => void,
  ): Promise<Criteria> {
    const filter = await this.#kept.find(id, holder);
    if (filter?.record.kind !== "logs" || filter.record.isPushed) throw errors.filterNotFound();
    check(filter.record);
    if (!(await filter.use(this.#parts.clock.wallTime()))) throw errors.filterNotFound();
    return filter.record.criteria;
  }

  /** @returns Whether there was such a filter of this key. @throws RpcError */
  async remove(
    id: string,
    { holder, manner = "polled" }: Pick<FilterCaller, "holder" | "manner">,
  ): Promise<boolean> {
    const filter = await this.#kept.find(id, holder);
    return filter !== undefined && mannerOf(filter.record) === manner && this.#kept.end(id);
  }

  async #takeUpLater(): Promise<void> {
    const done = new AbortController();
    const signal = AbortSignal.any([this.#closing.signal, done.signal]);
    const takeUp = (): Promise<void> => this.#takeUp().then(() => done.abort());
    await repeat(TAKEN_UP_AGAIN_AFTER_MS, takeUp, { clock: this.#parts.clock, signal });
  }

  async #takeUp(): Promise<void> {
    const records = await this.#kept.takeUp();
    const pending = records.flatMap((record) =>
      record.kind === "pending" ? [record.told, ...record.unsure] : [],
    );
    await this.#parts.journal.start(pending.map(({ sequence }) => sequence));
  }

  async #beginning(asked: FilterQuestion, caller: Waiting): Promise<Cursor> {
    if (asked.kind === "pending") return { sequence: await this.#parts.journal.begin(caller) };
    const { chain } = this.#parts;
    const seen = chain.view();
    if (seen && !seen.isBehind) return this.#cursorAt(seen.head, asked, seen);
    // What comes after the nodes' own head is new, also before the chain is followed, and while the nodes may be ahead
    // of it.
    const head = await chain.headOfNodes(caller.signal);
    if (!head) {
      const view = await this.#liveView(caller);
      return this.#cursorAt(view.head, asked, view);
    }
    // A filter must not begin at a block that the store never had: if the nodes drop the block, there is no way back
    // from it.
    await this.#within(chain.reach(head.number, caller.signal), caller);
    const view = chain.view();
    if (!view) return { number: head.number, hash: head.hash };
    return this.#cursorAt(isDroppedUnseen(head, view) ? view.head : head, asked, view);
  }

  #cursorAt({ number, hash }: Position, asked: FilterQuestion, view: ChainView): CursorPosition {
    return this.#options.isShared
      ? withPath({ number, hash }, this.#formatterFor(asked), view)
      : { number, hash };
  }

  async #look(
    { asked, formatter }: AskedFormat,
    cursors: readonly Cursor[],
    caller: Waiting,
  ): Promise<Changes> {
    const { chain, clock, journal } = this.#parts;
    const { isShared } = this.#options;
    const most = asked.isWhole ? MOST_WHOLE : this.#options.most;
    if (asked.kind === "pending") {
      const [at] = cursors as readonly { sequence: number }[];
      const changes = at && (await journal.since(at.sequence, most));
      if (!changes) throw new Lost();
      return changes;
    }
    const within = await this.#reach(cursors as readonly Position[], caller);
    const options = { formatter, most, isShared };
    const walked = await walk(cursors as readonly Position[], options, {
      view: () => chain.view(),
      clock,
      within,
    });
    if (!walked) throw errors.chainMoves();
    return walked;
  }

  /** @throws RpcError when the nodes could not be asked. */
  #completed(hashes: readonly RawJson[], { signal }: Waiting): Promise<RawJson[]> {
    const { formatters, pool } = this.#parts;
    const { method, params, told } = formatters.whole;
    return inBatches(hashes, ASKED_AT_ONCE, async (item) => {
      const hash = String(item);
      const asked = `[${[hash, ...params.map((each) => JSON.stringify(each))].join(",")}]`;
      const result = await pool?.call(method, asked, signal);
      const whole = told(result && !isNull(result) ? result : undefined, hash);
      if (whole === undefined) throw errors.noUpstream();
      return whole;
    });
  }

  async #retrace(
    { asked, formatter }: AskedFormat,
    [from, to]: readonly [Cursor, Cursor],
    caller: Waiting,
  ): Promise<Pick<Changes, "items" | "more">> {
    if (asked.kind === "pending") {
      const [first, end] = [from, to] as { sequence: number }[];
      const length = (end?.sequence ?? 0) - (first?.sequence ?? 0);
      const changes = await this.#parts.journal.since(first?.sequence ?? 0, length);
      if (changes?.items.length !== length) throw new Lost();
      return changes;
    }
    const ends = [from, to] as readonly [CursorPosition, CursorPosition];
    const within = await this.#reach(ends, caller);
    for (let attempt = 1; ; attempt += 1) {
      const view = await this.#liveView(caller);
      try {
        return await retrace({ from: ends[0], to: ends[1] }, formatter, { view, within });
      } catch (error) {
        // The chain may have been reorganised meanwhile, or a node may have been behind us.
        if (!(error instanceof Lost) || attempt === LOST_AFTER) throw error;
        await within(this.#parts.clock.sleep(LOST_AGAIN_AFTER_MS));
      }
    }
  }

  /** Waits until the chain has reached the cursors. @returns What ends a wait when the caller's time is up. */
  async #reach(cursors: readonly Position[], caller: Waiting): Promise<Within> {
    const { chain, clock } = this.#parts;
    const within: Within = (promise) => this.#within(promise, caller);
    await waitForCursor(cursors, this.#options, {
      view: () => this.#liveView(caller),
      headOfNodes: () => chain.headOfNodes(caller.signal),
      ...{ clock, caller, within },
    });
    return within;
  }

  /** @throws RpcError 503 while the chain is not followed yet. */
  async #liveView(caller: Waiting): Promise<ChainView> {
    const { chain } = this.#parts;
    const view = chain.view() ?? (await this.#within(chain.liveView(caller.signal), caller));
    if (view) return view;
    const { whyStopped } = chain;
    throw whyStopped === undefined ? errors.noUpstream() : errors.chainNotFollowed(whyStopped);
  }

  /** @throws RpcError when the caller's time is up, or the gateway stops. */
  #within<Value>(promise: Promise<Value>, caller: Waiting): Promise<Value> {
    const here = orAborted(promise, this.#closing.signal, errors.noUpstream);
    return orAborted(here, caller.signal, errors.upstreamTimeout);
  }

  #formatterOf(filter: OpenFilter): Formatter {
    const known = this.#formatters.get(filter);
    if (known) return known;
    const formatter = this.#formatterFor(filter.record);
    this.#formatters.set(filter, formatter);
    return formatter;
  }

  #formatterFor(asked: FilterQuestion): Formatter {
    const { formatters } = this.#parts;
    if (asked.kind === "logs") return formatters.logs(asked.criteria);
    return asked.kind === "heads" ? formatters.heads : formatters.blocks;
  }
}

/** Whether the store has the chain at this height and never had this block. */
const isDroppedUnseen = ({ number, hash }: Position, view: ChainView): boolean =>
  number >= view.tail && number <= view.head.number && !view.droppedBlock(hash);
