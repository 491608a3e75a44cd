// What each process of a gateway has, whatever it does: one that does everything, a server, the writer.
import type { Logger } from "pino";
import type { Config } from "../config/schema.ts";
import { FilterCount } from "../filters/filter-record.ts";
import type { Clock } from "../lib/clock.ts";
import { Turns } from "../lib/turns.ts";
import { LogLevels } from "../observe/log-levels.ts";
import { Metrics } from "../observe/metrics.ts";
import { StallWatch } from "../observe/stall-watch.ts";
import { openState } from "../state/open-state.ts";
import { processMemory } from "./memory.ts";

/**
 * @param options.processes How many there are: what may wait in memory is divided among them.
 * @throws When the state cannot be opened.
 */
export async function openProcessParts(
  config: Config,
  options: { readonly processes: number },
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
) {
  const levels = new LogLevels(log);
  const metrics = new Metrics();
  const stalls = new StallWatch({ clock, log, metrics });
  const { memory, reconfigure } = processMemory(config, options, { metrics, clock, log });
  const state = await openState(config, {
    ...{ clock, log },
    onChange: metrics.stateReachable,
    onWritableChange: metrics.stateWritable,
  });
  return {
    stalls,
    /** What most parts are made with. */
    common: { metrics, state, memory, turns: new Turns({ clock }), clock, log },
    filterCount: new FilterCount({ state }),
    reconfigure: (next: Config): void => {
      reconfigure(next);
      levels.set(next.log.level);
    },
  };
}
