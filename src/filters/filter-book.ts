// Makes, polls and ends the filters of one network.

import type { ChainView, ViewSource } from "../chain/chain-view.ts";
import type { Reference } from "../chain/dialect.ts";
import type { Position } from "../chain/stored-block.ts";
import { toQuantity } from "../evm/values.ts";
import { isNull, type RawJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Signal } from "../lib/cancellation.ts";
import { mapConcurrently, orAborted, repeat } from "../lib/waiting.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Pool } from "../upstream/pool.ts";
import { waitForCursor } from "./cursor-wait.ts";
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
import { NodeChain } from "./node-chain.ts";
import { beginAt, type NodeFormatter, type NodeWalkParts, walkNodes } from "./node-walk.ts";
import type { Changes, Delivery, FindChanges, FoundItems, OpenFilter } from "./open-filter.ts";
import { PushedRecords } from "./pushed-record.ts";
import { retrace } from "./retrace.ts";
import {
  CursorLost,
  LOST_AFTER,
  LOST_AGAIN_AFTER_MS,
  type Within,
  walk,
  withPath,
} from "./walk.ts";

export type FilterLimits = {
  readonly perKey: KeptFiltersOptions["perKey"];
  /** About the number of items in one answer. */
  readonly most: number;
  /** Whether the items of followed blocks may only be of proven blocks (`proof: strict`). */
  readonly isStrict?: boolean;
};

export type FilterOptions = FilterLimits & KeptFiltersOptions;

export type FilterParts = KeptFiltersParts & {
  readonly metrics: Pick<Metrics, "filterWalkedNodes" | "filterUnserved">;
  readonly chain: Pick<ViewSource, "view" | "liveView" | "headOfNodes" | "reach"> &
    Partial<Pick<ViewSource, "whyStopped" | "storedView">>;
  readonly journal: MempoolFilters;
  readonly formatters: Formatters;
  /** Fetches whole transactions or blocks, for questions with `isWhole`, and the blocks that the store cannot give. */
  readonly pool?: Pick<Pool, "call">;
};

/** A caller, and the delivery of its answer. */
export type FilterCaller = {
  /** The name of the key. */
  readonly holder: string;
  /** By default the caller polls. */
  readonly manner?: FilterManner;
  readonly signal: Signal;
  readonly delivery: Delivery;
};

/** A caller that waits. The first read of its signal makes the signal. */
type Waiting = Pick<FilterCaller, "signal">;

/** The question of a filter, and its formatter. */
type AskedFormat = { readonly asked: FilterQuestion; readonly formatter: Formatter };

/** Finds the items of all subscriptions with the same question. Both functions throw CursorLost when no node has some block. */
export type ChangesFinder = {
  /** The matcher of a question for logs. */
  readonly matcher: Formatter["matcher"];
  /** The items since a client was at the cursor. */
  find(at: Cursor, caller: Waiting): Promise<Changes>;
  /** Finds the items of earlier changes again. */
  retrace(from: Cursor, to: Cursor, caller: Waiting): Promise<FoundItems>;
};

/** For whole transactions or blocks: the most items of changes that are found at once, and the most calls to nodes at the same time. */
const MOST_WHOLE = 64;
const ASKED_AT_ONCE = 8;

/** The pause between attempts to read the kept filters while the state is away, in milliseconds. */
const TAKEN_UP_AGAIN_AFTER_MS = 1_000;

export class FilterBook {
  readonly #kept: KeptFilters;
  /** Writes the records of subscriptions. */
  readonly records: Pick<PushedRecords, "write">;
  readonly #formatters = new WeakMap<OpenFilter, Formatter>();
  readonly #closing = new AbortController();
  #takingUp: Promise<void> | undefined;
  readonly #nodes: NodeChain | undefined;
  #options: FilterOptions;
  readonly #parts: FilterParts;

  constructor(options: FilterOptions, parts: FilterParts) {
    const { pool, clock } = parts;
    this.#nodes = pool && new NodeChain({ pool, clock, signal: this.#closing.signal });
    this.#kept = new KeptFilters(options, parts);
    this.records = new PushedRecords(parts);
    this.#options = options;
    this.#parts = parts;
  }

  reconfigure(limits: FilterLimits): void {
    this.#options = { ...this.#options, ...limits };
    this.#kept.reconfigure(limits);
  }

