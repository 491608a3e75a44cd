// The parts of one network, joined: upstreams → chain → filters → methods.
import { join } from "node:path";
import type { Logger } from "pino";
import type { Grant } from "./access/keys/key-ring.ts";
import { shownUpstream } from "./admin/admin-parts.ts";
import type { Status } from "./admin/schemas.ts";
import { Chain } from "./chain/chain.ts";
import { ChainReader } from "./chain/chain-reader.ts";
import type { ViewSource } from "./chain/chain-view.ts";
import { blockDialect } from "./chain/fetch-block.ts";
import { epochDialect } from "./chain/fetch-epoch.ts";
import { HeadFreshness, type Staleness } from "./chain/freshness.ts";
import type { OddPart } from "./chain/odd-parts.ts";
import { chainOf } from "./config/known-chains.ts";
import type { NetworkSettings } from "./config/schema.ts";
import { FilterBook } from "./filters/filter-book.ts";
import { blockFormatters, epochFormatters } from "./filters/formatters.ts";
import type { KeptFiltersOptions } from "./filters/kept-filters.ts";
import { MempoolJournal } from "./filters/mempool-journal.ts";
import { MempoolReader } from "./filters/mempool-reader.ts";
import { RelayedSubscriptions } from "./filters/relayed-subscriptions.ts";
import { Subscriptions } from "./filters/subscriptions.ts";
import type { Clock } from "./lib/clock.ts";
import type { MemoryBudget } from "./lib/memory-budget.ts";
import { UseCount } from "./lib/mutex.ts";
import type { Turns } from "./lib/turns.ts";
import { type Catalogue, catalogueFor, traitsOf } from "./methods/catalogue.ts";
import { openRpcDocument } from "./methods/describe.ts";
import type { Method, NetworkFacts } from "./methods/method.ts";
import { keptNetwork, type NetworkRole, shareOf, stateFor } from "./network/role.ts";
import type { Metrics } from "./observe/metrics.ts";
import type { State } from "./state/state.ts";
import { Coalescing } from "./upstream/asking/coalescing.ts";
import { connect } from "./upstream/connection/connect.ts";
import { Head, HeadWatch } from "./upstream/head.ts";
import { LearnedRange } from "./upstream/learned-range.ts";
import { Pool, type PoolChange, type PoolOptions } from "./upstream/pool.ts";

type NetworkStatus = Status["networks"][number];

export type NetworkParts = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly state: State;
  readonly memory: MemoryBudget;
  readonly turns: Turns;
  readonly role: NetworkRole;
  /** Whether other gateways use the same state. */
  readonly isShared: boolean;
};

/** The settings of a network, and the settings of the gateway that apply to it. */
type NetworkPlan = {
  readonly settings: NetworkSettings;
  readonly filtersPerKey: KeptFiltersOptions["perKey"];
};

/** How long `/readyz` waits for a node to tell its head, in milliseconds. */
const READINESS_TIMEOUT_MS = 2_000;

/** How each family's chain is followed. An epoch has no hash over its executed transactions, so it cannot be proven. */
const followed = {
  evm: {
    dialect: blockDialect,
    canBeProven: true,
    formatters: () => blockFormatters,
    prefix: "eth",
  },
  conflux: {
    dialect: epochDialect,
    canBeProven: false,
    formatters: epochFormatters,
    prefix: "cfx",
  },
} as const;

const factsOf = (
  name: string,
  { family, chainId, proof, totalDifficulty, pending, limits }: NetworkSettings,
): NetworkFacts => ({ name, family, chainId, proof, totalDifficulty, pending, limits });

const poolOptions = (
  network: string,
  settings: NetworkSettings,
  role: NetworkRole,
): PoolOptions => {
  const { family, chainId, limits, hedging, toleratedLag, agreement, broadcast } = settings;
  const { responseBytes } = limits;
  const upstreams = settings.upstreams.map((upstream) => shareOf(upstream, role));
  const dispatching = { hedging, toleratedLag, agreement, broadcast };
  return { network, family, chainId, upstreams, responseBytes, ...dispatching };
};

