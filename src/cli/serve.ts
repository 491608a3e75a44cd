// `headgate serve`: runs the gateway until it is told to stop.
import { availableParallelism } from "node:os";
import type { Logger } from "pino";
import type { Environment } from "../config/environment.ts";
import type { ParsedConfig } from "../config/parse-config.ts";
import type { Config } from "../config/schema.ts";
import type { Gateway } from "../gateway.ts";
import { canSharePorts } from "../processes/shared-port.ts";
import { readAgain, readConfig } from "./read-config.ts";
import { type Served, start, withPort } from "./start.ts";

export type ServeOptions = {
  /** Left out: development nodes of our own. */
  readonly configPath: string | undefined;
  /** Overrides the configured port. */
  readonly port: number | undefined;
};

export type ServeParts = { readonly environment: Environment; readonly log: Logger };

/** Resolves once the gateway listens. */
export async function serve(
  { configPath, port }: ServeOptions,
  { environment, log }: ServeParts,
): Promise<Served> {
  if (configPath === undefined) {
    const { serveDevnet } = await import("./serve-devnet.ts"); // only then: it takes memory
    return serveDevnet({ port }, { log });
  }
  const config = readConfig(configPath, environment);
  log.level = config.log.level;
  return serveConfigured(withPort(config, port), log, () => {
    const parsed = readAgain(configPath, environment);
    if (parsed.kind === "mistakes") return parsed;
    return { ...parsed, config: withPort(parsed.config, port) };
  });
}

async function serveConfigured(
  config: Config,
  log: Logger,
  again: () => ParsedConfig,
): Promise<Gateway> {
  if (config.keys.length === 0)
    log.warn(
      "no keys are configured: only keys that are made let callers in (headgate keys create)",
    );
  const servers = await serverCount(config.processes, log);
  return start(config, { log, servers, again });
}

/** How many processes answer; 1: one that does everything. */
async function serverCount(processes: Config["processes"], log: Logger): Promise<number> {
  const wanted = processes === "auto" ? availableParallelism() : processes;
  if (wanted === 1 || (await canSharePorts())) return wanted;
  log.warn("processes cannot share a port on this system: running one");
  return 1;
}
