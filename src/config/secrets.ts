// The texts in a configuration that may be secrets: keys of providers in URLs, also in host names; users, passwords and
// headers.
import { keysInHost } from "./host-keys.ts";
import type { Config, NetworkSettings, UpstreamSettings } from "./schema.ts";
import { decoded } from "./units.ts";

type Reached = Pick<UpstreamSettings, "url" | "headers">;

/** The parts of an upstream's URL and headers that no caller may see, its host name included. */
export const secretsOf = (upstream: Reached): string[] => [
  ...[new URL(upstream.url).hostname].filter(isNoWord),
  ...credentialsOf(upstream),
];

/** No secret: a service named `execution` must not turn "execution reverted" into "*** reverted". */
const ORDINARY_WORD = /^[a-z]{1,12}$/i;

const isNoWord = (text: string): boolean => !ORDINARY_WORD.test(text);

/** As `secretsOf`, without the host name, which operators may see. */
function credentialsOf({ url, headers }: Reached): string[] {
  const { hostname, username, password, pathname, searchParams } = new URL(url);
  const values = Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]);
  const parts = [
    ...keysInHost(hostname),
    ...[...pathname.split("/"), ...searchParams.keys()].filter(isNoWord),
    ...searchParams.values(),
    ...values,
    ...values.flatMap(credentialsIn),
    username,
    password,
    ...basicForms(`${decoded(username)}:${decoded(password)}`),
  ];
  return [...new Set(parts.flatMap((part) => [part, decoded(part)]))].filter((part) => part !== "");
}

/** Credentials in base64 as in `Authorization: Basic`, also without padding and in base64url. */
function basicForms(credentials: string): string[] {
  if (credentials === ":") return [];
  const base64 = Buffer.from(credentials).toString("base64");
  return [base64, base64.replace(/=+$/, ""), Buffer.from(credentials).toString("base64url")];
}

/** The user, the password, and both together, where a word of a header is their base64. */
function credentialsIn(word: string): string[] {
  const text = Buffer.from(word, "base64").toString();
  const [user, ...password] = text.split(":");
  const isBase64 = basicForms(text).includes(word) && /^[\x20-\x7e]+$/.test(text);
  return isBase64 && password.length > 0 ? [text, user ?? "", password.join(":")] : [];
}

type Networks = Pick<Config, "networks" | "unidentified">;

const networksIn = ({ networks, unidentified = {} }: Networks): [string, NetworkSettings][] =>
  Object.entries({ ...networks, ...unidentified });

/** The names that everybody may see; a part of a URL may be the same as a part of a name. */
const namesIn = (config: Networks): string[] =>
  networksIn(config).flatMap(([name, { upstreams }]) => [
    name,
    ...upstreams.map((upstream) => upstream.name),
  ]);

const withoutNames = (secrets: readonly string[], names: readonly string[]): string[] =>
  secrets.filter((secret) => !names.some((name) => name.includes(secret)));

const upstreamsIn = (config: Networks): readonly UpstreamSettings[] =>
  networksIn(config).flatMap(([, { upstreams }]) => upstreams);

/** The parts of all upstreams' URLs and headers that no evidence against a node may show. */
export const secretsInEvidence = (config: Networks): string[] =>
  withoutNames(upstreamsIn(config).flatMap(secretsOf), namesIn(config));

/** The credentials that no line of the log may show. Ordinary words stay: a line must remain readable. */
export function secretsInLog(config: Networks & Pick<Config, "state" | "tracing">): string[] {
  const { state, tracing } = config;
  const { password = "" } = state ?? {};
  const sentinel = state?.kind === "sentinel" ? (state.sentinelPassword ?? "") : "";
  const collector = tracing ? credentialsOf(tracing) : [];
  const all = [...upstreamsIn(config).flatMap(credentialsOf), password, sentinel, ...collector];
  return withoutNames(all.filter(isNoWord), namesIn(config));
}
