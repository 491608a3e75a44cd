// Runs the command that the command line names. Only commands that run a gateway load its code: the other commands would
// take twice as long with it.
import { type Environment, mayBeSecretName } from "../config/setting-names.ts";
import { audit } from "./audit.ts";
import { keys, keysHelp } from "./keys.ts";
import {
  argumentsIn,
  CommandFailure,
  configOf,
  findConfig,
  readKnownConfig,
  WrongUsage,
  withHelp,
} from "./read-config.ts";

type Command = {
  readonly help: string;
  /** The command needs a further word; without one its help is printed. */
  readonly needsWord?: true;
  /** @param argv The words after the command's name. */
  run(argv: readonly string[], environment: Environment, print: Print): Promise<void>;
};

type Print = (text: string) => void;

/** The commands with their own help. `headgate keys` is not among them: keys.ts makes its help. */
const COMMANDS: Readonly<Record<string, Command>> = {
  top: {
    help: `  headgate top [--url http://127.0.0.1:8546] [--config headgate.yaml] [--once]
        shows the state of a running gateway and its nodes each second; the token is HEADGATE_ADMIN__TOKEN, else admin.token`,
    run: async (argv, environment) => (await import("./top.ts")).top(argv, environment),
  },
  audit: {
    help: `  headgate audit [--config headgate.yaml] [--limit N] [--json]
        lists changes of keys and of the configuration, with author and time, newest first`,
    run: audit,
  },
  store: {
    help: `  headgate store show [--network NAME] [--json]
        shows the stored blocks and their proofs, and the stored logs of older blocks by upstream
  headgate store forget --network NAME (--upstream NAME | --blocks FROM-TO | --all)
        removes stored logs of older blocks, also while a gateway runs`,
    needsWord: true,
    run: async (argv, environment, print) =>
      (await import("./store.ts")).store(argv, environment, print),
  },
};

const HELP = `headgate: a self-hosted gateway to blockchain nodes

  headgate [serve] [--config headgate.yaml] [--port N]
        runs the gateway; without a configuration, over development nodes of its own
  headgate [serve] https://… wss://… ipc:///… [--port N]
        runs the gateway over these nodes: asks them which chains they are, and makes a key
  headgate init [https://… …] [--config headgate.yaml]
        writes a configuration with these nodes, or one to fill in
  headgate check [--config headgate.yaml]
        checks the configuration and tries each upstream
  headgate methods [--key name [--network name] [--config headgate.yaml]]
        lists the methods with their prices; with --key: which methods the key may call, and why not the others
${keysHelp()}
${Object.values(COMMANDS)
  .map(({ help }) => help)
  .join("\n")}
  headgate dev [--port N]
        runs the gateway over development nodes of its own, which are in the package headgate-devnet
  headgate help
  headgate --version

The configuration is the file that --config names, else HEADGATE_CONFIG, else headgate.yaml in this folder. Environment variables\noverride its settings, or are the whole configuration: HEADGATE_UPSTREAMS_ETH_MAINNET=https://…,https://…, HEADGATE_LISTEN__PORT=8080, …
`;

/** Resolves when the command is done or the gateway listens. @throws CommandFailure for errors that a person can fix. */
export async function run(argv: readonly string[], environment: Environment): Promise<void> {
  letReadersLeave();
  const print: Print = (text) => void process.stdout.write(`${text}\n`);
  const [word = "", ...rest] = argv;
  if (word === "keys") return keys(rest, environment, print);
  const named = Object.hasOwn(COMMANDS, word) ? COMMANDS[word] : undefined;
  if (named) {
    const isAsked = ["help", "--help", "-h"].some((each) => rest.includes(each));
    if (isAsked || (named.needsWord && rest.length === 0)) return print(named.help);
    return withHelp(named.help, () => named.run(rest, environment, print));
  }
  return withHelp(HELP, () => runOther(argv, environment, print));
}

/** Runs the commands without their own help. */
async function runOther(
  argv: readonly string[],
  environment: Environment,
  print: Print,
): Promise<void> {
  const { command, urls, configPath, port, key, network, help, version } = readArguments(argv);
  if (help) return print(HELP);
  if (version) {
    const { versionLine } = await import("./version.ts");
    return print(versionLine());
  }
  switch (command) {
    case "dev":
    case "serve": {
      const isOverDevnet = command === "dev";
      if (isOverDevnet && configPath)
        throw new CommandFailure("dev: takes no --config", { exitCode: 2 });
      const { serve } = await import("./serve.ts");
      return serve({ configPath, port, urls, isOverDevnet }, environment);
    }
    case "init": {
      const { init } = await import("./first-start.ts");
      return init({ urls, configPath }, environment, print);
    }
    case "check": {
      const config = await readKnownConfig(configOf("check", configPath, environment));
      const { check } = await import("./check.ts");
      return check(config, print);
    }
    case "methods": {
      const { printAllMethods, printMethodsOfKey } = await import("./methods.ts");
      if (key === undefined && network === undefined) return printAllMethods(print);
      const found = findConfig(configPath, environment);
      if (!found || key === undefined)
        throw new CommandFailure("methods: give --config and --key, or neither", { exitCode: 2 });
      const config = await readKnownConfig({ path: found.path, environment });
      return printMethodsOfKey(config, { key, network }, print);
    }
    default:
      throw new WrongUsage(`unknown command${shownWord(command)}${hintFor(command)}`);
  }
}

/** A word of the command line, unless it may be a URL or a key. */
const shownWord = (word: string): string => (mayBeSecretName(word) ? "" : ` ${word}`);

/** A word with a dot or a colon is no command, but may be a URL without its scheme. */
const hintFor = (command: string): string =>
  /[.:]/.test(command)
    ? "; a node's URL begins with http://, https://, ws://, wss:// or ipc://"
    : "";

/** Ignores EPIPE: the reader of the output may exit early, as `head` does. The command still completes its work. */
function letReadersLeave(): void {
  if (process.stdout.listenerCount("error", ignoreReaderGone) === 0)
    process.stdout.on("error", ignoreReaderGone);
}

function ignoreReaderGone(error: NodeJS.ErrnoException): void {
  if (error.code !== "EPIPE") throw error;
}

function readArguments(argv: readonly string[]) {
  const { values, positionals } = parse(argv);
  const isUrl = (text: string): boolean => /^[a-z]+:/i.test(text);
  const [first = "serve", ...rest] = positionals;
  const [command, more] = isUrl(first) ? ["serve", positionals] : [first, rest];
  const stray = more.find((text) => !isUrl(text) || !["serve", "init"].includes(command));
  if (stray !== undefined) {
    const shown = isUrl(stray) ? " a URL" : shownWord(stray);
    throw new WrongUsage(`unknown argument${shown}`);
  }
  const port = values.port === undefined ? undefined : Number(values.port);
  if (port !== undefined && !(Number.isInteger(port) && port >= 0 && port <= 65_534)) {
    throw new CommandFailure("--port: expected a whole number from 0 to 65534", { exitCode: 2 });
  }
  const { config: configPath, key, network, version } = values;
  const isHelp = values.help || command === "help";
  return { command, urls: more, configPath, port, key, network, version, help: isHelp };
}

const parse = (argv: readonly string[]) =>
  argumentsIn({
    args: [...argv],
    allowPositionals: true,
    options: {
      config: { type: "string", short: "c" },
      port: { type: "string", short: "p" },
      key: { type: "string" },
      network: { type: "string" },
      help: { type: "boolean", short: "h", default: false },
      version: { type: "boolean", short: "v", default: false },
    },
  });
