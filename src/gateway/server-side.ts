// Joins the parts between callers and networks: keys, limits, usage, and the server itself.
import { isDeepStrictEqual } from "node:util";
import manifest from "../../package.json" with { type: "json" };
import { IdentityTokens } from "../access/keys/identity-tokens.ts";
import { KeyRing } from "../access/keys/key-ring.ts";
import { memberId } from "../access/limits/members.ts";
import { Costs, Meters } from "../access/limits/meter.ts";
import {
  addressMatcher,
  clientAddress,
  type RequestSource,
} from "../access/scope/client-address.ts";
import { Guesses } from "../access/scope/guesses.ts";
import { UsageBook } from "../access/usage/usage-book.ts";
import { BodyAnswerer } from "../calls/life-of-a-call.ts";
import type { Config } from "../config/schema.ts";
import type { NetworkParts } from "../network.ts";
import { type SlowCall, Stories } from "../observe/stories.ts";
import {
  type SpanExporter,
  TraceSender,
  type TraceSenderOptions,
} from "../observe/trace-sender.ts";
import { CallbackGuard } from "../server/callback-guard.ts";
import { CallerSockets } from "../server/caller-sockets.ts";
import { type ConnectionLimits, Connections } from "../server/connections.ts";
import { Endpoint } from "../server/endpoint.ts";
import { EventStreams } from "../server/event-streams.ts";
import { HttpServer } from "../server/http-server.ts";
import { Handshakes, RefusalBudget, Refusals } from "../server/refusals.ts";
import { CallTrials } from "../server/try-call.ts";
import { whyStateNotWritable } from "../state/state.ts";
import type { Networks } from "./networks.ts";

export type ServerSideOptions = {
  /** The number of this process among the gateway's processes; 0 where there is one. */
  readonly slot: number;
  /** Whether other processes answer calls of the same keys. */
  readonly hasOthers: boolean;
};

export type ServerSideParts = Omit<NetworkParts, "role" | "isShared"> & {
  readonly networks: Networks;
};

export class ServerSide {
  readonly #meters: Meters;
  readonly #usages: UsageBook;
  readonly #tokens: IdentityTokens;
  readonly #keys: KeyRing;
  readonly #refusalBudget: RefusalBudget;
  readonly #stories: Stories;
  #traces: TraceSender | undefined;
  readonly #bodies: BodyAnswerer;
  /** Answers the calls that operators make as one of the keys. */
  readonly trials: CallTrials;
  readonly #connections: Connections;
  readonly #handshakes: Handshakes;
  readonly #endpoint: Endpoint;
  readonly #sockets: CallerSockets;
  readonly #server: HttpServer;
  #drainMs: number;
  /** The functions that find a caller's address and know trusted proxies. A reload replaces them. */
  #rules: ReturnType<typeof rulesOf>;
  #tracing: Config["tracing"];
  /** The name of this process among all that share the state. */
  readonly #member: string;
  readonly #parts: ServerSideParts;

