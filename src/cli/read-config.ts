// Gives commands their options, their configuration, and the state. A bad command line or configuration ends the process
// with exit code 2.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ParseArgsConfig, parseArgs } from "node:util";
import { namesNetworks } from "../config/environment-settings.ts";
import { type ParsedConfig, parseConfig } from "../config/parse-config.ts";
import type { Config } from "../config/schema.ts";
import { type Environment, mayBeSecretName } from "../config/setting-names.ts";
import type { Facts } from "../config/short-forms.ts";
import { StoreUnavailable } from "../disk/environment-folder.ts";
import { RpcError } from "../jsonrpc/rpc-error.ts";
import { systemClock } from "../lib/clock.ts";
import { lmdbPath, openState } from "../state/open-state.ts";
import { RefusedState, type State } from "../state/state.ts";
import { readChainFacts } from "../upstream/chain-facts.ts";

/** An error that a person can fix, printed without a stack trace. */
export class CommandFailure extends Error {
  override readonly name = "CommandFailure";
  /** 1: the command failed. 2: the command line or the configuration is wrong. */
  readonly exitCode: 1 | 2;

  constructor(message: string, options: { exitCode: 1 | 2; cause?: unknown }) {
    super(message, { cause: options.cause });
    this.exitCode = options.exitCode;
  }
}

/** The command line is wrong. `withHelp` adds the help of the command to the message. */
export class WrongUsage extends CommandFailure {
  constructor(message: string, options: { cause?: unknown } = {}) {
    super(message, { exitCode: 2, ...options });
  }
}

/** The options of a command. @param argv The words after the command's name. @throws WrongUsage */
export const optionsIn = <const Options extends ParseArgsConfig["options"]>(
  argv: readonly string[],
  options: Options,
) => argumentsIn({ args: [...argv], options }).values;

/** Does the same as node:util's parseArgs. @throws WrongUsage */
export function argumentsIn<const Asked extends ParseArgsConfig>(asked: Asked) {
  try {
    return parseArgs(asked);
  } catch (cause) {
    throw new WrongUsage(withoutUrls((cause as Error).message), { cause });
  }
}

/** The message of `parseArgs` without quoted words that may be URLs or keys. */
const withoutUrls = (message: string): string =>
  message.replace(/'[^']*'/g, (word) => (mayBeSecretName(word.slice(1, -1)) ? "a word" : word));

/** Does the work, and adds the help to the message of a WrongUsage. @throws CommandFailure */
export async function withHelp<Result>(
  help: string,
  work: () => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof WrongUsage)) throw cause;
    throw new CommandFailure(`${cause.message}\n\n${help}`, { exitCode: 2, cause });
  }
}

/** The source of a configuration. */
export type ConfigSource = {
  /** The file; undefined: the environment has the whole configuration. */
  readonly path: string | undefined;
  /** The reason for this source, in words for a person. */
  readonly because: string;
};

/** The file that commands look for when none is named. */
const DEFAULT_CONFIG = "headgate.yaml";

/**
 * Finds the configuration of a command: the file that `--config` names, else that of `HEADGATE_CONFIG`, else
 * `headgate.yaml` in the folder, else the environment alone if it names networks. A named file need not exist.
 * @returns undefined when there is none of these.
 */
export function findConfig(
  given: string | undefined,
  environment: Environment,
  folder = ".",
): ConfigSource | undefined {
  if (given !== undefined) return { path: given, because: "--config names it" };
  const named = environment["HEADGATE_CONFIG"];
  if (named) return { path: named, because: "HEADGATE_CONFIG names it" };
  const path = join(folder, DEFAULT_CONFIG);
  if (existsSync(path)) return { path, because: "it is in this folder" };
  if (!namesNetworks(environment)) return undefined;
  return { path: undefined, because: "there is no file, and the environment names networks" };
}

/** The path at which a gateway that was started without a file leaves its configuration for other commands. */
export const leftConfigPath = (
  environment: Environment,
  over: "nodes" | "devnet" = "nodes",
): string =>
  join(
    environment["HEADGATE_DATA"] || "data",
    { nodes: "quick-start.yaml", devnet: "devnet.json" }[over],
  );

/** The source of a configuration, and the environment for its variables. */
type FoundConfig = Pick<ConfigSource, "path"> & { readonly environment: Environment };

/**
 * Finds the configuration as `findConfig` does, else the one that a gateway left.
 * @throws CommandFailure when there is none.
 */
export function configOf(
  command: string,
  given: string | undefined,
  environment: Environment,
): FoundConfig {
  const found = findConfig(given, environment);
  if (found) return { path: found.path, environment };
  const devnet = leftConfigPath(environment, "devnet");
  if (isOfRunning(devnet)) return { path: devnet, environment: {} }; // variables do not apply to development nodes
  const left = leftConfigPath(environment);
  if (existsSync(left)) return { path: left, environment };
  const message = `${command}: --config is missing, HEADGATE_CONFIG names no file, there is no ${DEFAULT_CONFIG} in this folder, and no HEADGATE_UPSTREAMS_… is set; headgate init writes a file`;
  throw new CommandFailure(message, { exitCode: 2 });
}

