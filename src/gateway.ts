// The only place that creates and joins the parts. Read from top to bottom, it is the architecture.

import { join } from "node:path";
import type { Logger } from "pino";
import { KeyRing } from "./access/key-ring.ts";
import { bodyAnswerer } from "./calls/answer-body.ts";
import type { Config } from "./config/schema.ts";
import { Desk } from "./desk/desk.ts";
import { Door } from "./door/door.ts";
import { Endpoint } from "./door/endpoint.ts";
import { hostResolver } from "./door/route.ts";
import { FilterCount } from "./filters/filter-count.ts";
import type { Clock } from "./lib/clock.ts";
import { Network } from "./network.ts";
import { Metrics } from "./observe/metrics.ts";
import { LmdbState } from "./state/lmdb-state.ts";

export type Gateway = {
  /** Where callers and operators come in, with the ports really taken. */
  readonly urls: { readonly door: string; readonly desk: string };
  /** Drains: no new connections, running calls end, then everything is closed. */
  stop(): Promise<void>;
};

/** @throws When a port cannot be taken; then nothing keeps running. */
export async function startGateway(
  config: Config,
  parts: { clock: Clock; log: Logger },
): Promise<Gateway> {
  const { clock, log } = parts;
  const metrics = new Metrics();
  const keys = new KeyRing(config.keys, clock.now());

  // No network is called so: their names have no underscores.
  const state = new LmdbState({ path: join(config.data, "_state") });
  const filterCount = new FilterCount();

  const networks = new Map<string, Network>();
  for (const [name, settings] of Object.entries(config.networks)) {
    const options = { name, settings, data: config.data, filtersPerKey: config.limits.filters };
    networks.set(name, new Network(options, { clock, log, metrics, state, filterCount }));
  }

  const answerBody = bodyAnswerer({ maxBatch: config.limits.batch }, { clock, log, metrics });
  const endpoint = new Endpoint(
    { bodyBytes: config.limits.bodyBytes },
    { networks, networkOfHost: networkOfHost(config), keys, answerBody, clock, log },
  );
  const door = new Door(
    { ...config.listen, connections: config.limits.connections, timeouts: config.timeouts },
    { endpoint, whyNotReady: () => whyNotReady(networks), metrics, clock },
  );
  const desk = new Desk(config.admin.listen, { metrics });

  const stop = async (): Promise<void> => {
    await door.drain(config.timeouts.drainMs);
    await Promise.all([...networks.values()].map((network) => network.close()));
    await desk.close();
    await state.close();
  };

  try {
    for (const network of networks.values()) await network.start();
    const deskPort = await desk.listen();
    const doorPort = await door.listen();
    const urls = {
      door: urlOf(config.listen.host, doorPort),
      desk: urlOf(config.admin.listen.host, deskPort),
    };
    log.info({ ...urls, networks: [...networks.keys()] }, "listening");
    return { urls, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const urlOf = (host: string, port: number): string =>
  `http://${host.includes(":") ? `[${host}]` : host}:${port}`;

const networkOfHost = (config: Config): ((host: string | undefined) => string | undefined) =>
  hostResolver(Object.entries(config.networks).map(([name, { hosts }]) => ({ name, hosts })));

async function whyNotReady(networks: ReadonlyMap<string, Network>): Promise<string[]> {
  const reasons = await Promise.all([...networks.values()].map((network) => network.whyNotReady()));
  return reasons.filter((reason) => reason !== undefined);
}
