// What `headgate keys` can do, declared once: each command with its options, from which its help is made, and how what
// it did is printed.
import { stringify } from "yaml";
import {
  type KeyBook,
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
import { readRange } from "../lib/calendar.ts";
import type { Clock } from "../lib/clock.ts";
import type { State } from "../state/state.ts";
import { type OptionValues, readDuration, requestOf, termNames, wrong } from "./keys-options.ts";
import { CommandFailure } from "./read-config.ts";
import { table } from "./table.ts";

type KeysParts = {
  readonly book: KeyBook;
  readonly state: State;
  readonly config: Config;
  readonly clock: Pick<Clock, "wallTime" | "yield">;
  readonly print: (text: string) => void;
};

export type KeysCommand = {
  readonly summary: string;
  readonly takesName: "always" | "perhaps" | "never";
  /** By the names under which they are declared. */
  readonly options: readonly string[];
  run(
    asked: { readonly name: string; readonly values: OptionValues },
    parts: KeysParts,
  ): Promise<void>;
};

/** Ten years: the report is printed row by row, however long it is. */
const MOST_DAYS = 3660;

const change = (
  summary: string,
  ask: (name: string, book: KeyBook) => ReturnType<KeyBook["revoke"]>,
  done: string,
): KeysCommand => ({
  summary,
  takesName: "always",
  options: ["json"],
  run: async ({ name, values }, { book, print }) => {
    const { key } = orRefused(await ask(name, book));
    print(values["json"] ? json(key) : `The key ${name} is ${done}.`);
  },
});

export const keysCommands: Readonly<Record<string, KeysCommand>> = {
  create: {
    summary: "makes a key and shows it once",
    takesName: "always",
    options: [...termNames, "json", "quiet"],
    run: async ({ name, values }, { book, clock, print }) => {
      const request = { name, ...requestOf(values, clock.wallTime()) };
      print(madeAs(values, orRefused(await book.create(request))));
    },
  },
  list: {
    summary: "lists all keys, those of the file too",
    takesName: "never",
    options: ["json"],
    run: async ({ values }, { book, print }) => {
      const keys = await book.list();
      print(values["json"] ? json(keys) : keyTable(keys));
    },
  },
  show: {
    summary: "shows all about a key but the key itself",
    takesName: "always",
    options: ["json"],
    run: async ({ name, values }, { book, print }) => {
      const key = await book.show(name);
      if (!key) throw refused(`there is no key of the name ${name}`);
      print(values["json"] ? json(key) : keySheet(key));
    },
  },
  update: {
    summary: "changes what a key may do; none takes a setting away",
    takesName: "always",
    options: [...termNames, "json"],
    run: async ({ name, values }, { book, clock, print }) => {
      const { key } = orRefused(await book.update(name, requestOf(values, clock.wallTime())));
      print(values["json"] ? json(key) : keySheet(key));
    },
  },
  rotate: {
    summary: "makes a new text for a key; the old one works on for a day, or the overlap",
    takesName: "always",
    options: ["overlap", "json", "quiet"],
    run: async ({ name, values }, { book, print }) => {
      const overlapMs = overlapOf(values["overlap"]);
      print(madeAs(values, orRefused(await book.rotate(name, { overlapMs }))));
    },
  },
  revoke: change("ends a key for good", (name, book) => book.revoke(name), "revoked for good"),
  disable: change("lets a key rest", (name, book) => book.disable(name), "disabled"),
  enable: change("wakes it again", (name, book) => book.enable(name), "enabled"),
  usage: {
    summary: "what a key, or every key, was used for",
    takesName: "perhaps",
    options: ["from", "to", "network", "csv", "json"],
    run: async ({ name, values }, { state, config, clock, print }) => {
      const range = readRange(
        { from: textOf(values["from"]), to: textOf(values["to"]) },
        { wallTimeMs: clock.wallTime(), mostDays: MOST_DAYS },
      );
      if (range.kind === "mistake") throw wrong(`--${range.field}: ${range.why}`);
      const query = { ...range, key: name || undefined, network: textOf(values["network"]) };
      const rows = await readUsage(state, query, { clock });
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
  if (overlapMs === undefined) throw wrong("--overlap: want a duration such as 24h, or 0");
  return overlapMs;
}

/** @throws CommandFailure in the place of a refusal. */
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

/** One line a key: what was done in detail is for machines. */
const sumsOf = ({ keys, total, currency, from, to }: UsageReport): string =>
  `${from} to ${to}${currency ? `, in ${currency}` : ""}\n${table([
    USAGE_HEADER,
    ...[...Object.entries(keys), ["total", total] as const].map(([name, sum]) => [
      name,
      ...[sum.calls, sum.computeUnits, sum.bytes, sum.errors, sum.refused].map(String),
      sum.cost?.toFixed(2) ?? "-",
      sum.savedCost?.toFixed(2) ?? "-",
    ]),
  ])}`;

const KEYS_HEADER = ["NAME", "STATUS", "SOURCE", "CREATED", "EXPIRES", "NETWORKS", "UNITS/S"];

/** A line each, in columns. */
function keyTable(keys: readonly KeyView[]): string {
  const rows = keys.map(({ name, status, source, createdAt, settings }) => [
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

/** As YAML, its settings as they would be written in the configuration. */
const keySheet = (key: KeyView): string => stringify(key).trimEnd();

const madeText = (name: string, text: string): string =>
  `The key ${name}. It is shown this once:\n\n  ${text}\n\nEvery gateway knows it within a second.`;
