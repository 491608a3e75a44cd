// `headgate serve`: runs the gateway until it is told to stop.
import { availableParallelism } from "node:os";
import type { Logger } from "pino";
import type { ParsedConfig } from "../config/parse-config.ts";
import type { Config } from "../config/schema.ts";
import type { Gateway } from "../gateway.ts";
import { createLog } from "../observe/log.ts";
import { canSharePorts } from "../processes/shared-port.ts";
import { type Environment, readAgain, readConfig } from "./read-config.ts";
import { start, withPort } from "./start.ts";

export type ServeOptions = {
  /** Left out: development nodes of our own. */
  readonly configPath: string | undefined;
  /** Overrides the configured port. */
  readonly port: number | undefined;
};

/** How a gateway that runs is stopped, and told to take its configuration anew. */
export type Served = {
  stop(): Promise<void>;
  /** Never rejects: what became of it is in the log. undefined where there is no file to read. */
  readonly reload: (() => Promise<unknown>) | undefined;
};

/** Resolves once the gateway listens. */
export async function serve(options: ServeOptions, environment: Environment): Promise<Served> {
  const { configPath, port } = options;
  if (configPath === undefined) {
    const { serveDevnet } = await import("./serve-devnet.ts"); // only then: it takes memory
    return serveDevnet(options);
  }
  const config = readConfig(configPath, environment);
  const gateway = await serveConfigured(options, config, () => {
    const parsed = readAgain(configPath, environment);
    if (parsed.kind === "mistakes") return parsed;
    return { ...parsed, config: withPort(parsed.config, port) };
  });
  return { stop: () => gateway.stop(), reload: () => gateway.reloadFile() };
}

async function serveConfigured(
  options: ServeOptions,
  config: Config,
  again: () => ParsedConfig,
): Promise<Gateway> {
  const log = createLog({ level: config.log.level, readable: process.stdout.isTTY });
  if (config.keys.length === 0)
    log.warn(
      "no keys are configured: only keys that are made open the door (headgate keys create)",
    );
  const doors = await doorCount(config.processes, log);
  return start(withPort(config, options.port), { log, doors, again });
}

/** How many processes answer; 1: one that does everything. */
async function doorCount(processes: Config["processes"], log: Logger): Promise<number> {
  const wanted = processes === "auto" ? availableParallelism() : processes;
  if (wanted === 1 || (await canSharePorts())) return wanted;
  log.warn("processes cannot share a port on this system: running one");
  return 1;
}
