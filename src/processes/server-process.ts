// A process that answers callers, beside others on the same port, from what the writer writes.
import type { Logger } from "pino";
import { Networks } from "../gateway/networks.ts";
import { openProcessParts } from "../gateway/process-parts.ts";
import { ServerSide } from "../gateway/server-side.ts";
import type { Clock } from "../lib/clock.ts";
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
  const link = new WriterLink(
    { server: number },
    { send: (question) => channel.send({ kind: "question", ...question }), clock },
  );
  for (const each of news) link.hearNews(each);
  const { stalls, common, filterCount, reconfigure } = await openProcessParts(
    config,
    { processes },
    { clock, log },
  );
  const networks = new Networks(config, {
    ...{ ...common, filterCount, isShared: true },
    role: { kind: "server", processes, writerOf: (network) => link.of(network) },
  });
  const listening = { ...config, listen: { ...config.listen, port } };
  const options = { slot: number, hasOthers: true };
  const serverSide = new ServerSide(listening, options, { ...common, networks });
  await serverSide.start();
  await networks.start();
  await serverSide.listen();
  stalls.start();
  return {
    networks,
    metrics: common.metrics,
    apply: (next) => {
      reconfigure(next);
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
      await common.state.close();
      stalls.close();
    },
  };
}
