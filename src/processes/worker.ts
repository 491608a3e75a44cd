// What writer and server have in common for whoever runs them.
import type { Config } from "../config/schema.ts";
import type { Networks } from "../gateway/networks.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { ToChild } from "./messages.ts";

export type Worker = {
  readonly networks: Pick<Networks, "prepare" | "status">;
  readonly metrics: Pick<Metrics, "values">;
  /** Has all parts but the networks take over a configuration, at once. */
  readonly apply: (config: Config) => void;
  /** What comes from the writer, or from servers. */
  readonly hear: (message: ToChild) => void;
  /** Running calls end, and everything is closed. */
  readonly stop: () => Promise<void>;
};
