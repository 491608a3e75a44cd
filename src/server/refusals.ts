// Callers that guess keys, and callers whose requests are refused again and again. The latter are refused before more of
// a request is read. Requests count by key and address together, so no stranger keeps a neighbour's key out.

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
  /** The address of a request; headers of trusted proxies count. */
  readonly clientAddress: (request: CallerRequest) => string | undefined;
  readonly clock: Pick<Clock, "now">;
  readonly metrics: Pick<Metrics, "requestTurnedAway">;
};

/** A request, and the grant of its key. */
export type KeyedRequest = { readonly request: CallerRequest; readonly grant: Grant | undefined };

/** An unknown key costs more: it is searched for in more places than a known one. */
const POINTS_OF_A_GUESS = 10;

export class Refusals {
  /** While this is empty, all callers are let in, and no address has to be looked up. */
  readonly exhausted: RefusalBudget["exhausted"];
  readonly #parts: RefusalsParts;

  constructor(parts: RefusalsParts) {
    this.exhausted = parts.budget.exhausted;
    this.#parts = parts;
  }

  /** The refusal of a caller that was refused too often. */
  ofNow(request: CallerRequest, grant: Grant | undefined): RpcError | undefined {
    const { budget, clock, metrics } = this.#parts;
    const caller = this.#callerOf({ request, grant });
    const ms = caller === undefined ? 0 : budget.refusedForMs(caller, clock.now());
    if (ms === 0) return undefined;
    metrics.requestTurnedAway();
    return errors.tooManyRefusals(budget.perSecond, Math.ceil(ms / 1000));
  }

  /** Counts calls of a request that were refused. @param bytes The bytes that were read for nothing. */
  count(asked: KeyedRequest, refused: number, bytes: number): void {
    this.#charge(asked, refused + unitsOfBytes(bytes));
  }

  /** Counts an unknown key before it is refused, since the refusal may be delayed. */
  countGuess(request: CallerRequest): void {
    this.#charge({ request, grant: undefined }, POINTS_OF_A_GUESS);
  }

  /** Counts a request that was refused as a whole. */
  countRequest(asked: KeyedRequest, { status }: RpcError, bytes: number): void {
    // A caller over its limits is refused by these alone, and a guess was counted already.
    if (status < 400 || status >= 429 || status === 401) return;
    const { grant } = asked;
    // A known key pays one compute unit as well.
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

/** Refuses an unknown key with one text for all, after a delay where keys are guessed. @returns The refusal, once it is due. */
export async function refuseKey(
  { address, scope }: { address: string | undefined; scope: RequestScope },
  { guesses, clock, metrics }: RefuseKeyParts,
): Promise<RpcError> {
  // Without an address the caller has left.
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

/** A caller may have so many seconds' worth of refusals at once, and is let in again after so many seconds at most. */
const SAVED_SECONDS = 20;
/** How many callers are remembered. */
const MOST_CALLERS = 10_000;

export class RefusalBudget {
  /** In the order of their last refusal: the first one is forgotten first. */
  readonly #buckets = new Map<string, TokenBucket>();
  readonly #exhausted = new Map<string, number>();
  /** The callers that used up their budget, and until when each is refused. Few, and mostly none. */
  readonly exhausted: ReadonlyMap<string, number> = this.#exhausted;
  #limits: RefusalLimits;

  constructor(limits: RefusalLimits) {
    this.#limits = limits;
  }

  reconfigure(limits: RefusalLimits): void {
    this.#limits = limits;
    if (limits.refusals === 0) this.#exhausted.clear();
  }

  /** How many refused requests are forgiven each second; 0: there is no limit. */
  get perSecond(): number {
    return this.#limits.refusals;
  }

  /** For how many milliseconds the caller is refused; 0: it is not. */
  refusedForMs(caller: string, nowMs: number): number {
    this.#forgetOne(nowMs);
    const untilMs = this.#exhausted.get(caller) ?? 0;
    if (untilMs > nowMs) return untilMs - nowMs;
    this.#exhausted.delete(caller);
    return 0;
  }

  /** Counts a refusal. @param points 1 for a request, more for what it cost. */
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

  /** Forgets one caller that did not come again. */
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
 * Counts TLS connections that end before a valid key was seen on them, each of which cost a handshake. An address that
 * makes too many is turned away before the next handshake.
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

  /** A connection was made. @returns Whether it may begin a handshake. */
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
