// The only place that creates and joins the parts of a gateway. Read from top to bottom, it shows the architecture.

import type { Logger } from "pino";
import { AuditTrail, actorHere } from "./access/audit-trail.ts";
import { unservedNames } from "./access/limits/meter.ts";
import type { Reloaded } from "./admin/admin-parts.ts";
import { AdminServer } from "./admin/admin-server.ts";
import { WriterThread } from "./chain/thread/writer-thread.ts";
import type { Config } from "./config/schema.ts";
import { urlOf } from "./config/server-settings.ts";
import { Configuration, type ConfigurationSource } from "./gateway/configuration.ts";
import { Networks } from "./gateway/networks.ts";
import { openProcessParts, waitForStores } from "./gateway/process-parts.ts";
import { Reload } from "./gateway/reload.ts";
import { ServerSide } from "./gateway/server-side.ts";
import type { Clock } from "./lib/clock.ts";
import type { UnexpectedKind } from "./observe/metrics.ts";

export type Gateway = {
  /** The URLs for callers and operators, with the ports that are in use. */
  readonly urls: { readonly server: string; readonly admin: string };
  /** Applies another configuration in one step, without dropping calls, or refuses it as a whole. Never rejects. */
  reload(config: Config): Promise<Reloaded>;
  /** As `reload`, with the current configuration file. @param who The actor for the audit trail; left out: SIGHUP. */
  reloadFile(who?: string): Promise<Reloaded>;
  /** Counts unexpected errors in the metrics. @param times How many; left out: 1. */
  unexpected(kind: UnexpectedKind, times?: number): void;
  /** Accepts no new connections, lets calls end, then closes all parts. @param why For the audit trail, if any. */
  stop(why?: string): Promise<void>;
  /** Whether the gateway answers callers. When this stays false for long, a restart may help. */
  readonly isAlive: () => boolean;
  /** How long running calls have to end when the gateway stops, in milliseconds. */
  drainMs(): number;
  /** Ends at once the other processes that the gateway started. */
  kill(): void;
};

export type GatewayParts = {
  readonly clock: Clock;
  readonly log: Logger;
  readonly source?: ConfigurationSource | undefined;
};

/** Starts a gateway in this process. @throws Error when a port cannot be taken; then the parts are closed again. */
export async function startGateway(config: Config, parts: GatewayParts): Promise<Gateway> {
  const { clock, log } = parts;
  await waitForStores(config, parts);
  const opened = await openProcessParts(config, { processes: 1 }, parts);
  const { watch, incidents, common, drains, reconfigure } = opened;
  const { metrics, state } = common;
  const isShared = config.state !== undefined;
  let { drainMs, heartbeatMs } = config.timeouts;
  const thread = new WriterThread(
    {},
    {
      silenceMs: () => heartbeatMs,
      onEnd: (why) => metrics.writerReplaced(why),
      ...{ clock, log },
    },
  );
  const networks = new Networks(config, {
    ...{ ...common, drains, isShared },
    role: { kind: "whole", thread },
  });
  const serverSide = new ServerSide(
    config,
    { slot: 0, hasOthers: isShared },
    { ...common, networks },
  );
  const apply = (next: Config): void => {
    reconfigure(next);
    ({ drainMs, heartbeatMs } = next.timeouts);
    serverSide.reconfigure(next);
    admin.reconfigure(next);
    warnOfUnservedCosts(next, networks, log);
  };
  const audit = new AuditTrail({ state, clock, log });
  const reload = new Reload(config, { networks, apply, audit, clock, log });
  const { source } = parts;
  const admin = new AdminServer(config, {
    metrics,
    networks: () => networks.status(),
    whyNotReady: () => serverSide.whyNotReady(),
    notes: async () => serverSide.notes(),
    calls: async () => serverSide.slowCalls(),
    trials: serverSide.trials,
    incidents: async () => incidents.all(),
    drain: async (node, by) =>
      networks.hasNode(node) || drains.has(node) ? drains.set(node, by) : undefined,
    reload: (by) => reload.again(source?.read, by),
    configuration: new Configuration({ source, reload, audit }),
    ...{ audit, state, clock, log },
  });

  const stop = async (why?: string): Promise<void> => {
    const noted = why && audit.note(actorHere(why), { what: "the gateway was told to end" });
    thread.callOff();
    await Promise.all([reload.close(), serverSide.drain()]);
    await admin.close();
    await serverSide.close();
    drains.close();
    if (why !== undefined) drains.tellAtEnd();
    // This unlocks the stores: a new gateway that waits for them in `waitForStores` goes on here.
    await networks.close();
    await thread.close();
    await noted;
    await state.close();
    watch.close();
  };

  try {
    warnOfUnservedCosts(config, networks, log);
    await serverSide.start();
    await drains.start();
    await networks.start();
    const adminPort = await admin.listen();
    const serverPort = await serverSide.listen();
    thread.start();
    watch.start();
    const urls = {
      server: urlOf(config.listen, serverPort),
      admin: urlOf(config.admin.listen, adminPort),
    };
    log.info({ ...urls, networks: networks.names }, "listening");
    void admin.prepare();
    drains.tellAtStart();
    return {
      urls,
      reload: (next) => reload.to(next, actorHere("program")),
      reloadFile: (who = "SIGHUP") => reload.again(source?.read, actorHere(who)),
      unexpected: metrics.unexpected,
      stop,
      isAlive: () => true, // the thread that runs this function is the thread that answers callers
      drainMs: () => drainMs,
      kill: () => undefined,
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

function warnOfUnservedCosts({ costs }: Config, networks: Networks, log: Logger): void {
  const isServed = (name: string): boolean =>
    networks.all.some(({ catalogue }) => catalogue.served.get(name) !== undefined);
  for (const name of unservedNames(costs, isServed))
    log.warn({ setting: `costs.${name}` }, "no network serves a method of this name");
}
