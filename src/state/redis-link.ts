// What leads to Redis: while it is away every call fails within a second, and the next one after it is
// back succeeds.
import type { SharedStateSettings } from "../config/state-settings.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import { Reachability, type ReachabilityParts } from "./reachability.ts";
import { connect, type RedisConnection } from "./redis-connection.ts";

const TIMEOUT_MS = 800;
/** The gateway's start waits so long for the first connection, and goes on without. */
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

  /** Resolves when it is connected, or when there is no more use in waiting: it goes on trying. */
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
      // Where this process was held up itself the answer is there already, and is read first.
      void clock.yield().then(() => reject(silent));
    });
    try {
      // Else a cluster would keep it, and carry it out long after the caller gave up.
      if (this.#connection.status !== "ready") throw new Error("not connected");
      return await Promise.race([work(this.#connection), late]);
    } catch (error) {
      if (error === silent) this.#leave();
      throw errors.stateUnavailable(this.#failed(error));
    } finally {
      cancel();
    }
  }

  /** A connection whose other end says nothing may be dead; a cluster leaves single nodes by itself. */
  #leave(): void {
    const isAlone = this.#settings.kind !== "cluster";
    if (isAlone && this.#connection.status === "ready") this.#connection.disconnect(true);
  }

  /** @returns What may be told of it. */
  #failed(error: unknown): Error {
    const reason = reasonOf(error, this.#settings);
    if (!this.#isClosed) this.#reachability.failed(reason);
    return new Error(reason);
  }

  /** Some errors, of Sentinels above all, end all trying. */
  #connectAgain(): void {
    this.#parts.clock.after(RETRY_MS, () => {
      if (!this.#isClosed) void this.#connection.connect().catch(() => undefined);
    });
  }

  async #warnWhenForgetful(): Promise<void> {
    // Where a user may not ask for the configuration, who runs this Redis will know.
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

/** An error of several addresses has no message of its own. */
function textOf(error: unknown): string {
  if (!(error instanceof Error)) return "unknown";
  return error.message || String(Reflect.get(error, "code") ?? error.name);
}
