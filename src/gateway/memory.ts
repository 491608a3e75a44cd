// How much may wait in the memory of one process; and that it is told, once, when that is too much.
import { totalmem } from "node:os";
import type { Logger } from "pino";
import type { Config } from "../config/schema.ts";
import type { Clock } from "../lib/clock.ts";
import { defaultBudget, MemoryBudget } from "../lib/memory-budget.ts";
import type { Metrics } from "../observe/metrics.ts";

type MemorySettings = Pick<Config, "limits">;

export type ProcessMemoryParts = {
  readonly metrics: Pick<Metrics, "watchMemory" | "memoryRefused">;
  readonly clock: Pick<Clock, "now">;
  readonly log: Pick<Logger, "warn">;
};

/** A refusal is told of when none was for so long. */
const QUIET_MS = 60_000;

/** @param options.processes Among so many what is configured is divided. */
export function processMemory(
  config: MemorySettings,
  { processes }: { readonly processes: number },
  { metrics, clock, log }: ProcessMemoryParts,
): { readonly memory: MemoryBudget; reconfigure(next: MemorySettings): void } {
  const sizeFor = ({ limits }: MemorySettings) => ({
    bytes: Math.floor((limits.memoryBytes ?? ofTheMachine()) / processes),
  });
  let lastRefusalAt = Number.NEGATIVE_INFINITY;
  const memory = new MemoryBudget(sizeFor(config), {
    onRefused: (what, why, holder) => {
      metrics.memoryRefused(what, why);
      const isNew = clock.now() - lastRefusalAt > QUIET_MS;
      lastRefusalAt = clock.now();
      const { waiting, bytes } = memory;
      const own = holder && { key: holder.name, waitingForKey: holder.bytes };
      if (isNew)
        log.warn(
          { what, why, waiting, limit: bytes, ...own },
          "too much waits in memory: refusing",
        );
    },
  });
  metrics.watchMemory(memory);
  return { memory, reconfigure: (next) => memory.resize(sizeFor(next)) };
}

const ofTheMachine = (): number =>
  defaultBudget({ total: totalmem(), constrained: process.constrainedMemory() });
