// The faults that are tested one by one, each with one healthy node behind the faulty ones.
import type { Fault } from "./faults.ts";
import type { Scenario } from "./scenario.ts";

const hang: Fault = { kind: "hang" };
const errors: Fault = { kind: "status", statuses: [500, 502, 503] };
const tooMany: Fault = { kind: "status", statuses: [429], retryAfterSeconds: 2 };

const followed: Readonly<Record<string, readonly Fault[]>> = {
  "answers 1.5 s late": [{ kind: "delay", ms: 1_500 }],
  "answers every second call 1.5 s late": [{ kind: "slow half", ms: 1_500 }],
  "answers byte by byte": [{ kind: "drip" }],
  "never answers": [hang],
  "resets connections": [{ kind: "reset" }],
  "refuses connections": [{ kind: "refuse" }],
  "is away every second second": [{ kind: "flapping" }],
  "429 with Retry-After": [tooMany],
  "429 without": [{ kind: "status", statuses: [429] }],
  "-32005 with status 200": [{ kind: "limited" }],
  "500, 502, 503": [errors],
  "a web page with status 200": [{ kind: "page" }],
  "JSON that is cut off": [{ kind: "cut" }],
  "answers to other calls": [{ kind: "wrong id" }],
  "its head stands still, 10 blocks back": [{ kind: "stale", blocks: 10 }],
  "its head is on another branch": [{ kind: "fork" }],
  "lies about blocks, receipts and logs": [{ kind: "lies" }],
  "has no state": [{ kind: "no state" }],
  "two nodes: never answers, resets": [hang, { kind: "reset" }],
};

const passedOn: Readonly<Record<string, readonly Fault[]>> = {
  "never answers": [hang],
  "resets connections": [{ kind: "reset" }],
  "429 with Retry-After": [tooMany],
  "500, 502, 503": [errors],
  // Without a followed chain the gateway notices late: with one-second blocks, it has less than two seconds for that.
  "its head stands still, 2 blocks back": [{ kind: "stale", blocks: 2 }],
};

const scenariosOf = (
  faultsByName: Readonly<Record<string, readonly Fault[]>>,
  isFollowed: boolean,
): Scenario[] =>
  Object.entries(faultsByName).map(([name, faults]) => ({ name, faults, isFollowed }));

export const scenarios: readonly Scenario[] = [
  ...scenariosOf(followed, true),
  ...scenariosOf(passedOn, false),
];
