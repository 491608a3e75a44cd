// What `headgate keys` can do, declared once: each with its options, from which its help is made.
import {
  type KeyBook,
  type KeyMade,
  type KeyRefusal,
  OVERLAP_MS,
} from "../access/keys/key-book.ts";
import type { KeyView } from "../access/keys/key-view.ts";
import type { KeysCommand } from "./keys-command.ts";
import { type OptionValues, readDuration, requestOf, termNames, wrong } from "./keys-options.ts";
import { keySheet, keyTable, madeText } from "./keys-print.ts";
import { keysUsage } from "./keys-usage.ts";
import { CommandFailure } from "./read-config.ts";

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
  usage: keysUsage,
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
