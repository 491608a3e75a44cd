// `headgate keys …`: reads the command line, opens the state that the gateways share, and runs the command, also while a
// gateway runs. Each command is declared once with its options, and its help is made from the declaration.

import { stringify } from "yaml";
import type { Change } from "../access/audit-trail.ts";
import {
  configuredIn,
  KeyBook,
  type KeyMade,
  type KeyRefusal,
  OVERLAP_MS,
} from "../access/keys/key-book.ts";
import type { KeyView } from "../access/keys/key-record.ts";
import {
  priceList,
  readUsage,
  type UsageReport,
  usageCsv,
  usageReportOf,
} from "../access/usage/usage-report.ts";
import type { Config } from "../config/schema.ts";
import type { Environment } from "../config/setting-names.ts";
import { readRange } from "../lib/calendar.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import type { State } from "../state/state.ts";
import { auditTrailOf, commandLine } from "./audit.ts";
import {
  options as declared,
  type OptionValues,
  parsable,
  readDuration,
  requestOf,
  termNames,
  wrong,
} from "./keys-options.ts";
import {
  argumentsIn,
  CommandFailure,
  configOf,
  readKnownConfig,
  WrongUsage,
  withHelp,
  withStateOf,
} from "./read-config.ts";
import { table } from "./table.ts";

/** @param argv The words after `keys`. @throws CommandFailure */
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
  const asked = await withHelp(helpOf(word, command), () => readArguments(word, command, rest));
  if (asked.values["help"]) return print(helpOf(word, command));
  const given = textOf(asked.values["config"]);
  const config = await readKnownConfig(configOf(`keys ${word}`, given, environment));
  const clock = systemClock;
  await withStateOf(config, (state) => {
    const options = { ...configuredIn(config), secret: config.keySecret };
    const book = new KeyBook(options, { state, clock });
    const audit = auditTrailOf(state);
    const note: KeysParts["note"] = (noted) => audit.note(commandLine(), noted);
    return command.run(asked, { book, note, state, config, clock, print });
  });
}

function readArguments(
  word: string,
  command: KeysCommand,
  args: readonly string[],
): { name: string; values: OptionValues } {
  const { values, positionals } = parse(command, args);
  const [name = values["name"] ?? "", ...more] = positionals;
  if (more.length > 0 || (command.takesName === "never" && positionals.length > 0))
    throw new WrongUsage(`unknown argument ${more[0] ?? name}`);
  if (command.takesName === "always" && name === "" && !values["help"])
    throw new WrongUsage(`keys ${word}: the key's name is missing`);
  return { name: String(name), values };
}

