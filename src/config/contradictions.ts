// Finds settings that contradict each other: two have the same name, or one names a network or a method that does not
// exist. The search reads all readable parts of a configuration, so that other mistakes do not hide these.
import { z } from "zod";
import { whyItOpensNothing } from "../namespaces/known-methods.ts";
import { hashOf } from "./key-settings.ts";
import { isLoopback } from "./server-settings.ts";
import { didYouMean, type Path, pathText } from "./setting-names.ts";

type Contradiction = { path: (string | number)[]; message: string };

export function contradictionsIn(config: unknown): readonly Contradiction[] {
  const { keys, networks, admin } = readable.parse(config);
  const all = Object.entries(networks);
  const context = {
    networks: Object.keys(networks),
    openMethods: all.flatMap(([, { methods }]) =>
      methods.allow.filter((name) => name !== undefined),
    ),
  };
  const hosts = all.flatMap(([name, network]) =>
    network.hosts.map((host, at) => ({
      path: ["networks", name, "hosts", at],
      value: host?.toLowerCase(),
    })),
  );
  const upstreams = all.map(([name, network]) =>
    network.upstreams.map((upstream, at) => ({
      path: ["networks", name, "upstreams", at, "name"],
      value: upstream.name,
    })),
  );
  return [
    ...tokenNeeded(admin),
    ...repeats(
      admin.tokens.map(({ name }, at) => ({ path: ["admin", "tokens", at, "name"], value: name })),
    ),
    ...repeats([
      { path: ["admin", "token"], value: hashOfText(admin.token) },
      ...admin.tokens.map(({ token, hash }, at) => ({
        path: ["admin", "tokens", at],
        value: hashOfText(token) ?? hash?.toLowerCase(),
      })),
    ]),
    ...repeats(keys.map((key, at) => ({ path: ["keys", at, "name"], value: key.name }))),
    ...repeats(keys.map((key, at) => secretOf(key, at))),
    ...keys.flatMap((key, at) => unmatchedNames(key, at, context)),
    ...repeats(hosts),
    ...upstreams.flatMap(repeats),
  ];
}

const text = z.string().optional().catch(undefined);
const texts = z.array(text).catch([]);
/** The readable settings of an entry of `keys`; unreadable ones are left out. */
export const readableKey = z
  .object({ name: text, key: text, hash: text, networks: texts, methods: texts })
  .catch({ networks: [], methods: [] });
const readableNetwork = z
  .object({
    hosts: texts,
    upstreams: z.array(z.object({ name: text }).catch({})).catch([]),
    methods: z.object({ allow: texts }).catch({ allow: [] }),
  })
  .catch({ hosts: [], upstreams: [], methods: { allow: [] } });
const NO_ADMIN = { listen: {}, tokens: [] };
const readableToken = z.object({ name: text, token: text, hash: text }).catch({});
const readableAdmin = z
  .object({
    listen: z.object({ host: text }).catch({}),
    token: z.unknown().optional(),
    tokens: z.array(readableToken).catch([]),
  })
  .catch(NO_ADMIN);
const readable = z
  .object({
    keys: z.array(readableKey).catch([]),
    networks: z.record(z.string(), readableNetwork).catch({}),
    admin: readableAdmin,
  })
  .catch({ keys: [], networks: {}, admin: NO_ADMIN });

/** A missing token for an admin port that other machines can reach: anybody there could make keys. */
const tokenNeeded = ({ listen, token, tokens }: z.output<typeof readableAdmin>): Contradiction[] =>
  token !== undefined || tokens.length > 0 || listen.host === undefined || isLoopback(listen.host)
    ? []
    : [
        {
          path: ["admin", "token"],
          message: `missing; the admin port listens on ${listen.host}, which other machines can reach, so it needs a token of at least 16 characters`,
        },
      ];

type Named = { path: (string | number)[]; value: string | undefined };

/** The entries whose value an earlier entry has. */
function repeats(all: readonly Named[]): Contradiction[] {
  const firstByValue = new Map<string, Path>();
  const found: Contradiction[] = [];
  for (const { path, value } of all) {
    if (value === undefined) continue;
    const first = firstByValue.get(value);
    if (first) found.push({ path, message: `is the same as ${pathText(first)}` });
    else firstByValue.set(value, path);
  }
  return found;
}

const hashOfText = (value: unknown): string | undefined =>
  typeof value === "string" ? hashOf(value) : undefined;

/** The hash of a key, from its text or as written, so that both spellings of a key are found to be the same. */
function secretOf(entry: z.output<typeof readableKey>, at: number): Named {
  return entry.key === undefined
    ? { path: ["keys", at, "hash"], value: entry.hash?.toLowerCase() }
    : { path: ["keys", at, "key"], value: hashOf(entry.key) };
}

/** The settings that a key is checked against. */
export type KeyContext = {
  /** The names of all networks. */
  readonly networks: readonly string[];
  /** The methods that the networks open, as patterns and full names. */
  readonly openMethods: readonly string[];
};

/** The networks of a key that do not exist, and the methods that open nothing. @param at The key's index in `keys`. */
export function unmatchedNames(
  { networks, methods }: Pick<z.output<typeof readableKey>, "networks" | "methods">,
  at: number,
  { networks: known, openMethods }: KeyContext,
): Contradiction[] {
  return [
    ...wrongIn(networks, ["keys", at, "networks"], (name) =>
      known.includes(name) ? undefined : `no network has this name${didYouMean(name, known)}`,
    ),
    ...wrongIn(methods, ["keys", at, "methods"], (entry) => whyItOpensNothing(entry, openMethods)),
  ];
}

const wrongIn = (
  entries: readonly (string | undefined)[],
  path: (string | number)[],
  why: (entry: string) => string | undefined,
): Contradiction[] =>
  entries.flatMap((entry, index) => {
    const message = entry === undefined ? undefined : why(entry);
    return message === undefined ? [] : [{ path: [...path, index], message }];
  });
