// The process that follows all chains, writes their stores, and ends filters that nobody polls.
import type { Logger } from "pino";
import { Networks } from "../gateway/networks.ts";
import { openProcessParts, untilStoresAreFree } from "../gateway/process-parts.ts";
import type { Clock } from "../lib/clock.ts";
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
  const service = new WriterService({
    tell: (news) => channel.send({ kind: "news", ...news }),
    answer: (answer) => channel.send({ kind: "answer", ...answer }),
    clock,
    log,
  });
  await untilStoresAreFree(config, parts);
  const { stalls, common, filterCount, reconfigure } = await openProcessParts(
    config,
    { processes },
    { clock, log },
  );
  const networks = new Networks(config, {
    ...{ ...common, filterCount, isShared: true },
    role: { kind: "writer", processes, serve: (network, kept) => service.serve(network, kept) },
  });
  await networks.start();
  stalls.start();
  return {
    networks,
    metrics: common.metrics,
    apply: reconfigure,
    hear: (message) => {
      if (message.kind === "question") void service.hear(message);
    },
    stop: async () => {
      await networks.close();
      await common.state.close();
      stalls.close();
    },
  };
}