/** Reads a configuration for a running gateway: a file that cannot be read is a mistake, not an exception. */
export function readAgain(
  path: string | undefined,
  environment: Environment,
  facts: Facts = {},
): ParsedConfig {
  try {
    return parseConfig(readText(path), environment, facts);
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    return { kind: "mistakes", mistakes: [error.message] };
  }
}

/**
 * Reads a configuration, with the chains that a gateway found out and the state keeps.
 * @throws CommandFailure with one line for each mistake.
 */
export async function readKnownConfig({ path, environment }: FoundConfig): Promise<Config> {
  const config = readConfig(path, environment);
  const names = Object.keys(config.unidentified ?? {});
  if (names.length === 0) return config;
  const state = await keptStateOf(config);
  if (!state) return config;
  // If the state cannot be read, the chains stay unknown.
  const factsOf = (name: string) => readChainFacts(name, state).catch(() => undefined);
  const kept = await Promise.all(
    names.map(async (name) => [name, await factsOf(name)] as const),
  ).finally(() => state.close());
  const facts = Object.fromEntries(kept.filter(([, each]) => each !== undefined)) as Facts;
  return readConfig(path, environment, facts);
}

/** Reads a configuration. @throws CommandFailure with one line for each mistake. */
export const readConfig = (
  path: string | undefined,
  environment: Environment,
  facts: Facts = {},
): Config => orMistakes(parseConfig(readText(path), environment, facts));

/** @throws CommandFailure with one line for each mistake. */
export function orMistakes(parsed: ParsedConfig): Config {
  if (parsed.kind === "mistakes")
    throw new CommandFailure(parsed.mistakes.join("\n"), { exitCode: 2 });
  return parsed.config;
}

function readText(path: string | undefined): string {
  if (path === undefined) return "{}";
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    const code = (cause as NodeJS.ErrnoException).code;
    const why =
      code === "ENOENT"
        ? "there is no such file: headgate init writes one"
        : `cannot be read (${code})`;
    throw new CommandFailure(`${path}: ${why}`, { exitCode: 2, cause });
  }
}

/** Opens the state without logging. @throws CommandFailure for one that is damaged, too new, or not writable. */
export async function stateOf(config: Config): Promise<State> {
  const log = { info: () => undefined, warn: () => undefined };
  return inData(config, () => openState(config, { clock: systemClock, log }));
}

/** Does work that uses the data folder. @throws CommandFailure when the folder cannot be used. */
export async function inData<Result>(
  { data }: Pick<Config, "data">,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (cause) {
    const why = dataTrouble(cause, data);
    throw why === undefined ? cause : new CommandFailure(why, { exitCode: 1, cause });
  }
}

/** The trouble with the data folder in words for a person; undefined for an error with another cause. */
export function dataTrouble(error: unknown, data: string): string | undefined {
  if (error instanceof RefusedState || error instanceof StoreUnavailable) return error.message;
  const { code = "", path = data } = error as NodeJS.ErrnoException;
  const todo = UNWRITABLE[code];
  return todo && `data: cannot write to ${path} (${code}); ${todo}`;
}

const ANOTHER_FOLDER = "choose a folder that this user may write (data, or HEADGATE_DATA)";
const FULL_DISK = "the disk is full: make room, or choose another folder (data, or HEADGATE_DATA)";
const UNWRITABLE: Readonly<Record<string, string>> = {
  ...{ EACCES: ANOTHER_FOLDER, EPERM: ANOTHER_FOLDER, EROFS: ANOTHER_FOLDER },
  ...{ ENOTDIR: ANOTHER_FOLDER, EEXIST: ANOTHER_FOLDER },
  ...{ ENOSPC: FULL_DISK, EDQUOT: FULL_DISK },
};

/** Does the work with the state open. @throws CommandFailure when the state cannot be opened or reached. */
export async function withStateOf<Result>(
  config: Config,
  work: (state: State) => Promise<Result>,
): Promise<Result> {
  const state = await stateOf(config);
  try {
    return await work(state);
  } catch (cause) {
    if (!(cause instanceof RpcError)) throw cause;
    const todo = config.state
      ? ": is the Redis of `state` running, and can it be reached from here?"
      : "";
    throw new CommandFailure(`${cause.message}${todo}`, { exitCode: 1, cause });
  } finally {
    await state.close();
  }
}

/** The state of a gateway that ran or runs here; undefined when there is none. @throws CommandFailure */
export async function keptStateOf(config: Config): Promise<State | undefined> {
  return config.state || existsSync(lmdbPath(config.data)) ? stateOf(config) : undefined;
}

/** Whether the process that left the configuration still runs. The file's first line has the process's id. */
function isOfRunning(path: string): boolean {
  try {
    const pid = Number(/^# process (\d+)\n/.exec(readFileSync(path, "utf8"))?.[1]);
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** The words with which the user started this program, for commands in printed texts. */
export const programName = (environment: Environment): string =>
  ({ start: "npm start --", npx: "npx headgate" })[environment["npm_lifecycle_event"] ?? ""] ??
  "headgate";
