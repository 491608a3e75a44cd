// The process that follows all chains, writes their stores, and ends filters that nobody polls.
import type { Logger } from "pino";
import { FilterCount } from "../filters/filter-count.ts";
import { untilStoresAreFree } from "../gateway/free-stores.ts";
import { processMemory } from "../gateway/memory.ts";
import { Networks } from "../gateway/networks.ts";
import type { Clock } from "../lib/clock.ts";
import { Turns } from "../lib/turns.ts";
import { LogLevels } from "../observe/log-levels.ts";
import { Metrics } from "../observe/metrics.ts";
import { StallWatch } from "../observe/stall-watch.ts";
import { openState } from "../state/open-state.ts";
import type { Channel } from "./channel.ts";
import type { Start } from "./messages.ts";
import type { Worker } from "./worker.ts";
import { WriterService } from "./writer-service.ts";

/** @throws StoreUnavailable */
export async function startWriter(
  { config, processes }: Start,
  parts: { readonly channel: Channel; readonly clock: Clock; readonly log: Logger },
): Promise<Worker> {
  const { channel, clock, log } = parts;
  const levels = new LogLevels(log);
  const metrics = new Metrics();
  const stalls = new StallWatch({ clock, log, metrics });
  const { memory, reconfigure: resizeMemory } = processMemory(
    config,
    { processes },
    { metrics, clock, log },
  );
  const turns = new Turns({ clock });
  const service = new WriterService({
    tell: (news) => channel.send({ kind: "news", ...news }),
    answer: (answer) => channel.send({ kind: "answer", ...answer }),
    clock,
    log,
  });
  await untilStoresAreFree(config, parts);
  const state = await openState(config, {
    ...{ clock, log },
    onChange: metrics.stateReachable,
    onWritableChange: metrics.stateWritable,
  });
  const filterCount = new FilterCount({ state });
  const networks = new Networks(config, {
    ...{ clock, log, metrics, state, filterCount, memory, turns, isShared: true },
    role: { kind: "writer", processes, serve: (network, kept) => service.serve(network, kept) },
  });
  await networks.start();
  stalls.start();
  return {
    networks,
    metrics,
    apply: (next) => {
      resizeMemory(next);
      levels.set(next.log.level);
    },
    hear: (message) => {
      if (message.kind === "question") void service.hear(message);
    },
    stop: async () => {
      await networks.close();
      await state.close();
      stalls.close();
    },
  };
}
