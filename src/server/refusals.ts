// Slows down callers that guess keys, and turns away callers whose requests are refused again and again, before the next
// one is read. Refusals count by address and key together, so no stranger shuts out a valid key at the same address.

import type { Socket } from "node:net";
import type { Grant } from "../access/keys/key-ring.ts";
import { subscriberOf } from "../access/scope/client-address.ts";
import type { Guesses } from "../access/scope/guesses.ts";
import type { RequestScope } from "../calls/caller.ts";
import type { Config } from "../config/schema.ts";
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import { keepNewest } from "../lib/keep-newest.ts";
import { TokenBucket } from "../lib/token-bucket.ts";
import type { Metrics } from "../observe/metrics.ts";
import { unitsOfBytes } from "./body.ts";
import type { Connections } from "./connections.ts";
import type { CallerRequest } from "./plain-request.ts";

export type RefusalsParts = {
  readonly budget: Pick<RefusalBudget, "exhausted" | "refusedForMs" | "charge" | "perSecond">;
  /** The caller's address, by the headers of trusted proxies; undefined when the caller has left. */
  readonly clientAddress: (request: CallerRequest) => string | undefined;
  readonly clock: Pick<Clock, "now">;
  readonly metrics: Pick<Metrics, "requestTurnedAway">;
};

/** A request, and the grant of its key; undefined for an unknown key. */
export type KeyedRequest = { readonly request: CallerRequest; readonly grant: Grant | undefined };

/** The points of an unknown key, which costs more than a known one: the gateway looks for it in more places. */
const GUESS_POINTS = 10;

export class Refusals {
  /** The callers that are turned away now. While it is empty, no caller's address has to be looked up. */
  readonly exhausted: RefusalBudget["exhausted"];
  readonly #parts: RefusalsParts;

  constructor(parts: RefusalsParts) {
    this.exhausted = parts.budget.exhausted;
    this.#parts = parts;
  }

  /** The refusal of a caller that was refused too often; undefined for all others. */
  refusalFor(request: CallerRequest, grant: Grant | undefined): RpcError | undefined {
    const { budget, clock, metrics } = this.#parts;
    const caller = this.#callerOf({ request, grant });
    const ms = caller === undefined ? 0 : budget.refusedForMs(caller, clock.now());
    if (ms === 0) return undefined;
    metrics.requestTurnedAway();
    return errors.tooManyRefusals(budget.perSecond, Math.ceil(ms / 1000));
  }

  /** Counts the refused calls of a request. @param bytes The bytes of its body, which were read for nothing. */
  count(asked: KeyedRequest, refused: number, bytes: number): void {
    this.#charge(asked, refused + unitsOfBytes(bytes));
  }

  /** Counts an unknown key before it is refused, since the refusal may be delayed. */
  countGuess(request: CallerRequest): void {
    this.#charge({ request, grant: undefined }, GUESS_POINTS);
  }

  /** Counts a request that was refused as a whole. */
  countRequest(asked: KeyedRequest, { status }: RpcError, bytes: number): void {
    // A 429 is the key's limits at work, and does not count. `countGuess` counted a 401 already.
    if (status < 400 || status >= 429 || status === 401) return;
    const { grant } = asked;
    // A known key also pays one compute unit.
    if (grant) void grant.meter.charge(1, this.#parts.clock.now());
    this.#charge(asked, 1 + unitsOfBytes(bytes));
  }

  #charge(asked: KeyedRequest, points: number): void {
    const caller = this.#callerOf(asked);
    if (caller !== undefined) this.#parts.budget.charge(caller, points, this.#parts.clock.now());
  }

  #callerOf({ request, grant }: KeyedRequest): string | undefined {
    const address = this.#parts.clientAddress(request);
    if (address === undefined) return undefined;
    return grant ? `${subscriberOf(address)} ${grant.name}` : subscriberOf(address);
  }
}

export type RefuseKeyParts = {
  readonly guesses: Pick<Guesses, "judge">;
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly metrics: Pick<Metrics, "keyGuessed">;
};

