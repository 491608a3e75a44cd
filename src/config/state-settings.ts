// The URL of the Redis or Valkey in which several gateways share their state. The URL may hold a password, so it is never
// shown, and its mistakes are described without its text.
import { z } from "zod";
import { decoded } from "./units.ts";

const example =
  "redis://host:6379, rediss://user:password@host:6379/0, redis-sentinel://host1:26379,host2:26379/name or redis-cluster://host1:6379,host2:6379";

/** The URL; left out: the processes of one machine share an LMDB in the data folder. */
export const state = z
  .string({ error: `must be a URL such as ${example}` })
  .transform((text, context): SharedStateSettings => {
    const read = readStateUrl(text);
    if (typeof read !== "string") return read;
    context.addIssue({ code: "custom", message: read });
    return z.NEVER;
  });

type Host = { readonly host: string; readonly port: number };

export type SharedStateSettings = {
  readonly hosts: readonly Host[];
  readonly isEncrypted: boolean;
  readonly user?: string;
  readonly password?: string;
  readonly database: number;
  /** The prefix of all keys, so that several installations can share a Redis. */
  readonly prefix: string;
} & (
  | { readonly kind: "single" | "cluster" }
  | { readonly kind: "sentinel"; readonly masterName: string; readonly sentinelPassword?: string }
);

const form =
  /^(?:redis|valkey)(s?)(-sentinel|-cluster)?:\/\/(?:([^/?#\s]*)@)?([^/?#@\s]+)(?:\/([^/?#\s]*))?(?:\?([^#\s]*))?$/i;

/** @returns The settings, or the mistake in words. */
function readStateUrl(text: string): SharedStateSettings | string {
  const match = form.exec(text);
  if (!match) return `must be a URL such as ${example}`;
  const [, encrypted, kindText = "", login, hostsText = "", path = "", query] = match;
  const kind = kindOf(kindText);
  const hosts = hostsText.split(",").map((each) => readHost(each, defaultPort[kind]));
  const { db, prefix, sentinelPassword, ...others } = Object.fromEntries(
    new URLSearchParams(query),
  );
  const database = databaseOf(kind === "sentinel" ? (db ?? "") : path || (db ?? ""));
  const settings = { isEncrypted: encrypted !== "", ...readLogin(login) };
  if (!hosts.every((host) => host !== undefined))
    return "must have host:port after ://, with commas between several";
  if (kind === "single" && hosts.length > 1)
    return "must begin with redis-sentinel:// or redis-cluster://, since it has several hosts";
  if (kind === "sentinel" && path === "") return "must have the name of the master after the hosts";
  if (database === undefined) return "must have the number of a database, such as 0";
  if (kind === "cluster" && database !== 0)
    return "must not name a database other than 0, the only one of a cluster";
  if (prefix !== undefined && !/^[\w.:-]{1,64}$/.test(prefix))
    return "must have a prefix of letters, digits, '_', '.', ':' and '-'";
  if (Object.keys(others).length > 0 || (sentinelPassword !== undefined && kind !== "sentinel"))
    return "must have nothing but db, prefix and, for redis-sentinel, sentinelPassword after the ?";
  const common = { hosts, database, prefix: prefix ?? "headgate", ...settings };
  if (kind !== "sentinel") return { kind, ...common };
  const secret = sentinelPassword === undefined ? {} : { sentinelPassword };
  return { kind, masterName: decoded(path), ...secret, ...common };
}

const defaultPort = { single: 6379, sentinel: 26_379, cluster: 6379 };

const kindOf = (text: string): SharedStateSettings["kind"] =>
  text === "" ? "single" : text.toLowerCase() === "-sentinel" ? "sentinel" : "cluster";

function readHost(text: string, defaultPortOfKind: number): Host | undefined {
  const match = /^(?:\[([0-9a-f:.]+)\]|([a-z0-9._-]+))(?::(\d{1,5}))?$/i.exec(text);
  const port = Number(match?.[3] ?? defaultPortOfKind);
  const host = match?.[1] ?? match?.[2];
  return host && port > 0 && port <= 65_535 ? { host, port } : undefined;
}

const databaseOf = (text: string): number | undefined =>
  text === "" ? 0 : /^\d{1,5}$/.test(text) ? Number(text) : undefined;

/** Reads `user:password`, `:password` or `user`. */
function readLogin(text: string | undefined): { user?: string; password?: string } {
  if (text === undefined) return {};
  const [, user = "", password] = /^([^:]*)(?::(.*))?$/.exec(text) ?? [];
  return {
    ...(user === "" ? {} : { user: decoded(user) }),
    ...(password === undefined ? {} : { password: decoded(password) }),
  };
}
