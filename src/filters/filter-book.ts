// The filters of one network: made, polled, ended.
import type { Position } from "../chain/block-store.ts";
import type { Chain } from "../chain/chain.ts";
import type { ChainView } from "../chain/chain-view.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { orAborted } from "../lib/or-aborted.ts";
import type { Asked, Criteria, Cursor } from "./filter-record.ts";
import { KeptFilters, type KeptFiltersParts } from "./kept-filters.ts";
import type { Changes, Delivery, Look, OpenFilter } from "./open-filter.ts";
import type { PendingJournal } from "./pending-journal.ts";
import { Lost, type Teller, type Tellers, walk } from "./walk.ts";

export type FilterOptions = {
  readonly network: string;
  /** The most filters of one key, over all networks. */
  readonly perKey: number;
  /** About so many items are told at once. */
  readonly most: number;
};

export type FilterParts = KeptFiltersParts & {
  readonly chain: Pick<Chain, "view" | "liveView" | "headOfNodes">;
  readonly journal: PendingJournal;
  readonly tellers: Tellers;
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

export class FilterBook {
  readonly #kept: KeptFilters;
  readonly #tellers = new WeakMap<OpenFilter, Teller>();
  readonly #closing = new AbortController();
  readonly #options: FilterOptions;
  readonly #parts: FilterParts;

  constructor(options: FilterOptions, parts: FilterParts) {
    this.#kept = new KeptFilters(options, parts);
    this.#options = options;
    this.#parts = parts;
  }

  /** Takes up the filters that are kept. */
  async start(): Promise<void> {
    const records = await this.#kept.start();
    const pending = records.flatMap((record) =>
      record.kind === "pending" ? [record.told, ...record.unsure] : [],
    );
    await this.#parts.journal.start(pending.map(({ sequence }) => sequence));
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#kept.close();
    await this.#parts.journal.close();
  }

  /** @returns The id. @throws RpcError */
  create(asked: Asked, caller: Omit<FilterCaller, "delivery">): Promise<string> {
    return this.#kept.add(asked, caller.holder, () => this.#beginning(asked, caller));
  }

  /** What happened since the last poll. @throws RpcError */
  async changes(id: string, caller: FilterCaller): Promise<Changes> {
    const { clock } = this.#parts;
    const filter = await this.#kept.find(id, caller.holder);
    const look: Look = (places) => this.#look(filter, places, caller);
    try {
      const changes = await filter.poll(look, caller, clock.wallTime());
      if (changes) return changes;
    } catch (error) {
      if (!(error instanceof Lost)) throw error;
    }
    await this.#kept.end(id);
    throw errors.filterNotFound();
  }

  /** What a log filter asks for; it counts as used. @throws RpcError for filters of other kinds too. */
  async criteria(id: string, { holder }: Pick<FilterCaller, "holder">): Promise<Criteria> {
    const filter = await this.#kept.find(id, holder);
    if (filter.record.kind !== "logs") throw errors.filterNotFound();
    filter.usedAtMs = this.#parts.clock.wallTime();
    return filter.record.criteria;
  }

  /** @returns Whether there was such a filter of this key. */
  async remove(id: string, { holder }: Pick<FilterCaller, "holder">): Promise<boolean> {
    try {
      await this.#kept.find(id, holder);
    } catch {
      return false;
    }
    return this.#kept.end(id);
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
      const changes = at && journal.since(at.sequence, this.#options.most);
      if (!changes) throw new Lost();
      return changes;
    }
    await this.#liveView(caller);
    const options = { teller: this.#tellerOf(filter), most: this.#options.most };
    const walked = await walk(places as readonly Position[], options, {
      view: () => chain.view(),
      clock,
      within: (promise) => this.#within(promise, caller),
    });
    if (!walked) throw errors.chainMoves();
    return walked;
  }

  /** @throws RpcError 503 while the chain is not followed yet. */
  async #liveView(caller: Waiting): Promise<ChainView> {
    const { chain } = this.#parts;
    const view = chain.view() ?? (await this.#within(chain.liveView(caller.signal), caller));
    if (!view) throw errors.noUpstream();
    return view;
  }

  /** @throws RpcError when the caller's time is up, or the gateway stops. */
  #within<Value>(promise: Promise<Value>, caller: Waiting): Promise<Value> {
    const here = orAborted(promise, this.#closing.signal, errors.noUpstream);
    return orAborted(here, caller.signal, errors.upstreamTimeout);
  }

  #tellerOf(filter: OpenFilter): Teller {
    const known = this.#tellers.get(filter);
    if (known) return known;
    const { record } = filter;
    const { tellers } = this.#parts;
    const teller = record.kind === "logs" ? tellers.logs(record.criteria) : tellers.blocks;
    this.#tellers.set(filter, teller);
    return teller;
  }
}
