// The parts of one network, joined: upstreams → chain → filters → methods.
import { join } from "node:path";
import type { Logger } from "pino";
import type { Grant } from "./access/key-ring.ts";
import { Chain } from "./chain/chain.ts";
import { blockDialect } from "./chain/fetch-block.ts";
import { epochDialect } from "./chain/fetch-epoch.ts";
import { Head } from "./chain/head.ts";
import type { Config } from "./config/schema.ts";
import { epochTellers } from "./filters/epoch-tellers.ts";
import { FilterBook } from "./filters/filter-book.ts";
import type { FilterCount } from "./filters/filter-count.ts";
import { PendingJournal } from "./filters/pending-journal.ts";
import { blockTellers } from "./filters/tellers.ts";
import type { Clock } from "./lib/clock.ts";
import { type Catalogue, catalogueFor } from "./methods/catalogue.ts";
import { openRpcDocument } from "./methods/describe.ts";
import type { NetworkFacts } from "./methods/method.ts";
import type { Metrics } from "./observe/metrics.ts";
import type { State } from "./state/state.ts";
import { Coalescing } from "./upstream/asking/coalescing.ts";
import { connect } from "./upstream/connection/connect.ts";
import { HeadWatch } from "./upstream/head-watch.ts";
import { LearnedRange } from "./upstream/learned-range.ts";
import { Pool } from "./upstream/pool.ts";

export type NetworkSettings = Config["networks"][string];

export type NetworkParts = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly state: State;
  readonly filterCount: FilterCount;
};

/** How long /readyz waits for a head, in milliseconds. */
const READINESS_PATIENCE_MS = 2_000;

/** What a block of the followed chain is. Epochs have no hash over what was executed in them. */
const followed = {
  evm: { dialect: blockDialect, canBeProven: true, tellers: () => blockTellers, prefix: "eth" },
  conflux: {
    dialect: epochDialect,
    canBeProven: false,
    tellers: epochTellers,
    prefix: "cfx",
  },
} as const;

export class Network {
  readonly facts: NetworkFacts;
  readonly catalogue: Catalogue;
  readonly pool: Pool;
  readonly coalescing: Coalescing;
  readonly head: Head;
  /** Where nothing is followed. */
  readonly #headWatch: HeadWatch | undefined;
  readonly ranges: LearnedRange;
  /** undefined where nothing is followed. */
  readonly chain: Chain | undefined;
  /** undefined where nothing is followed. */
  readonly filters: FilterBook | undefined;
  /** Documents by key: they are made once, when first asked for. */
  readonly #documents = new Map<Grant, string>();
  readonly #headAgeMs: number | undefined;
  readonly #clock: Clock;

  constructor(
    options: { name: string; settings: NetworkSettings; data: string; filtersPerKey: number },
    parts: NetworkParts,
  ) {
    const { name, settings, data } = options;
    const { family, chainId, upstreams, limits, methods, totalDifficulty, headAgeMs } = settings;
    const { hedging, toleratedLag, agreement } = settings;
    const { clock, metrics, state, filterCount: count } = parts;
    const log = parts.log.child({ network: name });
    this.facts = { name, family, chainId, totalDifficulty, limits };
    this.catalogue = catalogueFor({ family, ...methods });
    this.pool = new Pool(
      {
        network: name,
        family,
        chainId,
        upstreams,
        responseBytes: limits.responseBytes,
        hedging,
        toleratedLag,
        agreement,
      },
      { clock, log, metrics, state, connect },
    );
    this.coalescing = new Coalescing(this.pool);
    this.head = new Head({ family }, { upstream: this.pool });
    this.ranges = new LearnedRange(limits.logs.blocks);
    const { dialect, canBeProven, tellers, prefix } = followed[family];
    this.chain =
      settings.window.blocks > 0
        ? new Chain(
            {
              network: name,
              chainId,
              path: join(data, name),
              windowBlocks: settings.window.blocks,
              bytes: settings.window.size,
              proof: canBeProven ? settings.proof : "off",
            },
            { pool: this.pool, dialect, clock, log, metrics },
          )
        : undefined;
    const { chain, pool } = this;
    this.filters =
      chain &&
      new FilterBook(
        { network: name, perKey: options.filtersPerKey, most: limits.logs.results },
        {
          state,
          chain,
          journal: new PendingJournal({ network: name, prefix }, { pool, state, clock }),
          tellers: tellers(chainId),
          count,
          clock,
          metrics,
        },
      );
    this.#headWatch = chain
      ? undefined
      : new HeadWatch({ family }, { nodes: () => pool.usable(), clock });
    this.#headAgeMs = headAgeMs;
    this.#clock = clock;
  }

  /** Begins to look for usable upstreams and to follow their chain, in the background. */
  async start(): Promise<void> {
    await this.pool.start();
    this.#headWatch?.start();
    await this.chain?.start();
    await this.filters?.start();
  }

  async close(): Promise<void> {
    await this.filters?.close();
    await this.chain?.close();
    await this.#headWatch?.close();
    await this.pool.close();
  }

  /** The OpenRPC document of this network with the methods that the key may call. */
  describe(grant: Grant): string {
    const known = this.#documents.get(grant);
    if (known) return known;
    const { name: network, chainId } = this.facts;
    const { methods, allowPatterns } = this.catalogue;
    const available = methods.filter(({ name }) => grant.allowsMethod(name));
    const options = { network, chainId, methods: available, allowPatterns };
    const document = JSON.stringify(openRpcDocument(options));
    this.#documents.set(grant, document);
    return document;
  }

  /** Why this network cannot serve now, or undefined when it can: some upstream tells a young enough head. */
  async whyNotReady(): Promise<string | undefined> {
    const { name } = this.facts;
    try {
      const head =
        this.chain?.view()?.newest ??
        (await this.head.read(AbortSignal.timeout(READINESS_PATIENCE_MS)));
      const ageMs = this.#clock.wallTime() - head.timestampMs;
      if (this.#headAgeMs === undefined || ageMs <= this.#headAgeMs) return undefined;
      return `${name}: the head, ${head.number}, is ${Math.round(ageMs / 1000)} s old`;
    } catch (error) {
      return `${name}: ${error instanceof Error ? error.message : "no head"}`;
    }
  }
}
