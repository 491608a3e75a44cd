// `headgate keys …`: reads the command line, opens the state that the gateways share, and lets the
// command do its work. A gateway may be running meanwhile.
import { parseArgs } from "node:util";
import { configuredIn, KeyBook } from "../access/keys/key-book.ts";
import type { Environment } from "../config/parse-config.ts";
import { RpcError } from "../jsonrpc/rpc-error.ts";
import { systemClock } from "../lib/clock.ts";
import { type KeysCommand, keysCommands } from "./keys-commands.ts";
import { options as declared, type OptionValues, parsable, wrong } from "./keys-options.ts";
import { CommandFailure, orWrongUsage, readConfig, stateOf } from "./read-config.ts";

const DEFAULT_CONFIG = "headgate.yaml";

/** @param argv What follows `keys`. @throws CommandFailure */
export async function keys(
  argv: readonly string[],
  environment: Environment,
  print: (text: string) => void,
): Promise<void> {
  const [word = "help", ...rest] = argv;
  const command = Object.hasOwn(keysCommands, word) ? keysCommands[word] : undefined;
  if (!command) {
    if (["help", "--help", "-h"].includes(word)) return print(keysHelp());
    throw wrong(`unknown command keys ${word}\n\n${keysHelp()}`);
  }
  const asked = readArguments(word, command, rest);
  if (asked.values["help"]) return print(helpOf(word, command));
  const config = readConfig(String(asked.values["config"] ?? DEFAULT_CONFIG), environment);
  const clock = systemClock;
  const state = await stateOf(config);
  const options = { ...configuredIn(config), secret: config.keySecret };
  const book = new KeyBook(options, { state, clock });
  try {
    await command.run(asked, { book, state, config, clock, print });
  } catch (error) {
    if (!(error instanceof RpcError)) throw error;
    throw new CommandFailure(error.message, { exitCode: 1, cause: error });
  } finally {
    await state.close();
  }
}

function readArguments(
  word: string,
  command: KeysCommand,
  args: readonly string[],
): { name: string; values: OptionValues } {
  const { values, positionals } = orWrongUsage(() => parse(command, args), helpOf(word, command));
  const [name = values["name"] ?? "", ...more] = positionals;
  if (more.length > 0 || (command.takesName === "never" && positionals.length > 0))
    throw wrong(`unknown argument ${more[0] ?? name}\n\n${helpOf(word, command)}`);
  if (command.takesName === "always" && name === "" && !values["help"])
    throw wrong(`keys ${word}: the key's name is missing\n\n${helpOf(word, command)}`);
  return { name: String(name), values };
}

function parse(command: KeysCommand, args: readonly string[]) {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    allowNegative: true,
    options: { ...parsable(optionsOf(command)), help: { type: "boolean", short: "h" } },
  });
  return { values: values as OptionValues, positionals };
}

const optionsOf = ({ takesName, options }: KeysCommand): readonly string[] => [
  "config",
  ...(takesName === "never" ? [] : ["name"]),
  ...options,
];

const nameIn = { always: " <name>", perhaps: " [<name>]", never: "" };

function helpOf(word: string, command: KeysCommand): string {
  const lines = optionsOf(command).map((name) => {
    const { placeholder, summary } = declared[name] ?? {};
    return `  ${`--${name}${placeholder ? ` ${placeholder}` : ""}`.padEnd(44)}${summary}`;
  });
  return [
    `headgate keys ${word}${nameIn[command.takesName]}: ${command.summary}`,
    "",
    ...lines,
  ].join("\n");
}

/** One line a command, as the help of the whole program shows them. */
export const keysHelp = (): string =>
  Object.entries(keysCommands)
    .map(
      ([word, { takesName, summary }]) =>
        `  headgate keys ${word}${nameIn[takesName]}\n        ${summary}`,
    )
    .join("\n");
