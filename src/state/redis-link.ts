// The connection to Redis: while Redis is away every call fails within a second, and the next call after it is back
// succeeds. The connection (to one Redis, to the master that Sentinels name, or to a Cluster) queues nothing: a command
// that cannot be sent fails, and one whose answer was lost is not sent again, since it may have been carried out.

import { Cluster, type ClusterOptions, Redis, type RedisOptions } from "ioredis";
import type { Logger } from "pino";
import type { SharedStateSettings } from "../config/state-settings.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import { type Scripts, scripts } from "./redis-scripts.ts";

/** The timeout of a call: below a second, since nobody waits longer for the state. */
const TIMEOUT_MS = 800;
/** How long the gateway's start waits for the first connection; then it goes on without. */
const START_TIMEOUT_MS = 1500;
const RETRY_MS = 1000;

export type RedisStateParts = ReachabilityParts & { readonly clock: Clock };

export class RedisLink {
  readonly #settings: SharedStateSettings;
  readonly #parts: RedisStateParts;
  readonly #connection: RedisConnection;
  readonly #reachability: Reachability;
  #isClosed = false;

  /** @param probe Resolves when the state can be read and written. */
  constructor(
    settings: SharedStateSettings,
    parts: RedisStateParts & { readonly probe: () => Promise<unknown> },
  ) {
    this.#settings = settings;
    this.#parts = parts;
    this.#reachability = new Reachability(parts.probe, parts);
    this.#connection = connect(settings);
    this.#connection.on("error", (error: Error) => this.#failed(error));
    this.#connection.on("close", () => this.#failed(new Error("the connection was closed")));
    this.#connection.on("end", () => this.#connectAgain());
    this.#connection.on("ready", () => this.#reachability.reached());
    this.#connection.once("ready", () => void this.#warnWhenForgetful());
  }

  /** Resolves when it is connected, or when waiting is of no more use: it goes on trying. */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => {
      const cancel = this.#parts.clock.after(START_TIMEOUT_MS, () => {
        this.#failed(silent);
        resolve();
      });
      for (const event of ["ready", "error"] as const)
        this.#connection.once(event, () => {
          cancel();
          resolve();
        });
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#reachability.close();
    this.#connection.disconnect();
  }

  /** @throws stateUnavailable, in time, whatever the connection does. */
  async ask<Value>(work: (connection: RedisConnection) => Promise<Value>): Promise<Value> {
    const { clock } = this.#parts;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const cancel = clock.after(TIMEOUT_MS, () => {
      // If this process itself was held up, the answer is there already, and is read first.
      void clock.yield().then(() => reject(silent));
    });
    try {
      // Otherwise a cluster would keep the command, and carry it out long after the caller gave up.
      if (this.#connection.status !== "ready") throw new Error("not connected");
      return await Promise.race([work(this.#connection), late]);
    } catch (error) {
      if (error === silent) this.#leave();
      throw errors.stateUnavailable(this.#failed(error));
    } finally {
      cancel();
    }
  }

  /** A connection whose other end is silent may be dead. A cluster leaves single nodes by itself. */
  #leave(): void {
    const isAlone = this.#settings.kind !== "cluster";
    if (isAlone && this.#connection.status === "ready") this.#connection.disconnect(true);
  }

  /** @returns The error with what may be told of it. */
  #failed(error: unknown): Error {
    const reason = reasonOf(error, this.#settings);
    if (!this.#isClosed) this.#reachability.failed(reason);
    return new Error(reason);
  }

  /** Some errors, especially of Sentinels, end all attempts to connect. */
  #connectAgain(): void {
    this.#parts.clock.after(RETRY_MS, () => {
      if (!this.#isClosed) void this.#connection.connect().catch(() => undefined);
    });
  }

  async #warnWhenForgetful(): Promise<void> {
    // A user may lack the right to read the configuration; the operator of such a Redis will know it.
    const answer = await this.#connection.config("GET", "appendonly").catch(() => undefined);
    if (Array.isArray(answer) && answer[1] === "no")
      this.#parts.log.warn(
        "the shared state forgets what it acknowledged when Redis dies: set appendonly to yes there",
      );
  }
}

const silent = new Error("no answer");

/** What may be told of a failure of Redis: never a password. */
const reasonOf = (error: unknown, settings: SharedStateSettings): string =>
  secretsOf(settings).reduce((text, secret) => text.replaceAll(secret, "***"), textOf(error));

function secretsOf(settings: SharedStateSettings): string[] {
  const { password = "" } = settings;
  const { sentinelPassword = "" } = settings.kind === "sentinel" ? settings : {};
  return [password, sentinelPassword].filter((text) => text !== "");
}

/** An error about several addresses has no message of its own. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return error.message || String(Reflect.get(error, "code") ?? error.name);
}

type RedisConnection = Scripts & (Redis | Cluster);

const retryDelayMs = (attempt: number): number => Math.min(250 * 2 ** (attempt - 1), 2000);

/** Begins to connect, and goes on until it is disconnected. */
function connect(settings: SharedStateSettings): RedisConnection {
  // ioredis adds the scripts as methods, which its types cannot know.
  return clientOf(settings) as unknown as RedisConnection;
}

