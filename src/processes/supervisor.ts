// The supervisor, the first process of a gateway with several processes: it starts a writer and servers, and serves the
// operators' API.

import { type AddressInfo, createServer } from "node:net";
import { AuditTrail, actorHere } from "../access/audit-trail.ts";
import { AdminServer } from "../admin/admin-server.ts";
import type { Status } from "../admin/schemas.ts";
import type { Config } from "../config/schema.ts";
import { urlOf } from "../config/server-settings.ts";
import { Configuration } from "../gateway/configuration.ts";
import { whyUnidentified } from "../gateway/networks.ts";
import { waitForStores } from "../gateway/process-parts.ts";
import { Reload } from "../gateway/reload.ts";
import type { Gateway, GatewayParts } from "../gateway.ts";
import type { Clock } from "../lib/clock.ts";
import { CombinedMetrics } from "../observe/combined-metrics.ts";
import { LogLevels } from "../observe/log.ts";
import { HeldState } from "../state/held-state.ts";
import { openState } from "../state/open-state.ts";
import { whyStateNotWritable } from "../state/state.ts";
import { Drains, type NodeDrain } from "../upstream/drains.ts";
import { Processes } from "./processes.ts";

export type SupervisorOptions = { readonly servers: number; readonly program: string };

/** Starts all processes. @throws ChildFailed, or the error of a port in use; then no child is left running. */
export async function startSupervisor(
  config: Config,
  options: SupervisorOptions,
  parts: GatewayParts,
): Promise<Gateway> {
  const { clock, log } = parts;
  const levels = new LogLevels(log);
  process.title = "headgate supervisor";
  await waitForStores(config, parts);
  const port = await freePort(config.listen, parts);
  let current = config;
  const state = new HeldState(await openState(config, { clock, log }), {
    ...{ clock, log },
    onChange: () => void processes.lookAtState(),
  });
  const drains = new Drains({ state, clock, log });
  await drains.look();
  const processes = new Processes(
    { ...options, port },
    {
      config: () => current,
      held: () => state.held,
      onEnd: (name, why) => void metrics.processEnded(name, why),
      onUnexpected: (kind) => metrics.unexpected(kind),
      clock,
      log,
    },
  );
  const metrics = new CombinedMetrics({ measure: () => processes.measure() });
  const prepare = async (next: Config) => {
    await processes.prepare(next);
    return {
      commit: (withinMs: number) => {
        current = next;
        return processes.commit(withinMs);
      },
      cancel: () => processes.cancel(),
    };
  };
  const apply = (next: Config): void => {
    levels.set(next.log.level);
    admin.reconfigure(next);
  };
  const audit = new AuditTrail({ state, clock, log });
  const reload = new Reload(config, { networks: { prepare }, apply, audit, clock, log });
  const { source } = parts;
  const networks = () => processes.status() as Promise<Status["networks"]>;
  const admin = new AdminServer(config, {
    metrics,
    networks,
    whyNotReady: async () => [
      ...(await networks()).flatMap(({ whyNotReady }) => whyNotReady ?? []),
      ...whyUnidentified(current.unidentified),
      ...whyStateNotWritable(state),
    ],
    notes: async () =>
      (await networks()).flatMap(({ network, notes = [] }) =>
        notes.map((note) => `${network}: ${note}`),
      ),
    calls: () => processes.calls(),
    trials: {
      try: (asked) => processes.ofServer({ what: "try", asked }),
      describe: (asked) => processes.ofServer({ what: "describe", asked }),
    },
    incidents: () => processes.incidents(),
    drain: async (node, by) => {
      await drains.look();
      if (!isNodeOf(current, node) && !drains.has(node)) return undefined;
      const done = await drains.set(node, by);
      await processes.lookAtState();
      return done;
    },
    reload: (by) => reload.again(source?.read, by),
    configuration: new Configuration({ source, reload, audit }),
    ...{ audit, state, clock, log },
  });
  const stop = async (why?: string): Promise<void> => {
    const noted = why && audit.note(actorHere(why), { what: "the gateway was told to end" });
    await reload.close();
    await drains.look();
    if (why !== undefined) drains.tellAtEnd();
    await processes.stopServers(current.timeouts.drainMs);
    await admin.close();
    // The end of the writer frees the stores: another gateway may wait for them, and begins then.
    await processes.stopWriter();
    await noted;
    await state.close();
  };
  try {
    await processes.start();
    const adminPort = await admin.listen();
    const urls = {
      server: urlOf(config.listen, port),
      admin: urlOf(config.admin.listen, adminPort),
    };
    const { servers } = options;
    log.info({ ...urls, networks: Object.keys(config.networks), servers }, "listening");
    void admin.prepare();
    drains.tellAtStart();
    return {
      urls,
      reload: (next) => reload.to(next, actorHere("program")),
      reloadFile: (who = "SIGHUP") => reload.again(source?.read, actorHere(who)),
      stop,
      unexpected: metrics.unexpected,
      isAlive: () => processes.isAlive,
      drainMs: () => current.timeouts.drainMs,
      kill: () => processes.kill(),
    };
  } catch (error) {
    processes.kill();
    await stop();
    throw error;
  }
}

const isNodeOf = ({ networks }: Config, { network, upstream }: NodeDrain): boolean =>
  Object.hasOwn(networks, network) &&
  networks[network]?.upstreams.some(({ name }) => name === upstream) === true;

/** The wait for the port while servers of a supervisor that was just killed end, and its pauses, in milliseconds. */
const TIMEOUT_MS = 2_000;
const LOOK_AGAIN_MS = 50;

/** Whether several processes can listen on one port here. */
export async function canSharePorts(): Promise<boolean> {
  try {
    await listenOnce({ host: "127.0.0.1", port: 0, reusePort: true });
    return true;
  } catch {
    return false;
  }
}

/**
 * The port that the servers will share. The supervisor takes the port alone for a moment: otherwise a gateway that an
 * operator started twice would share the port silently.
 * @throws EADDRINUSE
 */
async function freePort(
  { host, port }: { host: string; port: number },
  { clock }: { clock: Pick<Clock, "now" | "sleep"> },
): Promise<number> {
  const giveUpAt = clock.now() + TIMEOUT_MS;
  for (;;) {
    try {
      return await listenOnce({ host, port, reusePort: false });
    } catch (error) {
      const isTaken = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
      if (!isTaken || clock.now() >= giveUpAt) throw error;
    }
    await clock.sleep(LOOK_AGAIN_MS);
  }
}

function listenOnce(options: { host: string; port: number; reusePort: boolean }): Promise<number> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(options, () => {
      const { port } = server.address() as AddressInfo;
      server.close(() => resolve(port));
    });
  });
}
