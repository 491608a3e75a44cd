// What a child of the supervisor becomes: the writer, which follows all chains, writes their stores, and ends filters that
// nobody polls; or a server, which answers callers beside others on the same port, from what the writer writes.
import type { Logger } from "pino";
import type { Config } from "../config/schema.ts";
import { Networks } from "../gateway/networks.ts";
import { openProcessParts, untilStoresAreFree } from "../gateway/process-parts.ts";
import { ServerSide } from "../gateway/server-side.ts";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { ChildRole, FromChild, Start, ToChild } from "./messages.ts";
import { WriterLink, WriterService } from "./writer-link.ts";

export type Worker = {
  readonly networks: Pick<Networks, "prepare" | "status">;
  readonly metrics: Pick<Metrics, "values">;
  /** Has all parts but the networks take over a configuration, at once. */
  readonly apply: (config: Config) => void;
  /** What comes from the writer, or from servers. */
  readonly receive: (message: ToChild) => void;
  /** Running calls end, and everything is closed. */
  readonly stop: () => Promise<void>;
};

export type WorkerParts = {
  /** To the supervisor. */
  readonly send: (message: FromChild) => void;
  readonly clock: Clock;
  readonly log: Logger;
};

/** @throws StoreUnavailable */
export const startWorker = (start: Start, parts: WorkerParts): Promise<Worker> =>
  start.role.kind === "writer" ? startWriter(start, parts) : startServer(start, start.role, parts);

async function startWriter({ config, processes }: Start, parts: WorkerParts): Promise<Worker> {
  const service = new WriterService(parts);
  await untilStoresAreFree(config, parts);
  const { stalls, common, filterCount, reconfigure } = await openProcessParts(
    config,
    { processes },
    parts,
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
    receive: (message) => {
      if (message.kind === "question") void service.receive(message);
    },
    stop: async () => {
      await networks.close();
      await common.state.close();
      stalls.close();
    },
  };
}

async function startServer(
  { config, processes, news }: Start,
  { number, port }: Extract<ChildRole, { kind: "server" }>,
  parts: WorkerParts,
): Promise<Worker> {
  const link = new WriterLink(
    { server: number },
    { send: (question) => parts.send({ kind: "question", ...question }), clock: parts.clock },
  );
  for (const each of news) link.receive({ kind: "news", ...each });
  const { stalls, common, filterCount, reconfigure } = await openProcessParts(
    config,
    { processes },
    parts,
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
    receive: (message) => {
      if (message.kind === "answer" || message.kind === "news" || message.kind === "writer away")
        link.receive(message);
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
