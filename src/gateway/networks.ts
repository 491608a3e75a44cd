// The served networks. A reload prepares the networks of another configuration beside the running ones, then replaces all
// of them in one step.

import type { Config, NetworkSettings } from "../config/schema.ts";
import { endUnserved } from "../filters/kept-filters.ts";
import { within } from "../lib/waiting.ts";
import { Network, type NetworkParts } from "../network.ts";
import { hostResolver } from "../server/endpoint.ts";
import type { Drains, NodeDrain } from "../upstream/drains.ts";

/** A prepared change. The caller commits or cancels it. */
export type NetworksChange = {
  /** @param withinMs How long removed networks and nodes may stay open for their calls in flight. */
  commit(withinMs: number): void | Promise<void>;
  cancel(): Promise<void>;
};

/** The part of the configuration from which the networks are made. */
type Plan = Pick<Config, "data" | "limits" | "networks" | "unidentified">;

/** How long a new network may take to become ready, in milliseconds. */
const TIMEOUT_MS = 5_000;
const LOOK_AGAIN_MS = 50;

export type NetworksParts = NetworkParts & { readonly drains: Pick<Drains, "of" | "onChange"> };

export class Networks {
  readonly #byName: Map<string, Network>;
  #nameOfHost: (host: string | undefined) => string | undefined;
  #unidentified: Plan["unidentified"];
  readonly #leaving: LeavingNetworks;
  readonly #closing = new AbortController();
  /** Resolves when the sweep of the filters of networks that are no longer served has stopped. */
  #unserved: Promise<void> = Promise.resolve();
  readonly #parts: NetworksParts;

