// Starts a gateway, in one process or in several, and says in a person's words why it cannot.
import { join } from "node:path";
import type { Logger } from "pino";
import { StoreUnavailable } from "../chain/writer-lock.ts";
import type { ParsedConfig } from "../config/parse-config.ts";
import type { Config } from "../config/schema.ts";
import { type Gateway, startGateway } from "../gateway.ts";
import { systemClock } from "../lib/clock.ts";
import { ChildFailed } from "../processes/supervised.ts";
import { DamagedState } from "../state/damaged-state.ts";
import type { Ended } from "./ending.ts";
import { CommandFailure } from "./read-config.ts";

/** A gateway that runs. */
export type Served = Ended & Pick<Gateway, "reloadFile" | "unexpected">;

/** What each of several processes begins with. */
const PROGRAM = join(import.meta.dirname, "../../bin/headgate.mjs");

/**
 * @param parts.servers How many processes answer; 1: one that does everything.
 * @throws CommandFailure for whatever a person can put right.
 */
export async function start(
  config: Config,
  { log, servers, again }: { log: Logger; servers: number; again?: () => ParsedConfig },
): Promise<Gateway> {
  const parts = { clock: systemClock, log, readAgain: again };
  try {
    return servers === 1
      ? await startGateway(config, parts)
      : await supervise(config, servers, parts);
  } catch (cause) {
    if (isForPeople(cause)) throw new CommandFailure(cause.message, { exitCode: 1, cause });
    const { code = "", port, path } = cause as NodeJS.ErrnoException & { port?: number };
    if (UNWRITABLE.has(code))
      throw new CommandFailure(`data: cannot write to ${path ?? config.data} (${code})`, {
        exitCode: 1,
        cause,
      });
    if (code !== "EADDRINUSE") throw cause;
    throw new CommandFailure(
      `port ${port} is in use: stop what listens there, or choose another (listen.port, admin.listen.port, or --port)`,
      { exitCode: 1, cause },
    );
  }
}

const UNWRITABLE = new Set(["ENOSPC", "EDQUOT", "EROFS", "EACCES", "EPERM"]);

/** Its message says what is wrong and what to do. */
const isForPeople = (error: unknown): error is Error =>
  [StoreUnavailable, ChildFailed, DamagedState].some((kind) => error instanceof kind);

/** Loaded only where there are several: it takes memory. */
async function supervise(
  config: Config,
  servers: number,
  parts: Parameters<typeof startGateway>[1],
): Promise<Gateway> {
  const { startSupervisor } = await import("../processes/supervisor.ts");
  return startSupervisor(config, { servers, program: PROGRAM }, parts);
}

/** @param port Overrides the configured one; the administration's is the next. */
export const withPort = (config: Config, port: number | undefined): Config =>
  port === undefined
    ? config
    : {
        ...config,
        listen: { ...config.listen, port },
        admin: {
          ...config.admin,
          listen: { ...config.admin.listen, port: port === 0 ? 0 : port + 1 },
        },
      };