  /** Reads the kept filters. While the state is away, the book begins without them and reads them later. */
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

  /** Makes a filter. @param caller.by The name of the pusher of a subscription. @throws RpcError */
  begin(
    asked: FilterQuestion,
    caller: Pick<FilterCaller, "holder" | "signal"> & { readonly by?: string },
  ): Promise<KeptFilter> {
    return this.#kept.add(asked, caller, () => this.#beginning(asked, caller));
  }

  /** A subscription; undefined when this key has none with the id. @throws RpcError while the state is away. */
  pushed(id: string, holder: string): Promise<KeptFilter | undefined> {
    return this.#kept.pushed(id, holder);
  }

  /** The finder of changes for all subscriptions with this question. */
  changesFinderFor(asked: FilterQuestion): ChangesFinder {
    const { pushedLogs } = this.#parts.formatters;
    const formatter =
      asked.kind === "logs" && pushedLogs ? pushedLogs(asked.criteria) : this.#formatterFor(asked);
    const told = { asked, formatter };
    const whole = async <Items extends Pick<Changes, "items">>(found: Items, caller: Waiting) =>
      asked.isWhole ? { ...found, items: await this.#completed(found.items, caller) } : found;
    return {
      matcher: formatter.matcher,
      find: async (at, caller) =>
        whole(await this.#counted("pushed", this.#findChanges(told, [at], caller)), caller),
      retrace: async (from, to, caller) =>
        whole(await this.#counted("pushed", this.#retrace(told, [from, to], caller)), caller),
    };
  }

  /**
   * The items since the last poll.
   * @param check Throws when the key may no longer have such a filter.
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
    const findChanges: FindChanges = (cursors) =>
      this.#counted("polled", this.#findChanges(told, cursors, caller));
    try {
      const changes = await filter.poll(findChanges, caller, clock.wallTime());
      if (changes) return changes;
    } catch (error) {
      if (!(error instanceof CursorLost)) throw error;
      await this.#kept.end(id);
      const { acknowledged: at } = filter.record;
      throw "number" in at ? errors.filterLost(toQuantity(at.number)) : errors.filterNotFound();
    }
    await this.#kept.end(id);
    throw errors.filterNotFound();
  }

  /**
   * The criteria of a log filter. The call counts as a use of the filter.
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

  /** Ends a filter. @returns Whether the key had this filter. @throws RpcError */
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
      record.kind === "pending" ? [record.acknowledged, ...record.unacknowledged] : [],
    );
    await this.#parts.journal.start(pending.map(({ sequence }) => sequence));
  }

  async #beginning(asked: FilterQuestion, caller: Waiting): Promise<Cursor> {
    if (asked.kind === "pending") return { sequence: await this.#parts.journal.begin(caller) };
    const { chain } = this.#parts;
    const seen = chain.view();
    if (seen && !seen.isBehind) return this.#cursorAt(seen.head, asked, seen);
    const passing = this.#passing(this.#formatterFor(asked), caller);
    if (passing) return beginAt(await passing.within(passing.nodes.head()), passing);
    // Blocks after the nodes' own head are new to the client, also before the gateway follows the chain, and while the
    // nodes may be ahead of the chain.
    const head = await chain.headOfNodes(caller.signal);
    if (!head) {
      const view = await this.#liveView(caller);
      return this.#cursorAt(view.head, asked, view);
    }
    // A filter must not begin at a block that the store never had: after a reorg no node could give the block, and the
    // walk would be lost.
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

  async #findChanges(
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
      if (!changes) throw new CursorLost();
      return changes;
    }
    const positions = cursors as readonly CursorPosition[];
    const passing = this.#passing(formatter, caller);
    if (passing) return this.#walkNodes(positions, most, passing);
    const within = await this.#reach(positions, caller);
    const walked = await walk(
      positions,
      { formatter, most, isShared },
      { view: () => chain.view(), clock, within, nodes: this.#unprovenBlocks },
    );
    if (!walked) throw errors.chainMoves();
    return walked;
  }

  /** The nodes as the source of blocks that cannot be taken into the store. */
  get #unprovenBlocks(): NodeChain | undefined {
    return this.#options.isStrict ? undefined : this.#nodes;
  }

