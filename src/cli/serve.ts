// `headgate serve`: starts a gateway, in one process or in several, and runs it until a signal comes or npm, its parent,
// ends.
import { closeSync, openSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { Logger } from "pino";
import { type ParsedConfig, parseConfig } from "../config/parse-config.ts";
import type { Config } from "../config/schema.ts";
import type { Environment } from "../config/setting-names.ts";
import type { Facts } from "../config/short-forms.ts";
import type { ConfigurationSource } from "../gateway/configuration.ts";
import { type Gateway, startGateway } from "../gateway.ts";
import { systemClock } from "../lib/clock.ts";
import { createLog, LogSecrets } from "../observe/log.ts";
import { endProcess, listenForUnexpectedErrors } from "../processes/end-process.ts";
import { ChildFailed } from "../processes/supervised.ts";
import { canSharePorts } from "../processes/supervisor.ts";
import { certificateMistakes } from "../server/tls-front.ts";
import { ProcessEnding, ProcessReplacement } from "./ending.ts";
import { ChainIdentification } from "./identify.ts";
import {
  CommandFailure,
  type ConfigSource,
  dataTrouble,
  findConfig,
  leftConfigPath,
  orMistakes,
  readAgain,
} from "./read-config.ts";
import { SdNotify } from "./sd-notify.ts";

export type ServeOptions = {
  /** The file of `--config`; undefined: as `findConfig` finds it, else development nodes. */
  readonly configPath: string | undefined;
  /** Overrides the configured port; the admin port is the next one. */
  readonly port: number | undefined;
  /** Serves development nodes, even if there is a file. */
  readonly isOverDevnet: boolean;
  /** URLs of nodes to be served without a configuration file; empty: with one. */
  readonly urls: readonly string[];
};

/** In milliseconds: how often the process looks whether npm still runs. */
const LOOK_EVERY_MS = 500;

/**
 * Starts the gateway, and resolves once it listens. Then SIGTERM and SIGINT drain the gateway, a second one of them ends
 * it at once, and SIGHUP makes it read its configuration again.
 * @throws CommandFailure for an error that a person can fix.
 */
export async function serve(options: ServeOptions, environment: Environment): Promise<void> {
  const isOnTerminal = process.stdout.isTTY;
  const secrets = new LogSecrets();
  const log = createLog({ level: "info", secrets });
  const systemd = new SdNotify(environment, { clock: systemClock, log });
  const replacing = new ProcessReplacement(environment, { clock: systemClock });
  const ending = new ProcessEnding({ log, clock: systemClock, end: (code) => replacing.end(code) });
  let gateway: Gateway | undefined;
  let isReplacementDue = false;
  const replace = (): void => {
    if (ending.hasBegun) return;
    replacing.begin();
    ending.begin("an unexpected error");
  };
  listenForUnexpectedErrors({
    log,
    onUnexpected: (kind) => {
      gateway?.unexpected(kind);
      if (!gateway) return endProcess(1);
      const afterMs = replacing.count(kind);
      if (afterMs === undefined || isReplacementDue) return undefined;
      isReplacementDue = true;
      if (afterMs === 0) return replace();
      log.warn({ afterMs }, "the process goes on, and is replaced later");
      return void systemClock.after(afterMs, replace);
    },
  });
  const signalled = (signal: string): void => {
    // A process that is about to be replaced is ending already: the signal only cancels the replacement.
    if (!replacing.callOff()) ending.signalled(signal);
    systemd.stops();
  };
  process.on("SIGTERM", signalled);
  process.on("SIGINT", signalled);
  process.on("SIGHUP", () => {
    // Nobody could end the gateway without its terminal.
    if (isOnTerminal && isTerminalGone()) ending.begin("the terminal was closed");
    // A gateway that is still starting has just read its configuration.
    else if (!ending.hasBegun && gateway) systemd.reloads(gateway.reloadFile());
  });
  if (environment["npm_lifecycle_event"] !== undefined) endWithParent(ending);
  gateway = await startServing(options, {
    ...{ environment, log },
    onRead: (config) => secrets.hide(config),
    onOpening: () => ending.opens(),
  });
  replacing.tellOfEarlier(gateway);
  ending.serves(gateway);
  if (!ending.hasBegun) systemd.serves(gateway.isAlive);
}

/** Ends the gateway with npm, which passes on only SIGTERM and SIGINT: if npm ends otherwise, the ports must be freed. */
function endWithParent(ending: ProcessEnding): void {
  const parent = process.ppid;
  const look = (): void => {
    if (process.ppid === parent) systemClock.after(LOOK_EVERY_MS, look);
    else ending.begin("npm, which started the gateway, has ended");
  };
  look();
}

function isTerminalGone(): boolean {
  try {
    closeSync(openSync("/dev/tty", "r"));
    return false;
  } catch {
    return true;
  }
}

type StartParts = {
  readonly environment: Environment;
  readonly log: Logger;
  /** Called with each configuration that was read without a mistake. */
  readonly onRead: (config: Config) => void;
  /** Called before stores are opened. */
  readonly onOpening: () => void;
};

async function startServing(
  { configPath, port, urls, isOverDevnet }: ServeOptions,
  parts: StartParts,
): Promise<Gateway> {
  const { environment, log, onOpening } = parts;
  if (urls.length > 0) {
    if (configPath !== undefined)
      throw new CommandFailure("give URLs or --config, not both", { exitCode: 2 });
    const { prepareFirstStart } = await import("./first-start.ts");
    const first = await prepareFirstStart(urls, environment);
    const gateway = await startOver(first, port, parts);
    first.announce(gateway.urls.server);
    return gateway;
  }
  const found = isOverDevnet ? undefined : findConfig(configPath, environment);
  if (found === undefined) {
    const { serveDevnet } = await import("./serve-devnet.ts"); // loaded only when needed, since it takes memory
    return serveDevnet({
      log,
      leftPath: leftConfigPath(environment, "devnet"),
      startOver: (devnet) => start(withPort(devnet, port), { log, servers: 1, onOpening }),
    });
  }
  return startOver(found, port, parts);
}

async function startOver(
  { path, because }: ConfigSource,
  port: number | undefined,
  { environment, log, onRead, onOpening }: StartParts,
): Promise<Gateway> {
  log.info({ path, because }, "configuration");
  const read = (facts: Facts, text?: string): ParsedConfig => {
    const parsed =
      text === undefined
        ? readAgain(path, environment, facts)
        : parseConfig(text, environment, facts);
    if (parsed.kind === "config") onRead(parsed.config);
    return withCertificates(parsed);
  };
  const identifying = new ChainIdentification(read, { clock: systemClock, log });
  const config = orMistakes(await identifying.read());
  log.level = config.log.level;
  const servers = await serverCount(config.processes, log);
  const ported = (parsed: ParsedConfig): ParsedConfig =>
    parsed.kind === "mistakes" ? parsed : { ...parsed, config: withPort(parsed.config, port) };
  const source: ConfigurationSource = {
    path,
    read: async () => ported(await identifying.read()),
    check: (text) => ported(identifying.check(text)),
  };
  return identifying.watch(
    await start(withPort(config, port), { log, servers, source, onOpening }),
  );
}

/** Adds unusable certificates to the mistakes of the configuration. */
function withCertificates(parsed: ParsedConfig): ParsedConfig {
  const mistakes = parsed.kind === "config" ? certificateMistakes(parsed.config) : [];
  return mistakes.length > 0 ? { kind: "mistakes", mistakes } : parsed;
}

/** The number of processes that serve callers; 1: one process does everything. */
async function serverCount(processes: Config["processes"], log: Logger): Promise<number> {
  const wanted = processes === "auto" ? availableParallelism() : processes;
  if (wanted === 1 || (await canSharePorts())) return wanted;
  log.warn("processes cannot share a port on this system: the gateway runs one process");
  return 1;
}

/** @param port Overrides the configured port; the admin port is the next one. */
const withPort = (config: Config, port: number | undefined): Config =>
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

type StartOptions = Pick<StartParts, "log" | "onOpening"> & {
  /** The number of processes that serve callers; 1: one process does everything. */
  readonly servers: number;
  readonly source?: ConfigurationSource;
};

/** @throws CommandFailure for an error that a person can fix. */
async function start(
  config: Config,
  { log, servers, source, onOpening }: StartOptions,
): Promise<Gateway> {
  onOpening();
  const parts = { clock: systemClock, log, source };
  try {
    if (servers === 1) return await startGateway(config, parts);
    const { startSupervisor } = await import("../processes/supervisor.ts"); // loaded only when needed, since it takes memory
    return await startSupervisor(config, { servers, program: PROGRAM }, parts);
  } catch (cause) {
    const why = whyNotStarted(cause, config);
    throw why === undefined ? cause : new CommandFailure(why, { exitCode: 1, cause });
  }
}

/** The program that the supervisor starts in each process. */
const PROGRAM = join(import.meta.dirname, "../../bin/headgate.mjs");

/** The reason why the gateway did not start, in words for a person; undefined for a bug. */
function whyNotStarted(error: unknown, { data, listen, admin }: Config): string | undefined {
  if (error instanceof ChildFailed) return error.message;
  const { code = "", port, syscall, hostname } = error as ListenError;
  if (syscall !== "listen" && syscall !== "getaddrinfo") return dataTrouble(error, data);
  if (code === "EADDRINUSE")
    return `port ${port} is in use: stop what listens there, or choose another (listen.port, admin.listen.port, or --port)`;
  if (code === "EACCES" || code === "EPERM")
    return `port ${port} may not be opened by this user: choose a port from 1024 on (listen.port, admin.listen.port, or --port)`;
  const host = hostname ?? (error as { address?: string }).address;
  const setting = host === admin.listen.host && host !== listen.host ? "admin.listen" : "listen";
  return `${setting}.host: this machine cannot listen at ${host} (${code}): name one of its addresses, or 0.0.0.0 for all of them`;
}

type ListenError = NodeJS.ErrnoException & {
  readonly port?: number;
  readonly hostname?: string;
};
