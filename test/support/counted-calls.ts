// A call for the usage counters, and the day of its count.
import type { CountedCall } from "../../src/access/usage/key-usage.ts";
import { dayOf } from "../../src/lib/calendar.ts";
import type { Clock } from "../../src/lib/clock.ts";

export const okCall: CountedCall = {
  network: "eth",
  method: "eth_call",
  computeUnits: 3,
  bytes: 100,
  requestBytes: 40,
  outcome: "ok",
  saved: undefined,
  upstreamCalls: 1,
};

export const day = (clock: Pick<Clock, "wallTime">): string => dayOf(clock.wallTime());