/** Resolves with the refusal of an unknown key: the same text for all, after a delay for an address that guesses keys. */
export async function refuseKey(
  { address, scope }: { address: string | undefined; scope: RequestScope },
  { guesses, clock, metrics }: RefuseKeyParts,
): Promise<RpcError> {
  // A caller without an address has left.
  if (address === undefined) return errors.invalidKey();
  const verdict = guesses.judge(address, clock.now());
  switch (verdict.kind) {
    case "at once":
      metrics.keyGuessed("at once");
      return errors.invalidKey();
    case "turned away":
      metrics.keyGuessed("turned away");
      return errors.tooManyGuesses(verdict.limit, Math.ceil(verdict.retryAfterMs / 1000));
    case "after":
      metrics.keyGuessed("delayed");
      // The delay ends with the request's deadline, and when the caller leaves.
      await clock.sleep(verdict.delayMs, scope.signal()).catch(() => undefined);
      verdict.done();
      return errors.invalidKey();
  }
}

type RefusalLimits = Pick<Config["limits"], "refusals">;

/** The size of a caller's token bucket, in seconds of its rate, and the longest time for which a caller is refused. */
const SAVED_SECONDS = 20;
/** The most callers with a bucket. */
const MOST_CALLERS = 10_000;

/** A token bucket of forgiven refusals for each caller. */
export class RefusalBudget {
  /** The buckets in the order of their callers' last refusals; the oldest is dropped first. */
  readonly #buckets = new Map<string, TokenBucket>();
  readonly #exhausted = new Map<string, number>();
  /** The callers that used up their budget, and the time until which each is refused. Mostly none. */
  readonly exhausted: ReadonlyMap<string, number> = this.#exhausted;
  #limits: RefusalLimits;

  constructor(limits: RefusalLimits) {
    this.#limits = limits;
  }

  reconfigure(limits: RefusalLimits): void {
    this.#limits = limits;
    if (limits.refusals === 0) this.#exhausted.clear();
  }

  /** The refused requests that are forgiven each second; 0: no limit. */
  get perSecond(): number {
    return this.#limits.refusals;
  }

  /** The milliseconds for which the caller is still refused; 0: the caller is admitted. */
  refusedForMs(caller: string, nowMs: number): number {
    this.#forgetOne(nowMs);
    const untilMs = this.#exhausted.get(caller) ?? 0;
    if (untilMs > nowMs) return untilMs - nowMs;
    this.#exhausted.delete(caller);
    return 0;
  }

  /** Counts a refusal. @param points 1 for a request or call, and more for the bytes that were read. */
  charge(caller: string, points: number, nowMs: number): void {
    const { perSecond } = this;
    if (perSecond === 0) return;
    const bounds = { size: perSecond * SAVED_SECONDS, perSecond };
    const bucket = this.#buckets.get(caller) ?? new TokenBucket(bounds, nowMs);
    bucket.resize(bounds, nowMs);
    bucket.spend(points, nowMs, bounds.size);
    keepNewest(this.#buckets, [caller, bucket], MOST_CALLERS);
    const left = bucket.left(nowMs);
    const untilMs = nowMs + (-left / perSecond) * 1000;
    if (left < 0) keepNewest(this.#exhausted, [caller, untilMs], MOST_CALLERS);
  }

  /** Drops the caller that was exhausted first if its time is over, since it may never come again. */
  #forgetOne(nowMs: number): void {
    for (const [caller, untilMs] of this.#exhausted) {
      if (untilMs <= nowMs) this.#exhausted.delete(caller);
      return;
    }
  }
}

export type HandshakesParts = {
  readonly connections: Pick<Connections, "subscriberOf" | "isKnown">;
  readonly clock: Pick<Clock, "now">;
};

/**
 * Counts TLS connections that end before a valid key was seen on them, since each costs a handshake. An address with too
 * many is turned away before its next handshake.
 */
export class Handshakes {
  readonly #budget: RefusalBudget;
  readonly #parts: HandshakesParts;

  constructor(limits: RefusalLimits, parts: HandshakesParts) {
    this.#budget = new RefusalBudget(limits);
    this.#parts = parts;
  }

  reconfigure(limits: RefusalLimits): void {
    this.#budget.reconfigure(limits);
  }

  /** Begins to count a new connection. @returns Whether the connection may begin its handshake. */
  begin(socket: Socket): boolean {
    const { connections, clock } = this.#parts;
    const caller = connections.subscriberOf(socket);
    if (caller === undefined) return true;
    const { exhausted } = this.#budget;
    if (exhausted.size > 0 && this.#budget.refusedForMs(caller, clock.now()) > 0) return false;
    socket.once("close", () => {
      if (!connections.isKnown(socket)) this.#budget.charge(caller, 1, clock.now());
    });
    return true;
  }
}
