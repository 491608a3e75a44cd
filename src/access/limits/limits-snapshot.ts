// What is left of a key's limits, for those who ask.
import type { AllowanceState } from "./allowance.ts";

/** Only the limits that the key has. */
export type LimitsSnapshot = {
  /** In compute units a second. */
  readonly rate?: { readonly limit: number; readonly burst: number; readonly remaining: number };
  readonly day?: QuotaSnapshot;
  readonly month?: QuotaSnapshot;
  readonly concurrent?: { readonly limit: number; readonly running: number };
};

type QuotaSnapshot = {
  readonly limit: number;
  readonly used: number;
  readonly remaining: number;
  /** When it begins anew, in milliseconds since 1970. */
  readonly endsAtMs: number;
};

type WithState = { readonly state: AllowanceState };

type Settings = {
  readonly rate?: { readonly burstComputeUnits: number } | undefined;
  readonly concurrentCalls?: number | undefined;
};

export function snapshotOf(
  { rate, concurrentCalls: most }: Settings,
  limits: Readonly<Record<"rate" | "day" | "month", WithState | undefined>>,
  running: number,
): LimitsSnapshot {
  const rateState = limits.rate?.state;
  return {
    ...(rate && rateState && { rate: { ...rateState, burst: rate.burstComputeUnits } }),
    ...(limits.day && { day: quotaOf(limits.day.state) }),
    ...(limits.month && { month: quotaOf(limits.month.state) }),
    ...(most !== undefined && { concurrent: { limit: most, running } }),
  };
}

const quotaOf = ({ limit, remaining, endsAtMs = 0 }: AllowanceState): QuotaSnapshot => ({
  limit,
  used: limit - remaining,
  remaining,
  endsAtMs,
});
