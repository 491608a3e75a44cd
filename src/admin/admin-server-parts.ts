// What administration is given by the gateway.
import type { Logger } from "pino";
import type { KeyBook } from "../access/keys/key-book.ts";
import type { Guesses } from "../access/scope/guesses.ts";
import type { UsageReport } from "../access/usage/usage-report.ts";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { Status } from "./schemas.ts";

export type UsageAsked = {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly key?: string | undefined;
  readonly network?: string | undefined;
};

type Mistakes = { readonly kind: "mistakes"; readonly mistakes: readonly string[] };

export type Reloaded =
  /** What was changed, one line each; none when nothing was to be changed. */
  | { readonly kind: "reloaded"; readonly changed: readonly string[] }
  /** What is wrong with the file; nothing was changed. */
  | Mistakes
  /** It cannot be done here or now. */
  | { readonly kind: "refused"; readonly why: string };

export type AdminServerParts = {
  readonly metrics: Pick<Metrics, "exposition" | "contentType">;
  readonly keys: Pick<
    KeyBook,
    "list" | "create" | "show" | "update" | "rotate" | "revoke" | "disable" | "enable"
  >;
  readonly readUsageReport: (asked: UsageAsked) => Promise<UsageReport | Mistakes>;
  readonly networks: () => Promise<Status["networks"]>;
  /** Why some network is not ready; empty when all are. */
  readonly whyNotReady: () => Promise<readonly string[]>;
  readonly reload: () => Promise<Reloaded>;
  readonly guesses: Pick<Guesses, "judge">;
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly log: Pick<Logger, "info" | "warn" | "error">;
};
