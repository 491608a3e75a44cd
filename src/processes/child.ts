// A child of the supervisor. The first message to a child has its role; further messages are requests and news.

import type { Logger } from "pino";
import type { Config } from "../config/schema.ts";
import { Networks, type NetworksChange } from "../gateway/networks.ts";
import { openProcessParts, waitForStores } from "../gateway/process-parts.ts";
import { ServerSide } from "../gateway/server-side.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { HEARTBEAT_MS } from "../lib/waiting.ts";
import type { NetworkRole } from "../network/role.ts";
import { createLog, LogSecrets } from "../observe/log.ts";
import type { SlowCall } from "../observe/stories.ts";
import type { CallTrials } from "../server/try-call.ts";
import { endProcess, listenForUnexpectedErrors } from "./end-process.ts";
import type { ChildReply, ChildRole, FromChild, Request, Start, ToChild } from "./messages.ts";
import { WriterLink, WriterService } from "./writer-link.ts";

/** Runs until the supervisor tells this process to stop, or is gone. */
export function runChild(): void {
  const send = openLine();
  let child: Child | undefined;
  const beat = (): void => {
    send({ kind: "alive" });
    systemClock.after(HEARTBEAT_MS, beat);
  };
  beat();
  process.on("message", (message: ToChild) => {
    if (message.kind === "start") child = new Child(message, send);
    else child?.receive(message);
  });
  // A terminal or a process manager signals all processes of a group: the supervisor decides what that means.
  process.on("SIGINT", () => undefined);
  process.on("SIGHUP", () => undefined);
  process.on("SIGTERM", () => send({ kind: "told to end" }));
}

type Send = (message: FromChild) => void;

/** The most messages that may wait for the supervisor to read them. */
const MOST_UNSENT = 1_000;

/**
 * Opens the channel to the supervisor. When the channel closes the supervisor is gone, and the child ends, too.
 * @throws When this process was not started by a supervisor.
 */
function openLine(): Send {
  if (!process.send) throw new Error("this process is started by a gateway, not by hand");
  process.on("disconnect", () => endProcess(1));
  let unsent = 0;
  const onSent = (): void => {
    unsent -= 1;
  };
  return (message) => {
    // Without a channel this child ends, and no process waits for its messages. Messages that a hanging supervisor does
    // not read are dropped.
    if (!process.connected || unsent >= MOST_UNSENT) return;
    unsent += 1;
    process.send?.(message, undefined, undefined, onSent);
  };
}

const nameOf = (role: ChildRole): string =>
  role.kind === "server" ? `server ${role.number}` : role.kind;

/** The time for closing after an unexpected error, in milliseconds: closing may hang. */
const CLOSING_MS = 4_000;

class Child {
  readonly #worker: Promise<Worker>;
  /** The change that was prepared and is not committed yet. */
  #prepared: { readonly config: Config; readonly change: NetworksChange } | undefined;
  #isStopping = false;
  readonly #secrets = new LogSecrets();
  readonly #send: Send;

  constructor(start: Start, send: Send) {
    this.#send = send;
    const { config, role } = start;
    this.#secrets.hide(config);
    const log = createLog({ ...config.log, process: nameOf(role), secrets: this.#secrets });
    listenForUnexpectedErrors({
      log,
      onUnexpected: (kind) => {
        send({ kind: "unexpected", what: kind });
        void this.stop(1); // the supervisor starts another child
        systemClock.after(config.timeouts.drainMs + CLOSING_MS, () => endProcess(1));
      },
    });
    process.title = `headgate ${nameOf(start.role)}`;
    this.#worker = startWorker(start, { send, clock: systemClock, log });
    this.#worker.then(
      () => send({ kind: "ready" }),
      (error: unknown) => this.#fail(error),
    );
  }

  receive(message: ToChild): void {
    if (message.kind === "stop") void this.stop();
    else if (message.kind === "request") void this.#serve(message.id, message.request);
    else void this.#worker.then((worker) => worker.receive(message));
  }

  /** Lets running calls end, and closes everything. */
  async stop(code = 0): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    try {
      await (await this.#worker).stop();
      endProcess(code);
    } catch (error) {
      this.#fail(error);
    }
  }

  async #serve(id: number, request: Request): Promise<void> {
    const reply: ChildReply = await this.#done(request).then(
      (value) => ({ kind: "done", value }),
      (error: unknown) => ({ kind: "failed", why: whyOf(error) }),
    );
    this.#send({ kind: "reply", id, reply });
  }

  async #done(request: Request): Promise<unknown> {
    const worker = await this.#worker;
    switch (request.what) {
      case "prepare":
        return this.#prepare(request.config, worker);
      case "commit":
        return this.#commit(request.withinMs, worker);
      case "cancel":
        return this.#cancel();
      case "measure":
        return worker.metrics.values();
      case "calls":
        return worker.calls?.() ?? [];
      case "try":
        return worker.trials?.try(request.asked);
      case "describe":
        return worker.trials?.describe(request.asked);
      case "incidents":
        return worker.incidents.all();
      case "look at state":
        worker.state.show(request.held);
        return worker.drains.look();
      case "status":
        return worker.networks.status();
    }
  }

  async #prepare(config: Config, worker: Worker): Promise<void> {
    await this.#cancel();
    this.#secrets.hide(config);
    this.#prepared = { config, change: await worker.networks.prepare(config) };
  }

  async #commit(withinMs: number, worker: Worker): Promise<void> {
    if (!this.#prepared) throw new Error("there is no prepared configuration");
    const { config, change } = this.#prepared;
    this.#prepared = undefined;
    // The commit and `apply` happen in one turn of the event loop: no call sees a part of the change.
    const committed = change.commit(withinMs);
    worker.apply(config);
    await committed;
  }

  async #cancel(): Promise<void> {
    const prepared = this.#prepared;
    this.#prepared = undefined;
    await prepared?.change.cancel();
  }

  #fail(error: unknown): void {
    if (!this.#isStopping) this.#send({ kind: "failed", why: whyOf(error) });
    // In the next turn, so that the message is sent before the process ends.
    setImmediate(() => endProcess(1));
  }
}

const whyOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * The work of a child. The writer follows all chains, writes their stores, and ends expired filters. A server answers
 * callers from these stores, beside other servers on the same port.
 */
type Worker = Awaited<ReturnType<typeof openNetworks>>["worker"] & {
  /** See `ServerSide.slowCalls`. The writer answers no callers. */
  readonly calls?: () => readonly SlowCall[];
  readonly trials?: Pick<CallTrials, "try" | "describe">;
  /** Gets messages of the writer, or of servers. */
  readonly receive: (message: ToChild) => void;
  /** Lets running calls end, and closes everything. */
  readonly stop: () => Promise<void>;
};

type WorkerParts = {
  /** Sends to the supervisor. */
  readonly send: (message: FromChild) => void;
  readonly clock: Clock;
  readonly log: Logger;
};

/** @throws StoreUnavailable */
const startWorker = (start: Start, parts: WorkerParts): Promise<Worker> =>
  start.role.kind === "writer" ? startWriter(start, parts) : startServer(start, start.role, parts);

/** Opens the parts of this process, and its networks, which do not run yet; `worker` has the members of both roles. */
async function openNetworks(
  { config, processes, held }: Start,
  role: NetworkRole,
  parts: WorkerParts,
) {
  const opened = await openProcessParts(config, { processes }, parts);
  opened.common.state.show(held);
  await opened.drains.start();
  const { common, drains, incidents, watch, reconfigure } = opened;
  const networks = new Networks(config, { ...common, drains, isShared: true, role });
  const { state, metrics } = common;
  const worker = {
    ...{ networks, drains, state, metrics, incidents },
    /** Makes all parts but the networks take a configuration, at once. */
    apply: reconfigure,
  };
  const close = async (): Promise<void> => {
    await state.close();
    watch.close();
  };
  return { common, watch, worker, close };
}

async function startWriter(start: Start, parts: WorkerParts): Promise<Worker> {
  const { config, processes } = start;
  const service = new WriterService(parts);
  await waitForStores(config, parts);
  const { watch, worker, close } = await openNetworks(
    start,
    { kind: "writer", processes, serve: (network, kept) => service.serve(network, kept) },
    parts,
  );
  const { networks, drains } = worker;
  await networks.start();
  watch.start();
  return {
    ...worker,
    receive: (message) => {
      if (message.kind === "question") void service.receive(message);
    },
    stop: async () => {
      drains.close();
      await networks.close();
      await close();
    },
  };
}

async function startServer(
  start: Start,
  { number, port }: Extract<ChildRole, { kind: "server" }>,
  parts: WorkerParts,
): Promise<Worker> {
  const { config, processes, news } = start;
  const link = new WriterLink(
    { server: number },
    { send: (question) => parts.send({ kind: "question", ...question }), clock: parts.clock },
  );
  for (const each of news) link.receive({ kind: "news", ...each });
  const { common, watch, worker, close } = await openNetworks(
    start,
    { kind: "server", processes, writerOf: (network) => link.of(network) },
    parts,
  );
  const { networks, drains } = worker;
  const listening = { ...config, listen: { ...config.listen, port } };
  const options = { slot: number, hasOthers: true };
  const serverSide = new ServerSide(listening, options, { ...common, networks });
  await serverSide.start();
  await networks.start();
  await serverSide.listen();
  watch.start();
  return {
    ...worker,
    calls: () => serverSide.slowCalls(),
    trials: serverSide.trials,
    apply: (next) => {
      worker.apply(next);
      serverSide.reconfigure(next);
    },
    receive: (message) => {
      if (message.kind === "answer" || message.kind === "news" || message.kind === "writer away")
        link.receive(message);
    },
    stop: async () => {
      await serverSide.drain();
      drains.close();
      await networks.close();
      await serverSide.close();
      await close();
    },
  };
}
