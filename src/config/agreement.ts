// What no setting can know alone: that names are given once, and that what is named exists. Looks at
// whatever can be read of a configuration, so that other mistakes do not hide these.
import { createHash } from "node:crypto";
import { z } from "zod";
import { whyItOpensNothing } from "../namespaces/known-methods.ts";
import { isLoopback } from "./admin-settings.ts";
import { type Path, pathText } from "./path.ts";
import { didYouMean } from "./suggestion.ts";

type Disagreement = { path: (string | number)[]; message: string };

/** Everything in which the settings contradict each other. */
export function disagreements(config: unknown): readonly Disagreement[] {
  const { keys, networks, admin } = readable.parse(config);
  const all = Object.entries(networks);
  return [
    ...tokenNeeded(admin),
    ...repeats(keys.map((key, at) => ({ path: ["keys", at, "name"], value: key.name }))),
    ...repeats(keys.map((key, at) => secretOf(key, at))),
    ...keys.flatMap((key, at) => unknownNetworks(key.networks, at, Object.keys(networks))),
    ...keys.flatMap((key, at) =>
      uselessMethods(
        key.methods,
        at,
        all.flatMap(([, { methods }]) => methods.allow.filter((name) => name !== undefined)),
      ),
    ),
    ...repeats(
      all.flatMap(([name, { hosts }]) =>
        hosts.map((host, at) => ({
          path: ["networks", name, "hosts", at],
          value: host?.toLowerCase(),
        })),
      ),
    ),
    ...all.flatMap(([name, { upstreams }]) =>
      repeats(
        upstreams.map((upstream, at) => ({
          path: ["networks", name, "upstreams", at, "name"],
          value: upstream.name,
        })),
      ),
    ),
  ];
}

const text = z.string().optional().catch(undefined);
const texts = z.array(text).catch([]);
const readableKey = z
  .object({ name: text, key: text, hash: text, networks: texts, methods: texts })
  .catch({ networks: [], methods: [] });
const readableNetwork = z
  .object({
    hosts: texts,
    upstreams: z.array(z.object({ name: text }).catch({})).catch([]),
    methods: z.object({ allow: texts }).catch({ allow: [] }),
  })
  .catch({ hosts: [], upstreams: [], methods: { allow: [] } });
const readableAdmin = z
  .object({ listen: z.object({ host: text }).catch({}), token: z.unknown().optional() })
  .catch({ listen: {}, token: undefined });
const readable = z
  .object({
    keys: z.array(readableKey).catch([]),
    networks: z.record(z.string(), readableNetwork).catch({}),
    admin: readableAdmin,
  })
  .catch({ keys: [], networks: {}, admin: { listen: {}, token: undefined } });

/** A stranger who reaches the administration can make keys. */
const tokenNeeded = ({ listen, token }: z.output<typeof readableAdmin>): Disagreement[] =>
  token !== undefined || listen.host === undefined || isLoopback(listen.host)
    ? []
    : [
        {
          path: ["admin", "token"],
          message: `missing; who listens on ${listen.host}, beyond this machine, needs a token of at least 16 characters`,
        },
      ];

type Named = { path: (string | number)[]; value: string | undefined };

/** All but the first of those that are alike. */
function repeats(all: readonly Named[]): Disagreement[] {
  const firstByValue = new Map<string, Path>();
  const found: Disagreement[] = [];
  for (const { path, value } of all) {
    if (value === undefined) continue;
    const first = firstByValue.get(value);
    if (first) found.push({ path, message: `the same as ${pathText(first)}` });
    else firstByValue.set(value, path);
  }
  return found;
}

/** A key text and the hash of the same key are one key. */
function secretOf(entry: z.output<typeof readableKey>, at: number): Named {
  return entry.key === undefined
    ? { path: ["keys", at, "hash"], value: entry.hash?.toLowerCase() }
    : { path: ["keys", at, "key"], value: `sha256:${sha256(entry.key)}` };
}

const sha256 = (value: string): string => createHash("sha256").update(value).digest("hex");

/** @param named What networks open, by patterns and full names. */
const uselessMethods = (
  entries: readonly (string | undefined)[],
  at: number,
  named: readonly string[],
): Disagreement[] =>
  entries.flatMap((entry, place) => {
    const message = entry === undefined ? undefined : whyItOpensNothing(entry, named);
    return message === undefined ? [] : [{ path: ["keys", at, "methods", place], message }];
  });

const unknownNetworks = (
  names: readonly (string | undefined)[],
  at: number,
  known: readonly string[],
): Disagreement[] =>
  names.flatMap((name, place) =>
    name === undefined || known.includes(name)
      ? []
      : [
          {
            path: ["keys", at, "networks", place],
            message: `no network has this name${didYouMean(name, known)}`,
          },
        ],
  );
