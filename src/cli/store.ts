// `headgate store …`: shows what the stores of the configured networks hold, and forgets what nodes told of old blocks. It
// works while a gateway runs: LMDB lets one process write at a time, and the gateway keeps no copy of what is forgotten.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { BlockStore } from "../chain/block-store.ts";
import { BlockTables } from "../chain/block-tables.ts";
import { type Forgotten, keptSegmentsOf } from "../chain/kept-segments.ts";
import type { Config } from "../config/schema.ts";
import type { Environment } from "../config/setting-names.ts";
import { checkEnvironment } from "../disk/check-environment.ts";
import { CommandFailure, configOf, orWrongUsage, readKnownConfig } from "./read-config.ts";
import { describeStore, STORE_HELP, storeText } from "./store-text.ts";

type Print = (text: string) => void;

const OPTIONS = {
  config: { type: "string", short: "c" },
  network: { type: "string" },
  upstream: { type: "string" },
  blocks: { type: "string" },
  all: { type: "boolean" },
  json: { type: "boolean" },
  help: { type: "boolean", short: "h" },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>>["values"];

/** @param argv What follows `store`. @throws CommandFailure */
export async function store(
  argv: readonly string[],
  environment: Environment,
  print: Print,
): Promise<void> {
  const [word = "help", ...rest] = argv;
  if (["help", "--help", "-h"].includes(word)) return print(STORE_HELP);
  if (word !== "show" && word !== "forget") throw wrong(`unknown command store ${word}`);
  const values = orWrongUsage(() => parseArgs({ args: rest, options: OPTIONS }).values, STORE_HELP);
  if (values.help) return print(STORE_HELP);
  const { path } = configOf(`store ${word}`, values.config, environment);
  const config = await readKnownConfig(path, environment);
  if (values.network !== undefined && !Object.hasOwn(config.networks, values.network))
    throw wrong(`there is no network ${values.network} in ${path ?? "the environment"}`);
  return word === "show" ? show(values, config, print) : forget(values, config, print);
}

async function show({ network, json }: Values, config: Config, print: Print): Promise<void> {
  const names = network === undefined ? Object.keys(config.networks) : [network];
  const views = [];
  for (const name of names) {
    const path = join(config.data, name);
    if (!existsSync(join(path, "data.mdb"))) continue;
    const opened = open(path, () => new BlockTables({ path, readOnly: true }));
    views.push({ network: name, ...describeStore(opened, keptSegmentsOf(opened)) });
    await opened.close();
  }
  if (json) return print(JSON.stringify(views, undefined, 2));
  print(views.length === 0 ? "Nothing is stored." : views.map(storeText).join("\n\n"));
}

async function forget(values: Values, config: Config, print: Print): Promise<void> {
  const { network } = values;
  if (network === undefined) throw wrong("store forget: --network is missing");
  const forgotten = chosenBy(values);
  const path = join(config.data, network);
  if (!existsSync(join(path, "data.mdb"))) return print("Nothing is stored.");
  const opened = open(path, () => new BlockStore({ path, windowBlocks: 0, bytes: 0 }));
  const segments = await opened.forgetSegments(forgotten);
  await opened.close();
  print(`${segments} ${segments === 1 ? "segment is" : "segments are"} forgotten.`);
}

function chosenBy({ upstream, blocks, all }: Values): Forgotten {
  const given = [upstream, blocks, all || undefined].filter((each) => each !== undefined);
  if (given.length !== 1)
    throw wrong("store forget: want one of --upstream NAME, --blocks FROM-TO, --all");
  if (upstream !== undefined) return { of: upstream };
  if (blocks === undefined) return "all";
  const [, from, to] = /^(\d{1,10})-(\d{1,10})$/.exec(blocks) ?? [];
  if (from === undefined || to === undefined || Number(from) > Number(to))
    throw wrong("--blocks: want two block numbers such as 1000-1999");
  return { within: { from: Number(from), to: Number(to) } };
}

/** LMDB crashes the process where a page of the file is missing, so the file is checked first. */
function open<Store>(path: string, opened: () => Store): Store {
  try {
    const check = checkEnvironment(path, { mayGoOn: () => true });
    if (check.kind === "damaged") throw new Error(`it is damaged: ${check.why}`);
    return opened();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `${path}: the store cannot be opened (${why})`;
    throw new CommandFailure(message, { exitCode: 1, cause });
  }
}

const wrong = (why: string): CommandFailure =>
  new CommandFailure(`${why}\n\n${STORE_HELP}`, { exitCode: 2 });