  constructor(config: Config, options: ServerSideOptions, parts: ServerSideParts) {
    const { networks, metrics, state, memory, turns, clock, log } = parts;
    const { slot, hasOthers } = options;
    const { limits, timeouts } = config;
    const member = memberId({ data: config.data, slot });
    this.#parts = parts;
    this.#drainMs = timeouts.drainMs;
    this.#rules = rulesOf(config);
    this.#meters = new Meters({ memberId: member, isAlone: !hasOthers }, { state, clock });
    this.#usages = new UsageBook({ member, ...config.usage }, { state, clock, log });
    this.#tokens = new IdentityTokens(config.jwt, {
      onForgotten: () => this.#keys.forgetTexts(),
      ...{ metrics, clock, log },
    });
    this.#keys = new KeyRing(
      { configured: config.keys, secret: config.keySecret },
      { tokens: this.#tokens, state, meters: this.#meters, usages: this.#usages, clock, log },
    );
    const from = (request: RequestSource): string | undefined => this.#rules.clientAddress(request);
    this.#member = member;
    this.#stories = new Stories(config, {
      ...{ clock, chance: Math.random },
      onTraced: (story) => this.#traces?.add(story),
    });
    this.#takeTracing(config);
    this.#bodies = new BodyAnswerer(limits, {
      ...{ clock, log, metrics, memory, turns },
      stories: this.#stories,
      costs: new Costs(config.costs),
    });
    this.trials = new CallTrials(timeouts, {
      networks: networks.served,
      keys: this.#keys,
      bodies: this.#bodies,
      ...{ memory, turns, clock, log },
    });
    this.#refusalBudget = new RefusalBudget(limits);
    this.#connections = new Connections(connectionLimits(config), {
      isProxy: (address) => this.#rules.isProxy(address),
      metrics,
    });
    const connections = this.#connections;
    this.#handshakes = new Handshakes(limits, { connections, clock });
    const budget = this.#refusalBudget;
    this.#endpoint = new Endpoint(limits, {
      networks: networks.served,
      networkOfHost: (host) => networks.nameOfHost(host),
      isUnidentified: (name) => networks.isUnidentified(name),
      keys: this.#keys,
      tokens: this.#tokens,
      bodies: this.#bodies,
      clientAddress: from,
      guesses: new Guesses(),
      refusals: new Refusals({ budget, clientAddress: from, clock, metrics }),
      ...{ connections, memory, metrics, clock, log },
    });
    const guard = new CallbackGuard({ metrics, log, clock });
    this.#sockets = new CallerSockets(config, {
      endpoint: this.#endpoint,
      connections,
      bodies: this.#bodies,
      ...{ memory, turns, metrics, clock, guard },
    });
    const streams = new EventStreams({
      endpoint: this.#endpoint,
      sockets: this.#sockets,
      ...{ turns, metrics, clock },
    });
    const { reading } = limits;
    const listening = { ...config.listen, timeouts, reading, reusePort: slot > 0 };
    this.#server = new HttpServer(listening, {
      endpoint: this.#endpoint,
      handshakes: this.#handshakes,
      sockets: this.#sockets,
      whyNotReady: () => this.whyNotReady(),
      notes: () => this.notes(),
      ...{ connections, streams, metrics, memory, turns, clock, log, guard },
    });
  }

  /** The reasons why this process cannot serve all networks now; empty when it can. */
  async whyNotReady(): Promise<readonly string[]> {
    const { networks, state } = this.#parts;
    return [...(await networks.whyNotReady()), ...whyStateNotWritable(state)];
  }

  /** Lines about networks that this process can serve, but not as they should be. */
  notes(): readonly string[] {
    return this.#parts.networks.notes();
  }

  /** The recent slow and failed calls that this process answered, newest first. */
  slowCalls(): readonly SlowCall[] {
    return this.#stories.slowCalls;
  }

  /** Reads the keys, and starts to count their usage and limits. */
  async start(): Promise<void> {
    await this.#meters.start();
    await this.#keys.start();
    this.#tokens.start();
    this.#usages.start();
  }

  /** Accepts callers. @returns The port that is in use, which the system chose where the configuration says 0. */
  listen(): Promise<number> {
    return this.#server.listen();
  }

  reconfigure(config: Config): void {
    this.#keys.reconfigure(config.keys);
    this.#tokens.reconfigure(config.jwt);
    this.#usages.reconfigure(config.usage);
    this.#rules = rulesOf(config);
    this.#bodies.reconfigure(config.limits, new Costs(config.costs));
    this.#stories.reconfigure(config);
    this.#takeTracing(config);
    const { limits, timeouts } = config;
    this.trials.reconfigure(timeouts);
    this.#endpoint.reconfigure(limits);
    this.#refusalBudget.reconfigure(limits);
    this.#handshakes.reconfigure(limits);
    this.#server.setCertificate(config.listen.tls);
    this.#connections.reconfigure(connectionLimits(config));
    this.#sockets.reconfigure(config);
    this.#server.reconfigure({ reading: limits.reading, timeouts });
    this.#drainMs = timeouts.drainMs;
  }

  #takeTracing({ tracing }: Config): void {
    if (isDeepStrictEqual(tracing, this.#tracing)) return;
    this.#tracing = tracing;
    void this.#traces?.close();
    const instance = this.#member;
    const options = tracing && { ...tracing, version, instance };
    this.#traces = options && new TraceSender(options, { ...this.#parts, load: loadExporter });
  }

  /** Accepts no new connections, and lets running calls end. */
  drain(): Promise<void> {
    return this.#server.drain(this.#drainMs);
  }

  /** Writes the last usage and closes the parts. To be called after `drain`. */
  async close(): Promise<void> {
    await this.#traces?.close();
    this.#tokens.close();
    await this.#keys.close();
    await this.#usages.close();
    await this.#meters.close();
  }
}

const { version } = manifest;

/** Loads the exporter with the first trace, since its module takes time and memory. */
const loadExporter = async (options: TraceSenderOptions): Promise<SpanExporter> =>
  (await import("../observe/otlp-exporter.ts")).spanExporter(options);

const rulesOf = ({ listen }: Config) => ({
  clientAddress: clientAddress(listen),
  isProxy: addressMatcher(listen.trustedProxies),
});

const STRANGERS_SHARE = 0.8;

const connectionLimits = ({ limits }: Config): ConnectionLimits => ({
  most: limits.connections,
  strangers: Math.max(1, Math.floor(limits.connections * STRANGERS_SHARE)),
  perAddress: limits.connectionsPerAddress,
});