function parse(command: KeysCommand, args: readonly string[]) {
  const { values, positionals } = argumentsIn({
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

/** The lines on `headgate keys` in the help of the program. */
export const keysHelp = (): string =>
  Object.entries(keysCommands)
    .map(
      ([word, { takesName, summary }]) =>
        `  headgate keys ${word}${nameIn[takesName]}\n        ${summary}`,
    )
    .join("\n");

type KeysParts = {
  readonly book: KeyBook;
  /** Adds an entry to the audit trail. */
  readonly note: (change: Change) => Promise<void>;
  readonly state: State;
  readonly config: Config;
  readonly clock: Pick<Clock, "wallTime" | "yield">;
  readonly print: (text: string) => void;
};

type KeysCommand = {
  readonly summary: string;
  readonly takesName: "always" | "perhaps" | "never";
  /** The names of the command's options in keys-options.ts. */
  readonly options: readonly string[];
  run(
    asked: { readonly name: string; readonly values: OptionValues },
    parts: KeysParts,
  ): Promise<void>;
};

/** The most days of a usage report: ten years. */
const MOST_DAYS = 3660;

const change = (
  act: "revoke" | "disable" | "enable",
  summary: string,
  done: string,
): KeysCommand => ({
  summary,
  takesName: "always",
  options: ["json"],
  run: async ({ name, values }, { book, note, print }) => {
    const { key } = orRefused(await book[act](name));
    await note({ what: `a key was ${done.split(" ", 1)[0]}`, key: name });
    print(values["json"] ? json(key) : `The key ${name} is ${done}.`);
  },
});

const keysCommands: Readonly<Record<string, KeysCommand>> = {
  create: {
    summary: "makes a key and shows it once",
    takesName: "always",
    options: [...termNames, "json", "quiet"],
    run: async ({ name, values }, { book, note, clock, print }) => {
      const terms = requestOf(values, clock.wallTime());
      const made = orRefused(await book.create({ name, ...terms }));
      await note({ what: "a key was made", key: name, details: Object.keys(terms) });
      print(madeAs(values, made));
    },
  },
  list: {
    summary: "lists all keys, including those of the configuration file",
    takesName: "never",
    options: ["json"],
    run: async ({ values }, { book, print }) => {
      const all = await book.list();
      print(values["json"] ? json(all) : keyTable(all));
    },
  },
  show: {
    summary: "shows a key's settings and status, but not its text",
    takesName: "always",
    options: ["json"],
    run: async ({ name, values }, { book, print }) => {
      const key = await book.show(name);
      if (!key) throw refused(`there is no key of the name ${name}`);
      print(values["json"] ? json(key) : keySheet(key));
    },
  },
  update: {
    summary: "changes a key's settings; the value none removes a setting",
    takesName: "always",
    options: [...termNames, "json"],
    run: async ({ name, values }, { book, note, clock, print }) => {
      const terms = requestOf(values, clock.wallTime());
      const { key } = orRefused(await book.update(name, terms));
      const what = "a key's settings were changed";
      await note({ what, key: name, details: Object.keys(terms) });
      print(values["json"] ? json(key) : keySheet(key));
    },
  },
  rotate: {
    summary:
      "makes a new text for a key; the old text works for another day, or for the time of --overlap",
    takesName: "always",
    options: ["overlap", "json", "quiet"],
    run: async ({ name, values }, { book, note, print }) => {
      const overlapMs = overlapOf(values["overlap"]);
      const made = orRefused(await book.rotate(name, { overlapMs }));
      await note({ what: "a key was rotated", key: name });
      print(madeAs(values, made));
    },
  },
  revoke: change("revoke", "ends a key for good", "revoked for good"),
  disable: change("disable", "refuses the key until it is enabled again", "disabled"),
  enable: change("enable", "enables a disabled key again", "enabled"),
  usage: {
    summary: "shows the usage of one key, or of every key",
    takesName: "perhaps",
    options: ["from", "to", "network", "csv", "json"],
    run: async ({ name, values }, { book, state, config, clock, print }) => {
      const range = readRange(
        { from: textOf(values["from"]), to: textOf(values["to"]) },
        { wallTimeMs: clock.wallTime(), mostDays: MOST_DAYS },
      );
      if (range.kind === "mistake") throw wrong(`--${range.field}: ${range.why}`);
      const query = { ...range, key: name || undefined, network: textOf(values["network"]) };
      const rows = await readUsage(state, query, { clock });
      // A key that no longer exists may still have usage.
      if (name && rows.length === 0 && !(await book.show(name)))
        throw refused(`there is no key of the name ${name}, and no usage of such a key`);
      print(usageAs(values, usageReportOf(rows, range, config.prices && priceList(config.prices))));
    },
  },
};

const json = (value: KeyView | readonly KeyView[] | (KeyView & { key: string })): string =>
  JSON.stringify(value, null, 2);

function madeAs(values: OptionValues, { key, text }: KeyMade): string {
  if (values["quiet"]) return text;
  return values["json"] ? json({ ...key, key: text }) : madeText(key.name, text);
}

function overlapOf(text: string | boolean | undefined): number {
  const overlapMs = typeof text === "string" ? readDuration(text) : OVERLAP_MS;
  if (overlapMs === undefined) throw wrong("--overlap: expected a duration such as 24h, or 0");
  return overlapMs;
}

/** @throws CommandFailure when the outcome is a refusal. */
function orRefused<Outcome extends { readonly kind: string }>(
  outcome: Outcome | KeyRefusal,
): Outcome {
  if ("mistakes" in outcome) throw wrong(outcome.mistakes.join("\n"));
  if ("why" in outcome) throw refused(outcome.why);
  return outcome as Outcome;
}

const refused = (why: string): CommandFailure => new CommandFailure(why, { exitCode: 1 });

const textOf = (value: OptionValues[string]): string | undefined =>
  typeof value === "string" ? value : undefined;

function usageAs(values: OptionValues, report: UsageReport): string {
  if (values["csv"]) return usageCsv(report).trimEnd();
  return values["json"] ? JSON.stringify(report, null, 2) : sumsOf(report);
}

const USAGE_HEADER = ["KEY", "CALLS", "UNITS", "BYTES", "ERRORS", "REFUSED", "COST", "SAVED"];

/** A table with one line for each key; only CSV and JSON have the details. */
const sumsOf = ({ keys: byName, total, currency, from, to }: UsageReport): string =>
  `${from} to ${to}${currency ? `, in ${currency}` : ""}\n${table([
    USAGE_HEADER,
    ...[...Object.entries(byName), ["total", total] as const].map(([name, sum]) => [
      name,
      ...[sum.calls, sum.computeUnits, sum.bytes, sum.errors, sum.refused].map(String),
      sum.cost?.toFixed(2) ?? "-",
      sum.savedCost?.toFixed(2) ?? "-",
    ]),
  ])}`;

const KEYS_HEADER = ["NAME", "STATUS", "SOURCE", "CREATED", "EXPIRES", "NETWORKS", "UNITS/S"];

/** A table with one line for each key. */
function keyTable(views: readonly KeyView[]): string {
  const rows = views.map(({ name, status, source, createdAt, settings }) => [
    name,
    status,
    source,
    createdAt?.slice(0, "2026-11-21T10:00".length) ?? "-",
    settings.expires?.slice(0, "2026-11-21T10:00".length) ?? "never",
    settings.networks?.join(",") ?? "all",
    settings.rate ? String(settings.rate.computeUnits) : "-",
  ]);
  return table([KEYS_HEADER, ...rows]);
}

/** A key in YAML, with its settings as the configuration would have them. */
const keySheet = (key: KeyView): string => stringify(key).trimEnd();

const madeText = (name: string, text: string): string =>
  `The key ${name}, which is shown only this once:\n\n  ${text}\n\nEvery gateway knows it within a second.`;
