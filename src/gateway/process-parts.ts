// The parts that every process of a gateway has, in each role: a single process, a server, or the writer.

import { totalmem } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";
import type { Config } from "../config/schema.ts";
import { secretsInEvidence } from "../config/secrets.ts";
import { writerIn } from "../disk/environment-folder.ts";
import type { Clock } from "../lib/clock.ts";
import { defaultBudget, MemoryBudget } from "../lib/memory-budget.ts";
import { Secrets } from "../lib/secrets.ts";
import { Turns } from "../lib/turns.ts";
import { Incidents } from "../observe/incidents.ts";
import { LogLevels } from "../observe/log.ts";
import { Metrics } from "../observe/metrics.ts";
import { ProcessWatch } from "../observe/process-watch.ts";
import { HeldState } from "../state/held-state.ts";
import { openState } from "../state/open-state.ts";
import { Drains } from "../upstream/drains.ts";

/**
 * @param options.processes The number of processes, among which the memory budget is divided.
 * @throws Error when the state cannot be opened.
 */
export async function openProcessParts(
  config: Config,
  options: { readonly processes: number },
  { clock, log }: { readonly clock: Clock; readonly log: Logger },
) {
  const levels = new LogLevels(log);
  let inEvidence = secretsInEvidence(config);
  let secrets = new Secrets(inEvidence);
  const incidents = new Incidents({ clock, redact: (text) => secrets.redact(text) });
  const metrics = new Metrics(incidents);
  const watch = new ProcessWatch({ clock, log, metrics });
  const { memory, reconfigure } = processMemory(config, options, { metrics, clock, log });
  const opened = await openState(config, {
    ...{ clock, log },
    onChange: metrics.stateReachable,
    onWritableChange: metrics.stateWritable,
  });
  const state = new HeldState(opened, {
    ...{ clock, log },
    onChange: ({ size }) => metrics.stateTextsHeld(size),
  });
  return {
    watch,
    incidents,
    /** The parts that most other parts take. */
    common: { metrics, state, memory, turns: new Turns({ clock }), clock, log },
    drains: new Drains({ state, clock, log }),
    reconfigure: (next: Config): void => {
      reconfigure(next);
      const before = inEvidence; // words of a node that left may still come
      inEvidence = secretsInEvidence(next);
      secrets = new Secrets([...inEvidence, ...before]);
      levels.set(next.log.level);
    },
  };
}

type MemorySettings = Pick<Config, "limits">;

/** A refusal for want of memory is logged only after so many milliseconds without one. */
const QUIET_MS = 60_000;

/**
 * Makes the memory budget of one process, its share of the configured bytes. Its refusals are counted, and the first one
 * after a quiet time is logged.
 */
function processMemory(
  config: MemorySettings,
  { processes }: { readonly processes: number },
  { metrics, clock, log }: { metrics: Metrics; clock: Clock; log: Logger },
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
          "requests are refused, since too much data waits in memory",
        );
    },
  });
  metrics.watchMemory(memory);
  return { memory, reconfigure: (next) => memory.resize(sizeFor(next)) };
}

const ofTheMachine = (): number =>
  defaultBudget({ total: totalmem(), constrained: process.constrainedMemory() });

const TIMEOUT_MS = 10_000;
const LOOK_AGAIN_MS = 50;

/**
 * Waits until no other process has locked the stores of the networks, so that a restart that overlaps with the end of the
 * gateway before it does not fail. Resolves also after 10 s: then opening the stores names the process that locked them.
 * @throws StoreUnavailable when a folder cannot be written.
 */
export async function waitForStores(
  { data, networks }: Pick<Config, "data" | "networks">,
  { clock, log }: { clock: Pick<Clock, "now" | "sleep">; log: Pick<Logger, "info"> },
): Promise<void> {
  const folders = Object.entries(networks)
    .filter(([, { window }]) => window.blocks > 0)
    .map(([name]) => join(data, name));
  const giveUpAt = clock.now() + TIMEOUT_MS;
  let toldOf: string | undefined;
  for (const folder of folders) {
    let writer = writerIn(folder);
    while (writer !== undefined && clock.now() < giveUpAt) {
      if (toldOf !== writer) log.info({ writer, folder }, "waiting for the earlier gateway to end");
      toldOf = writer;
      await clock.sleep(LOOK_AGAIN_MS);
      writer = writerIn(folder);
    }
  }
}