  constructor(plan: Plan, parts: NetworksParts) {
    this.#parts = parts;
    const made = Object.keys(plan.networks).map((name) => [name, this.#make(name, plan)] as const);
    this.#byName = new Map(made);
    this.#nameOfHost = resolverOf(plan);
    this.#waitFor(plan.unidentified);
    this.#leaving = new LeavingNetworks(parts);
    parts.drains.onChange(() => {
      for (const [name, { pool }] of this.#byName) pool.drain(parts.drains.of(name));
    });
  }

  /** The networks by name. A reload changes the whole map in one step. */
  get served(): ReadonlyMap<string, Network> {
    return this.#byName;
  }

  get names(): readonly string[] {
    return [...this.#byName.keys()];
  }

  get all(): readonly Network[] {
    return [...this.#byName.values()];
  }

  /** The name of the network for a Host header; undefined when no network has the host. */
  nameOfHost(host: string | undefined): string | undefined {
    return this.#nameOfHost(host);
  }

  async start(): Promise<void> {
    for (const network of this.all) await network.start();
    const { state, clock, role } = this.#parts;
    const { signal } = this.#closing;
    // Where there are several processes, only the writer ends these filters.
    if (role.kind !== "server")
      this.#unserved = endUnserved((name) => this.#byName.has(name), { state, clock, signal });
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#unserved;
    await Promise.all([...this.all.map((network) => network.close()), this.#leaving.empty()]);
  }

  /** A reason for each network that cannot serve now; empty when all can. */
  async whyNotReady(): Promise<readonly string[]> {
    const reasons = await Promise.all(this.all.map((network) => network.whyNotReady()));
    return [
      ...reasons.filter((reason) => reason !== undefined),
      ...whyUnidentified(this.#unidentified),
    ];
  }

  /** Lines about networks that can serve, but not as they should: see `Network.notes`. */
  notes(): readonly string[] {
    return this.all.flatMap((network) =>
      network.notes().map((note) => `${network.facts.name}: ${note}`),
    );
  }

  /** Whether the network is configured, but not served yet, since no node has told its chain id. */
  isUnidentified(name: string | undefined): boolean {
    return Object.hasOwn(this.#unidentified ?? {}, name ?? "");
  }

  hasNode({ network, upstream }: Pick<NodeDrain, "network" | "upstream">): boolean {
    const nodes = this.#byName.get(network)?.pool.nodes ?? [];
    return nodes.some(({ name }) => name === upstream);
  }

  /** The status of each network, in the order of the configuration. */
  status(): Promise<Awaited<ReturnType<Network["status"]>>[]> {
    return Promise.all(this.all.map((network) => network.status()));
  }

  /** Prepares the networks of another configuration, unnoticed by callers. @throws Error when a network cannot start. */
  async prepare(plan: Plan): Promise<NetworksChange> {
    const prepared = await Promise.allSettled(
      Object.entries(plan.networks).map(([name, settings]) => this.#prepare(name, settings, plan)),
    );
    const next = prepared.flatMap((each) => (each.status === "fulfilled" ? each.value : []));
    const cancel = async (): Promise<void> => {
      await Promise.all(next.map((each) => each.cancel()));
    };
    const failed = prepared.find((each) => each.status === "rejected");
    if (failed) {
      await cancel();
      throw failed.reason;
    }
    return { commit: (withinMs) => this.#take(plan, next, withinMs), cancel };
  }

  #take(plan: Plan, next: readonly Prepared[], withinMs: number): void {
    const before = [...this.#byName];
    for (const { commit } of next) commit(withinMs);
    this.#byName.clear();
    for (const { name, network } of next) this.#byName.set(name, network);
    this.#nameOfHost = resolverOf(plan);
    this.#waitFor(plan.unidentified);
    for (const [name, network] of before)
      if (this.#byName.get(name) !== network)
        this.#leaving.letGo(name, network, { withinMs, isReplaced: () => this.#byName.has(name) });
  }

  async #prepare(name: string, settings: NetworkSettings, plan: Plan): Promise<Prepared> {
    const running = this.#byName.get(name);
    const filtersPerKey = filtersPerKeyOf(plan);
    if (running?.canBecome(settings))
      return { name, network: running, ...(await running.prepare({ settings, filtersPerKey })) };
    // A store has one writer: a network of this name that was removed a moment ago may still be closing the store.
    await this.#leaving.gone(name);
    const network = this.#make(name, plan);
    const cancel = (): Promise<void> => network.close();
    try {
      await network.start();
      await this.#untilReady(network);
    } catch (error) {
      await cancel();
      throw error;
    }
    return { name, network, commit: () => undefined, cancel };
  }

  #waitFor(unidentified: Plan["unidentified"]): void {
    this.#unidentified = unidentified;
    this.#parts.metrics.networksUnidentified(Object.keys(unidentified ?? {}).length);
  }

  #make(name: string, { data, limits, networks }: Plan): Network {
    const settings = networks[name] as NetworkSettings;
    const network = new Network(
      { name, settings, data, filtersPerKey: filtersPerKeyOf({ limits }) },
      this.#parts,
    );
    network.pool.drain(this.#parts.drains.of(name));
    return network;
  }

  async #untilReady(network: Network): Promise<void> {
    const { clock, log } = this.#parts;
    const giveUpAt = clock.now() + TIMEOUT_MS;
    let reason = await network.whyNotReady();
    while (reason !== undefined && clock.now() < giveUpAt) {
      await clock.sleep(LOOK_AGAIN_MS);
      reason = await network.whyNotReady();
    }
    if (reason !== undefined) log.warn({ reason }, "a network that was added is not ready yet");
  }
}

type Prepared = NetworksChange & { readonly name: string; readonly network: Network };

/** A reason for each network that is not served because its chain id is not known yet. */
export const whyUnidentified = (unidentified: Config["unidentified"] = {}): string[] =>
  Object.keys(unidentified).map((name) => `${name}: none of its nodes has said which chain it is`);

const resolverOf = ({ networks, unidentified }: Plan): ReturnType<typeof hostResolver> =>
  hostResolver({ ...networks, ...unidentified });

type LeavingOptions = {
  /** How long the network may stay open for its calls in flight, in milliseconds. */
  readonly withinMs: number;
  /** Whether another network has taken the name. */
  readonly isReplaced: () => boolean;
};

/** The removed networks, each until its calls in flight have ended and it is closed. */
class LeavingNetworks {
  /** For each name, the promise that its removed networks are closed. */
  readonly #closing = new Map<string, Promise<void>>();
  readonly #parts: Pick<NetworkParts, "clock" | "metrics">;

  constructor(parts: Pick<NetworkParts, "clock" | "metrics">) {
    this.#parts = parts;
  }

  letGo(name: string, network: Network, { withinMs, isReplaced }: LeavingOptions): void {
    const earlier = this.#closing.get(name);
    const closed = Promise.all([this.#close(network, withinMs), earlier]).then(() => {
      if (this.#closing.get(name) === closed) this.#closing.delete(name);
      if (!isReplaced()) this.#parts.metrics.networkGone(name);
    });
    this.#closing.set(name, closed);
  }

  /** Resolves when every removed network of this name is closed. */
  async gone(name: string): Promise<void> {
    await this.#closing.get(name);
  }

  /** Resolves when every removed network is closed. */
  async empty(): Promise<void> {
    await Promise.all(this.#closing.values());
  }

  /** Closes the network when its calls in flight have ended, at the latest after `withinMs`. */
  async #close(network: Network, withinMs: number): Promise<void> {
    await within(withinMs, network.requests.empty(), this.#parts);
    await network.close();
  }
}

const filtersPerKeyOf = ({ limits }: Pick<Config, "limits">) => ({
  polled: limits.filters,
  pushed: limits.webSocket.subscriptionsPerKey,
});
