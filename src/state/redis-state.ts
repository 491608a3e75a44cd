// The shared state of many machines: Redis or Valkey, alone, behind Sentinels or as a Cluster. Each operation is one
// script, and one round trip where no other process interferes.

import type { SharedStateSettings } from "../config/state-settings.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { Mutex } from "../lib/mutex.ts";
import type { OperationId } from "../lib/outbox.ts";
import { RedisLink, type RedisStateParts } from "./redis-link.ts";
import { doneKey, groupKeys } from "./redis-scripts.ts";
import {
  type Entry,
  groupOf,
  type JournalPart,
  journalKeys,
  type Next,
  oneGroupOf,
  type State,
  type Texts,
  type Updated,
  type UpdateOptions,
} from "./state.ts";

/** The most attempts of an update. Other processes win now and then; 100 times in a row means that something is wrong. */
const MOST_TRIES = 100;

export class RedisState implements State {
  readonly #prefix: string;
  readonly #link: RedisLink;
  /** By the first key of an update: updates of this process wait for each other, so that they do not conflict. */
  readonly #turns = new Map<string, Mutex>();

  constructor(settings: SharedStateSettings, parts: RedisStateParts) {
    this.#prefix = settings.prefix;
    // The probe writes nothing, but fails where a write fails: on a replica, on a full disk, without the right to write.
    const probe = (): Promise<Updated> =>
      this.update(["probe"], () => [undefined], { known: [undefined] });
    this.#link = new RedisLink(settings, { ...parts, probe });
  }

  /** Connects. Resolves when Redis is reached, at the first error, or after 1.5 s. */
  readonly start = (): Promise<void> => this.#link.start();
  readonly close = (): Promise<void> => this.#link.close();

  async get(key: string): Promise<string | undefined> {
    const [texts] = groupKeys(this.#prefix, groupOf(key));
    return (await this.#link.ask((redis) => redis.hget(texts, key))) ?? undefined;
  }

  async list(prefix: string): Promise<readonly Entry[]> {
    const keys = groupKeys(this.#prefix, groupOf(prefix));
    // No UTF-8 text has the byte 0xff, so this bound sorts after all names with the prefix.
    const end = Buffer.concat([Buffer.from(`(${prefix}`), Buffer.from([0xff])]);
    const entries: Entry[] = [];
    let from = `[${prefix}`;
    for (let hasMore = true; hasMore; from = `(${entries.at(-1)?.key}`) {
      const page = await this.#link.ask((redis) => redis.pageOfGroup(...keys, from, end));
      hasMore = page[0] === "1";
      for (let index = 1; index < page.length; index += 2)
        entries.push({ key: page[index] ?? "", text: page[index + 1] ?? "" });
    }
    return entries;
  }

  update(keys: readonly string[], next: Next, options: UpdateOptions = {}): Promise<Updated> {
    const [first = ""] = keys;
    const turns = this.#turns.get(first) ?? new Mutex();
    this.#turns.set(first, turns);
    const forget = (): void => {
      if (turns.isIdle) this.#turns.delete(first);
    };
    const updated = turns.run(() => this.#update(keys, next, options));
    updated.then(forget, forget);
    return updated;
  }

  readonly take: State["take"] = async (key, request, id) => {
    const { bounds, returned, owed, least, wanted, share } = request;
    const numbers = [bounds.size, bounds.perSecond, returned, owed, least, wanted, share];
    const answer = await this.#link.ask((redis) =>
      redis.takeUnits(...this.#keysOf(groupOf(key), id), key, ...numbers.map(String)),
    );
    const [granted = 0, left = 0] = answer.split(" ").map(Number);
    return { granted, left };
  };

  readonly add: State["add"] = async (additions, id) => {
    const group = oneGroupOf(additions.map(({ key }) => key));
    const words = additions.flatMap(({ key, counts }) => [key, JSON.stringify(counts)]);
    await this.#link.ask((redis) => redis.addCounts(...this.#keysOf(group, id), ...words));
  };

  readonly append: State["append"] = (journal, { at, items, kept, least = 0 }) =>
    this.#askJournal(journal, ["append", at, kept, least], items);

  readonly readFrom: State["readFrom"] = (journal, at) =>
    this.#askJournal(journal, ["read", at, 0, 0], []);

  async #askJournal(
    journal: string,
    [verb, ...numbers]: readonly [string, ...number[]],
    items: readonly string[],
  ): Promise<JournalPart> {
    const keys = journalKeys(journal);
    const words = [verb, keys.first, keys.end, keys.items, ...numbers.map(String), ...items];
    const [first, end, from, ...there] = await this.#link.ask((redis) =>
      redis.appendItems(...groupKeys(this.#prefix, groupOf(journal)), ...words),
    );
    return { first, end, from, items: there };
  }

  async #update(
    keys: readonly string[],
    next: Next,
    { known, id }: UpdateOptions,
  ): Promise<Updated> {
    const group = oneGroupOf(keys);
    const look = (): Promise<Texts> => Promise.all(keys.map((key) => this.get(key)));
    let isFresh = known === undefined;
    let texts = known ?? (await look());
    for (let tries = 0; tries < MOST_TRIES; tries += 1) {
      const wanted = next(texts);
      if (!wanted && isFresh) return { isChanged: false, texts };
      if (wanted) {
        const words = keys.flatMap((key, at) => [
          ...[key, ...optional(texts[at])],
          ...optional(wanted[at]),
        ]);
        const answer = await this.#link.ask((redis) =>
          redis.updateGroup(...this.#keysOf(group, id), ...words),
        );
        if (answer === 1) return { isChanged: true, texts: wanted };
        const [wasDone, ...there] = answer;
        texts = there.map((text) => text ?? undefined);
        if (wasDone === 1) return { isChanged: true, texts };
      } else texts = await look();
      isFresh = true;
    }
    throw errors.stateUnavailable();
  }

  /** The keys and the first arguments of a script that acts once for each id. */
  #keysOf(group: string, id: OperationId | undefined): [string, string, string, ...string[]] {
    const keys = groupKeys(this.#prefix, group);
    const words = id ? [`${id.number}`, `${id.keptMs}`] : ["", ""];
    return [...keys, doneKey(this.#prefix, group, id?.slot ?? ""), ...words];
  }
}

const optional = (text: string | undefined): [isThere: string, text: string] =>
  text === undefined ? ["0", ""] : ["1", text];