/** The epochs that Conflux nodes take in one log query, until a node's refusal tells another limit. */
const USUAL_EPOCHS = 1_000;

const rangesFor = ({ limits }: NetworkSettings): LearnedRange =>
  new LearnedRange(limits.logs.blocks ?? USUAL_EPOCHS);

const storeOptions = ({ family, window, proof, limits, upstreams }: NetworkSettings) => ({
  windowBlocks: window.blocks,
  bytes: window.size,
  proof: followed[family].canBeProven ? proof : ("off" as const),
  limits: limits.block,
  upstreams: upstreams.map(({ name }) => name),
});

const staleText = (head: number, { kind, ms }: Staleness): string => {
  const seconds = Math.round(ms / 1000);
  return kind === "old"
    ? `the head, ${head}, is ${seconds} s old`
    : `no node confirmed the head, ${head}, for ${seconds} s`;
};

const oddText = ({ part, reason, block, upstream, count }: OddPart): string =>
  `odd ${part}, served without its proof (${count} blocks; ${upstream}, block ${block}: ${reason})`;

export class Network {
  /** The requests under way. A reload that removes the network waits for them before it closes the network. */
  readonly requests = new UseCount();
  facts: NetworkFacts;
  catalogue: Catalogue;
  readonly pool: Pool;
  readonly coalescing: Coalescing;
  readonly head: Head;
  /** Asks the nodes for their heads; undefined where a chain is followed. */
  readonly #headWatch: HeadWatch | undefined;
  ranges: LearnedRange;
  /** undefined where no chain is followed. */
  readonly chain: ViewSource | undefined;
  readonly #source: Chain | ChainReader | undefined;
  /** undefined where no chain is followed. */
  readonly filters: FilterBook | undefined;
  /** undefined where no chain is followed. */
  readonly subscriptions: Subscriptions | undefined;
  readonly relayed: RelayedSubscriptions;
  /** Links the chain to other processes: the writer sends chain updates to the servers, a server receives them. */
  #link: () => () => void = () => () => undefined;
  #unlink: () => void = () => undefined;
  #stopTelling: (() => void) | undefined;
  readonly #role: NetworkRole;
  /** The OpenRPC document for each key, made at the first request for it. */
  #documents = new WeakMap<Grant, string>();
  readonly #freshness: HeadFreshness;
  #headAgeMs: number | undefined;
  readonly #clock: Clock;

