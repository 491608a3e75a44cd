// A process that answers callers, beside others on the same port, from what the writer writes.
import type { Logger } from "pino";
import { FilterCount } from "../filters/filter-count.ts";
import { processMemory } from "../gateway/memory.ts";
import { Networks } from "../gateway/networks.ts";
import { ServerSide } from "../gateway/server-side.ts";
import type { Clock } from "../lib/clock.ts";
import { Turns } from "../lib/turns.ts";
import { LogLevels } from "../observe/log-levels.ts";
import { Metrics } from "../observe/metrics.ts";
import { StallWatch } from "../observe/stall-watch.ts";
import { openState } from "../state/open-state.ts";
import type { Channel } from "./channel.ts";
import type { ChildRole, Start } from "./messages.ts";
import type { Worker } from "./worker.ts";
import { WriterLink } from "./writer-link.ts";

export async function startServer(
  { config, processes, news }: Start,
  { number, port }: Extract<ChildRole, { kind: "server" }>,
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
  const link = new WriterLink(
    { server: number },
    { send: (question) => channel.send({ kind: "question", ...question }), clock },
  );
  for (const each of news) link.hearNews(each);
  const state = await openState(config, {
    ...{ clock, log },
    onChange: metrics.stateReachable,
    onWritableChange: metrics.stateWritable,
  });
  const filterCount = new FilterCount({ state });
  const networks = new Networks(config, {
    ...{ clock, log, metrics, state, filterCount, memory, turns, isShared: true },
    role: { kind: "server", processes, writerOf: (network) => link.of(network) },
  });
  const listening = { ...config, listen: { ...config.listen, port } };
  const options = { slot: number, hasOthers: true };
  const serverSide = new ServerSide(listening, options, {
    ...{ networks, metrics, state, memory, turns, clock, log },
  });
  await serverSide.start();
  await networks.start();
  await serverSide.listen();
  stalls.start();
  return {
    networks,
    metrics,
    apply: (next) => {
      levels.set(next.log.level);
      resizeMemory(next);
      serverSide.reconfigure(next);
    },
    hear: (message) => {
      if (message.kind === "answer") link.hearAnswer(message);
      else if (message.kind === "news") link.hearNews(message);
      else if (message.kind === "writer away") link.writerIsAway();
    },
    stop: async () => {
      await serverSide.drain();
      await networks.close();
      await serverSide.close();
      await state.close();
      stalls.close();
    },
  };
}