function clientOf(settings: SharedStateSettings): Redis | Cluster {
  if (settings.kind === "cluster")
    return new Cluster([...settings.hosts], clusterOptions(settings));
  const options: RedisOptions = {
    ...commonOptions(settings),
    db: settings.database,
    enableOfflineQueue: false,
    retryStrategy: retryDelayMs,
    scripts,
  };
  if (settings.kind === "sentinel") return new Redis({ ...options, ...sentinelOptions(settings) });
  return new Redis({ ...options, ...settings.hosts[0] });
}

const commonOptions = ({ user, password, isEncrypted }: SharedStateSettings): RedisOptions => ({
  ...(user === undefined ? {} : { username: user }),
  ...(password === undefined ? {} : { password }),
  ...(isEncrypted ? { tls: {} } : {}),
  connectTimeout: TIMEOUT_MS,
  // For the greeting after a connection was made; calls have a shorter timeout of their own.
  commandTimeout: 2 * TIMEOUT_MS,
  // A stopped Redis does not end the connection.
  disconnectTimeout: 100,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  disableClientInfo: true,
  // After a failover the old master refuses to write: another one has its name by now.
  reconnectOnError: (error) => error.message.includes("READONLY"),
});

const sentinelOptions = (
  settings: SharedStateSettings & { readonly kind: "sentinel" },
): RedisOptions => ({
  sentinels: [...settings.hosts],
  name: settings.masterName,
  ...(settings.sentinelPassword === undefined
    ? {}
    : { sentinelPassword: settings.sentinelPassword }),
  ...(settings.isEncrypted ? { sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
  sentinelCommandTimeout: TIMEOUT_MS,
  sentinelRetryStrategy: retryDelayMs,
  sentinelReconnectStrategy: retryDelayMs,
  failoverDetector: true,
});

const clusterOptions = (settings: SharedStateSettings): ClusterOptions => ({
  // For single nodes: commands wait while a node is being connected. Nobody waits for the whole cluster
  // (redis-state.ts).
  enableOfflineQueue: true,
  clusterRetryStrategy: retryDelayMs,
  maxRedirections: 5,
  // Zero: a command that failed has failed, and ioredis must not send it again.
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  slotsRefreshTimeout: TIMEOUT_MS,
  slotsRefreshInterval: 5000,
  // A silent node is left, and found again through the other nodes.
  redisOptions: { ...commonOptions(settings), socketTimeout: TIMEOUT_MS },
  // Certificates are made out to names, so names are not resolved beforehand.
  ...(settings.isEncrypted ? { dnsLookup: (address, callback) => callback(null, address) } : {}),
  scripts,
});

type ReachabilityParts = {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly onChange?: ((isReachable: boolean) => void) | undefined;
};

/**
 * After this time without a failure Redis counts as back: one node of several may fail while others answer, in
 * milliseconds.
 */
const QUIET_MS = 1000;

/** Whether the shared state can be reached. Each change is logged and counted once. */
class Reachability {
  readonly #probe: () => Promise<unknown>;
  readonly #parts: ReachabilityParts;
  /** undefined: not known yet. */
  #isReachable: boolean | undefined;
  #failedAtMs = 0;
  #cancelProbe: (() => void) | undefined;
  #isClosed = false;

  /** @param probe Resolves when the state can be read and written. */
  constructor(probe: () => Promise<unknown>, parts: ReachabilityParts) {
    this.#probe = probe;
    this.#parts = parts;
  }

  /** To be called when it was reached for the first time. Later a probe tells. */
  reached(): void {
    if (this.#isReachable !== undefined) return;
    this.#isReachable = true;
    this.#parts.onChange?.(true);
  }

  /** @param reason The reason in the log: it has no address and no password. */
  failed(reason: string): void {
    this.#failedAtMs = this.#parts.clock.now();
    if (this.#isReachable === false || this.#isClosed) return;
    this.#isReachable = false;
    this.#parts.onChange?.(false);
    this.#parts.log.warn(
      { reason },
      "the shared state cannot be reached: known keys go on, limits are kept by local shares, filters wait",
    );
    this.#probeIn(QUIET_MS);
  }

  close(): void {
    this.#isClosed = true;
    this.#cancelProbe?.();
  }

  #probeIn(ms: number): void {
    if (this.#isClosed) return;
    this.#cancelProbe = this.#parts.clock.after(ms, () => {
      const waitMs = this.#failedAtMs + QUIET_MS - this.#parts.clock.now();
      if (waitMs > 0) this.#probeIn(waitMs);
      else void this.#probe().then(this.#comeBack, () => this.#probeIn(QUIET_MS));
    });
  }

  readonly #comeBack = (): void => {
    if (this.#isClosed) return;
    this.#isReachable = true;
    this.#parts.onChange?.(true);
    this.#parts.log.info("the shared state can be reached again");
  };
}