  constructor(options: NetworkPlan & { name: string; data: string }, parts: NetworkParts) {
    const { name, settings, data } = options;
    const { family, chainId, limits, methods, headAgeMs } = settings;
    const { clock, memory, turns, metrics, state } = parts;
    const log = parts.log.child({ network: name });
    this.facts = factsOf(name, settings);
    this.catalogue = catalogueFor({ family, ...methods });
    const { role } = parts;
    this.#role = role;
    const poolState = stateFor(role, state);
    this.pool = new Pool(poolOptions(name, settings, role), {
      ...{ clock, log, metrics, memory, turns },
      connect: (to, own) => connect(to, { ...own, memory, turns }),
      state: poolState,
      traitsOf: traitsOf(family),
      onLie: (upstream) => this.#source?.distrust(upstream),
    });
    this.coalescing = new Coalescing(this.pool);
    this.head = new Head({ family }, { upstream: this.pool });
    this.ranges = rangesFor(settings);
    const { dialect, formatters, prefix } = followed[family];
    const { pool } = this;
    const store = { path: join(data, name), chainId, finalAfter: chainOf(settings)?.finalAfter };
    const isFollowed = settings.window.blocks > 0;
    const filterOptions = {
      network: name,
      perKey: options.filtersPerKey,
      most: limits.logs.results,
      isStrict: settings.proof === "strict",
      isShared: parts.isShared || role.kind !== "whole",
      sweeps: role.kind !== "server",
    };
    const freshness = new HeadFreshness({ ...settings, network: name }, { clock, log, metrics });
    this.#freshness = freshness;
    const filterParts = { state, formatters: formatters(chainId), clock, metrics, pool };
    let journal: MempoolReader | MempoolJournal | undefined;
    if (isFollowed && role.kind === "server") {
      const writer = role.writerOf(name);
      const reader = new ChainReader(store, { pool, dialect, writer, clock, turns, freshness });
      journal = new MempoolReader({ network: name }, { writer, state, clock });
      this.#source = reader;
      this.#link = () => writer.onNews((news) => reader.hear(news));
    } else if (isFollowed) {
      const follower = new Chain(
        { network: name, ...store, ...storeOptions(settings) },
        {
          ...{ pool, dialect, clock, turns, log, metrics, freshness },
          thread: role.kind === "whole" ? role.thread : undefined,
        },
      );
      const own = new MempoolJournal({ network: name, prefix }, { pool, state, clock });
      journal = own;
      this.#source = follower;
      if (role.kind === "writer") this.#link = () => role.serve(name, keptNetwork(follower, own));
    }
    const chain = this.#source?.views;
    const filters =
      chain && journal && new FilterBook(filterOptions, { ...filterParts, chain, journal });
    this.chain = chain;
    this.filters = filters;
    this.subscriptions =
      filters && chain && new Subscriptions({ prefix }, { filters, chain, clock });
    const relayOptions = { network: name, prefix, perKey: options.filtersPerKey.pushed };
    this.relayed = new RelayedSubscriptions(relayOptions, { pool, clock, chain, metrics });
    this.#headWatch = chain ? undefined : new HeadWatch({ family }, { pool, clock });
    this.#headAgeMs = headAgeMs;
    this.#clock = clock;
  }

  /** Starts to probe the upstreams and to follow their chain; both go on in the background. */
  async start(): Promise<void> {
    await this.pool.start();
    this.#headWatch?.start();
    await this.#source?.start();
    await this.filters?.start();
    this.#stopTelling = this.#source?.onUpdate(() => this.subscriptions?.look());
    this.#unlink = this.#link();
    this.#freshness.start();
  }

  async close(): Promise<void> {
    this.#freshness.close();
    this.#unlink();
    this.#stopTelling?.();
    this.relayed.close();
    await this.subscriptions?.close();
    await this.filters?.close();
    await this.#source?.close();
    await this.#headWatch?.close();
    await this.pool.close();
  }

  /** Calls `listener` when the followed chain may have changed. @returns A function that ends these calls. */
  onUpdate(listener: () => void): () => void {
    return this.#source?.onUpdate(listener) ?? (() => undefined);
  }

  /** Whether this network can take these settings while it runs; else a new `Network` must replace it. */
  canBecome({ family, chainId, window }: NetworkSettings): boolean {
    const isFollowed = window.blocks > 0;
    const { facts, chain } = this;
    return (
      facts.family === family && facts.chainId === chainId && isFollowed === (chain !== undefined)
    );
  }

