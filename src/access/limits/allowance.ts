// One limit of a key, as the meter sees it: one of several that must all have enough.
import type { RateLimit } from "../../jsonrpc/rpc-error.ts";

export type Allowance = {
  /** Whether the call has to wait or to be refused. */
  lacks(computeUnits: number, nowMs: number): boolean;
  /** Only when it does not lack them. */
  take(computeUnits: number, nowMs: number): void;
  /**
   * For a call that it lacks: what a 429 tells, "coming" when a reservation is under way that may bring
   * enough, undefined when there is enough after all.
   */
  shortage(computeUnits: number, nowMs: number): RateLimit | "coming" | undefined;
  /** What a 429 tells. */
  told(nowMs: number, computeUnits: number): RateLimit;
  /** Resolves when the reservation has ended that was under way, or takes too long. */
  readonly coming: Promise<void>;
  /** Once a second: gives back what nobody uses, looks whether the state is there again. */
  tend(nowMs: number): void;
  /** Gives everything back. Never rejects. */
  close(): Promise<void>;
  readonly state: AllowanceState;
};

export type AllowanceState = {
  readonly limit: number;
  readonly remaining: number;
  /** Of a quota: when it begins anew, in milliseconds since 1970. */
  readonly endsAtMs?: number;
};
