// The parts of one network, joined: upstreams → head → methods.
import type { Logger } from "pino";
import type { Grant } from "./access/key-ring.ts";
import { Head } from "./chain/head.ts";
import type { Config } from "./config/schema.ts";
import type { Clock } from "./lib/clock.ts";
import { type Catalogue, catalogueFor } from "./methods/catalogue.ts";
import { openRpcDocument } from "./methods/describe.ts";
import type { NetworkFacts } from "./methods/method.ts";
import type { Metrics } from "./observe/metrics.ts";
import { connect } from "./upstream/connection/connect.ts";
import { Pool } from "./upstream/pool.ts";

export type NetworkSettings = Config["networks"][string];

/** How long /readyz waits for a head, in milliseconds. */
const READINESS_PATIENCE_MS = 2_000;

export class Network {
  readonly facts: NetworkFacts;
  readonly catalogue: Catalogue;
  readonly pool: Pool;
  readonly head: Head;
  /** Documents by key: they are made once, when first asked for. */
  readonly #documents = new Map<Grant, string>();
  readonly #headAgeMs: number | undefined;
  readonly #clock: Clock;

  constructor(
    options: { name: string; settings: NetworkSettings },
    parts: { clock: Clock; log: Logger; metrics: Metrics },
  ) {
    const { name, settings } = options;
    const { family, chainId, upstreams, limits, methods, totalDifficulty, headAgeMs } = settings;
    const { clock, metrics } = parts;
    const log = parts.log.child({ network: name });
    this.facts = { name, family, chainId, totalDifficulty, limits };
    this.catalogue = catalogueFor({ family, ...methods });
    this.pool = new Pool(
      { network: name, family, chainId, upstreams, responseBytes: limits.responseBytes },
      { clock, log, metrics, connect },
    );
    this.head = new Head({ family }, { upstream: this.pool });
    this.#headAgeMs = headAgeMs;
    this.#clock = clock;
  }

  /** Begins to look for usable upstreams, in the background. */
  start(): void {
    this.pool.start();
  }

  close(): Promise<void> {
    return this.pool.close();
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
      const head = await this.head.read(AbortSignal.timeout(READINESS_PATIENCE_MS));
      const ageMs = this.#clock.wallTime() - head.timestampMs;
      if (this.#headAgeMs === undefined || ageMs <= this.#headAgeMs) return undefined;
      return `${name}: the head, ${head.number}, is ${Math.round(ageMs / 1000)} s old`;
    } catch (error) {
      return `${name}: ${error instanceof Error ? error.message : "no head"}`;
    }
  }
}