  /**
   * The parts of walks over the nodes' chain; undefined while the chain is followed, or is about to be.
   * Nodes know no executed epochs with their blocks' logs together, so on epoch networks there are none either.
   */
  #passing(formatter: Formatter, caller: Waiting): NodeWalkParts | undefined {
    const { chain } = this.#parts;
    const nodes = this.#nodes;
    if (!nodes || !isNodeFormatter(formatter)) return undefined;
    if (chain.whyStopped === undefined || chain.view()) return undefined;
    const within: Within = (promise) => this.#within(promise, caller);
    return { nodes, formatter, stored: chain.storedView?.(), within };
  }

  async #walkNodes(
    cursors: readonly CursorPosition[],
    most: number,
    parts: NodeWalkParts,
  ): Promise<Changes> {
    const { clock, metrics } = this.#parts;
    for (let attempt = 1; ; attempt += 1) {
      try {
        const walked = await walkNodes(cursors, { most }, parts);
        metrics.filterWalkedNodes(this.#options.network);
        return walked;
      } catch (error) {
        // A node may lag behind another one.
        if (!(error instanceof CursorLost) || attempt === LOST_AFTER) throw error;
        await parts.within(clock.sleep(LOST_AGAIN_AFTER_MS));
      }
    }
  }

  /** Counts the walks that could not be made: the caller of a poll gets an error, a subscription tries again. */
  async #counted<Found>(manner: FilterManner, finding: Promise<Found>): Promise<Found> {
    try {
      return await finding;
    } catch (error) {
      this.#parts.metrics.filterUnserved(this.#options.network, manner);
      throw error;
    }
  }

  /** Fetches the whole items of the hashes. @throws RpcError when the gateway could not ask the nodes. */
  #completed(hashes: readonly RawJson[], { signal }: Waiting): Promise<RawJson[]> {
    const { formatters, pool } = this.#parts;
    const { method, params, told } = formatters.whole;
    return mapConcurrently(hashes, ASKED_AT_ONCE, async (item) => {
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
  ): Promise<FoundItems> {
    if (asked.kind === "pending") {
      const [first, end] = [from, to] as { sequence: number }[];
      const length = (end?.sequence ?? 0) - (first?.sequence ?? 0);
      const changes = await this.#parts.journal.since(first?.sequence ?? 0, length);
      if (changes?.items.length !== length) throw new CursorLost();
      return changes;
    }
    const ends = [from, to] as readonly [CursorPosition, CursorPosition];
    const passing = this.#passing(formatter, caller);
    const within = passing?.within ?? (await this.#reach(ends, caller));
    for (let attempt = 1; ; attempt += 1) {
      const view = passing?.stored ?? (await this.#liveView(caller));
      const nodes = passing?.nodes ?? this.#unprovenBlocks;
      const fetch = async (wanted: Reference) =>
        passing ? ("unknown" as const) : within(view.fetch(wanted));
      try {
        const reader = { view, formatter, within, nodes, fetch };
        return await retrace({ from: ends[0], to: ends[1] }, reader);
      } catch (error) {
        // A reorg may have happened meanwhile, or a node may have lagged behind this gateway.
        if (!(error instanceof CursorLost) || attempt === LOST_AFTER) throw error;
        await within(this.#parts.clock.sleep(LOST_AGAIN_AFTER_MS));
      }
    }
  }

  /** Waits until the chain has reached the cursors. @returns A function that ends waits at the caller's deadline. */
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

  /** @throws RpcError 503 while the gateway does not follow the chain yet. */
  async #liveView(caller: Waiting): Promise<ChainView> {
    const { chain } = this.#parts;
    const view = chain.view() ?? (await this.#within(chain.liveView(caller.signal), caller));
    if (view) return view;
    const { whyStopped } = chain;
    throw whyStopped === undefined ? errors.noUpstream() : errors.chainNotFollowed(whyStopped);
  }

  /** @throws RpcError when the caller's deadline passes, or the gateway stops. */
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

const isNodeFormatter = (formatter: Formatter): formatter is NodeFormatter =>
  formatter.addedByNodes !== undefined;

/** Whether the store has the chain at this height, but never had this block. */
const isDroppedUnseen = ({ number, hash }: Position, view: ChainView): boolean =>
  number >= view.tail && number <= view.head.number && !view.droppedBlock(hash);
