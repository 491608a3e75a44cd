// The connection to one Redis, to the master that Sentinels name, or to a Cluster. While Redis is away every call fails
// within a second; the first call after its return succeeds. The connection queues no command, and does not repeat a
// command whose answer was lost, since Redis may have carried it out.

import { Cluster, type ClusterOptions, Redis, type RedisOptions } from "ioredis";
import type { Logger } from "pino";
import type { SharedStateSettings } from "../config/state-settings.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import { type Scripts, scripts } from "./redis-scripts.ts";

/** The timeout of a call, in milliseconds: `State` promises an error within a second. */
const TIMEOUT_MS = 800;
/** The gateway's start waits this long for the first connection, in milliseconds, and then goes on without it. */
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
    // ioredis adds the scripts as methods, which its types cannot know.
    this.#connection = clientOf(settings) as unknown as RedisConnection;
    this.#connection.on("error", (error: Error) => this.#failed(error));
    this.#connection.on("close", () => this.#failed(new Error("the connection was closed")));
    this.#connection.on("end", () => this.#connectAgain());
    this.#connection.on("ready", () => this.#reachability.reached());
    this.#connection.once("ready", () => void this.#warnWhenForgetful());
  }

  /** Resolves when the link is connected, at its first error, or after 1.5 s. The link goes on trying to connect. */
  async start(): Promise<void> {
    const { promise: settled, resolve } = Promise.withResolvers<void>();
    const cancel = this.#parts.clock.after(START_TIMEOUT_MS, () => {
      this.#failed(silent);
      resolve();
    });
    for (const event of ["ready", "error"] as const) this.#connection.once(event, () => resolve());
    await settled;
    cancel();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#reachability.close();
    this.#connection.disconnect();
  }

  /** The result of the work. @throws stateUnavailable, after `TIMEOUT_MS` at the latest. */
  async ask<Value>(work: (connection: RedisConnection) => Promise<Value>): Promise<Value> {
    const { clock } = this.#parts;
    const { promise: late, reject } = Promise.withResolvers<never>();
    const cancel = clock.after(TIMEOUT_MS, () => {
      // If this process itself stood still, the answer has arrived: the event loop reads it before the call fails.
      void clock.yield().then(() => reject(silent));
    });
    try {
      // Without this check ioredis would queue the command for a cluster, and send it long after the caller gave up.
      if (this.#connection.status !== "ready") throw new Error("not connected");
      return await Promise.race([work(this.#connection), late]);
    } catch (error) {
      if (error === silent) this.#leave();
      throw errors.stateUnavailable(this.#failed(error));
    } finally {
      cancel();
    }
  }

  /** Disconnects after a timeout, since the connection may be dead. A cluster client leaves silent nodes by itself. */
  #leave(): void {
    const isAlone = this.#settings.kind !== "cluster";
    if (isAlone && this.#connection.status === "ready") this.#connection.disconnect(true);
  }

  /** Notes the failure. @returns An error whose message has no password. */
  #failed(error: unknown): Error {
    const reason = reasonOf(error, this.#settings);
    if (!this.#isClosed) this.#reachability.failed(reason);
    return new Error(reason);
  }

  /** Connects after a pause: some errors, especially of Sentinels, end the attempts of ioredis to connect. */
  #connectAgain(): void {
    this.#parts.clock.after(RETRY_MS, () => {
      if (!this.#isClosed) void this.#connection.connect().catch(() => undefined);
    });
  }

  async #warnWhenForgetful(): Promise<void> {
    // A Redis user may lack the right to read the configuration; then the operator gets no warning.
    const answer = await this.#connection.config("GET", "appendonly").catch(() => undefined);
    if (Array.isArray(answer) && answer[1] === "no")
      this.#parts.log.warn(
        "the shared state can lose acknowledged writes when Redis dies: set appendonly to yes in Redis",
      );
  }
}

const silent = new Error("no answer");

/** The text of a failure of Redis, without the passwords of the settings. */
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

/** Makes a client, which goes on trying to connect until `disconnect`. */
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
  // For the commands that ioredis sends on a new connection; calls have a shorter timeout of their own.
  commandTimeout: 2 * TIMEOUT_MS,
  // A stopped Redis never closes its end of the connection.
  disconnectTimeout: 100,
  autoResendUnfulfilledCommands: false,
  maxRetriesPerRequest: 0,
  disableClientInfo: true,
  // After a failover the old master refuses writes, and its name leads to the new master.
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
  // Lets commands wait while the client connects to a single node. No command waits for the whole cluster, since
  // `RedisLink.ask` checks the client's status.
  enableOfflineQueue: true,
  clusterRetryStrategy: retryDelayMs,
  maxRedirections: 5,
  // Zero: ioredis must not send a failed command again.
  retryDelayOnFailover: 0,
  retryDelayOnClusterDown: 0,
  slotsRefreshTimeout: TIMEOUT_MS,
  slotsRefreshInterval: 5000,
  // The client leaves a silent node, and finds it again through the other nodes.
  redisOptions: { ...commonOptions(settings), socketTimeout: TIMEOUT_MS },
  // Certificates name hosts, so the client must not resolve the names beforehand.
  ...(settings.isEncrypted ? { dnsLookup: (address, callback) => callback(null, address) } : {}),
  scripts,
});

type ReachabilityParts = {
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "info" | "warn">;
  readonly onChange?: ((isReachable: boolean) => void) | undefined;
};

/** In milliseconds without a failure until Redis counts as back: one node of several may fail while others answer. */
const QUIET_MS = 1000;

/** Knows whether the shared state can be reached; logs and reports each change once. */
class Reachability {
  readonly #probe: () => Promise<unknown>;
  readonly #parts: ReachabilityParts;
  /** undefined: no connection has succeeded or failed yet. */
  #isReachable: boolean | undefined;
  #failedAtMs = 0;
  #cancelProbe: (() => void) | undefined;
  #isClosed = false;

  /** @param probe Resolves when the state can be read and written. */
  constructor(probe: () => Promise<unknown>, parts: ReachabilityParts) {
    this.#probe = probe;
    this.#parts = parts;
  }

  /** Notes the first connection. Later only a successful probe ends a failure. */
  reached(): void {
    if (this.#isReachable !== undefined) return;
    this.#isReachable = true;
    this.#parts.onChange?.(true);
  }

  /** @param reason The reason for the log, without passwords. */
  failed(reason: string): void {
    this.#failedAtMs = this.#parts.clock.now();
    if (this.#isReachable === false || this.#isClosed) return;
    this.#isReachable = false;
    this.#parts.onChange?.(false);
    this.#parts.log.warn(
      { reason },
      "the shared state cannot be reached: known keys keep working, limits apply by local shares, filters wait",
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