  /** Prepares the nodes of other settings. Callers notice nothing before the change is committed. */
  async prepare(next: NetworkPlan): Promise<PoolChange> {
    const { name } = this.facts;
    const nodes = await this.pool.prepare(poolOptions(name, next.settings, this.#role));
    const commit = (withinMs: number): void => {
      nodes.commit(withinMs);
      this.#reconfigure(next);
    };
    return { commit, cancel: () => nodes.cancel() };
  }

  #reconfigure({ settings, filtersPerKey: perKey }: NetworkPlan): void {
    const { family, limits, methods, headAgeMs, proof } = settings;
    const { blocks, results: most } = limits.logs;
    if (blocks !== this.facts.limits.logs.blocks) this.ranges = rangesFor(settings);
    this.facts = factsOf(this.facts.name, settings);
    this.catalogue = catalogueFor({ family, ...methods });
    this.#documents = new WeakMap();
    this.#headAgeMs = headAgeMs;
    this.#freshness.reconfigure(settings);
    this.#source?.reconfigure(storeOptions(settings));
    this.filters?.reconfigure({ perKey, most, isStrict: proof === "strict" });
    this.relayed.reconfigure({ perKey: perKey.pushed });
  }

  /** The OpenRPC document of this network with the methods that the key may call. */
  describe(grant: Grant): string {
    const known = this.#documents.get(grant);
    if (known) return known;
    const { name: network, chainId } = this.facts;
    const { methods, forwarded } = this.catalogue;
    const offered = (all: readonly Method[]): readonly Method[] =>
      all.filter((method) => grant.scope.offers(method));
    const options = { network, chainId, methods: offered(methods), forwarded: offered(forwarded) };
    const document = JSON.stringify(openRpcDocument(options));
    this.#documents.set(grant, document);
    return document;
  }

  /** The status of this network for operators. */
  async status(): Promise<NetworkStatus> {
    const { name: network, family, chainId } = this.facts;
    const why = await this.whyNotReady();
    const usableNodes = this.pool.nodes.filter(({ state }) => state === "usable");
    const usable = new Set(usableNodes.map(({ name }) => name));
    const upstreams = this.pool
      .snapshots()
      .map((snapshot) => shownUpstream(snapshot, usable.has(snapshot.upstream)));
    const view = this.chain?.view();
    const head = view?.newest.number;
    const leader = view?.leader;
    const isReady = why === undefined;
    const notes = [...this.notes(), ...(this.#source?.remarks.odd ?? []).map(oddText)];
    const more = notes.length > 0 ? { notes } : {};
    return {
      network,
      family,
      chainId,
      isReady,
      whyNotReady: why,
      ...more,
      head,
      leader,
      upstreams,
    };
  }

  /** Why this network is not as it should be although it can serve, in words. */
  notes(): readonly string[] {
    if (!this.#source) return [];
    const { isPassingThrough, whyBehind } = this.#source.remarks;
    const why = this.chain?.whyStopped;
    return [
      ...(isPassingThrough && why !== undefined ? [`calls go to the nodes: ${why}`] : []),
      ...(whyBehind === undefined ? [] : [`the followed chain is far behind: ${whyBehind}`]),
    ];
  }

  /** Why this network cannot serve now; undefined when it can: it has a head that is young enough. */
  async whyNotReady(): Promise<string | undefined> {
    const { name } = this.facts;
    const whyStopped = this.chain?.whyStopped;
    // While the chain cannot be followed, the nodes answer: the network is as ready as they are.
    if (whyStopped !== undefined && !this.#source?.remarks.isPassingThrough)
      return `${name}: the store cannot be written and the chain is not followed: ${whyStopped}`;
    const view = this.chain?.view();
    if (view) {
      const staleness = this.#freshness.look();
      if (!staleness) return undefined;
      const whyStuck = this.#source instanceof Chain ? this.#source.whyStuck : undefined;
      const why = whyStuck === undefined ? "" : `: ${whyStuck}`;
      return `${name}: ${staleText(view.head.number, staleness)}${why}`;
    }
    try {
      const head = await this.head.read(AbortSignal.timeout(READINESS_TIMEOUT_MS));
      const ageMs = this.#clock.wallTime() - head.timestampMs;
      if (this.#headAgeMs === undefined || ageMs <= this.#headAgeMs) return undefined;
      return `${name}: ${staleText(head.number, { kind: "old", ms: ageMs })}`;
    } catch (error) {
      return `${name}: ${error instanceof Error ? error.message : "no head"}`;
    }
  }
}
