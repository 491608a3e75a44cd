// Removes the secrets of an upstream's address and headers from the replies that callers see.
import { decoded } from "../config/units.ts";
import type { MethodTraits } from "../namespaces/known-method.ts";
import type { ConnectionOptions } from "./connection/connection.ts";
import { hasOwnWords, type Reply } from "./reply.ts";

const LEAST_SECRET_LENGTH = 6;

/** The parts of an upstream's URL and headers that no caller may see, in all forms that are sent; longest first. */
export function secretsOf({ url, headers }: Pick<ConnectionOptions, "url" | "headers">): string[] {
  const { hostname, username, password, pathname, searchParams } = new URL(url);
  const values = Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]);
  const parts = [
    ...[hostname, ...pathname.split("/"), ...searchParams.keys()].filter(isNoWord),
    ...searchParams.values(),
    ...values,
    ...values.flatMap(credentialsIn),
    username,
    password,
    ...basicForms(`${decoded(username)}:${decoded(password)}`),
  ];
  return [...new Set(parts.flatMap((part) => [part, decoded(part), encoded(part)]))]
    .filter((part) => part.length >= LEAST_SECRET_LENGTH)
    .sort((a, b) => b.length - a.length); // a longer secret may contain a shorter one
}

const isNoWord = (part: string): boolean => !ORDINARY_WORD.test(part);

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

/** No secret: a service named `execution` must not turn "execution reverted" into "*** reverted". */
const ORDINARY_WORD = /^[a-z]{1,12}$/i;

const redact = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((clean, secret) => clean.replaceAll(secret, "***"), text);

/** The reply with `***` for each secret, where the reply may contain the node's own words (`hasOwnWords`). */
export function withoutSecrets(
  reply: Reply,
  method: Pick<MethodTraits, "isOfChain">,
  secrets: readonly string[],
): Reply {
  if (secrets.length === 0 || !hasOwnWords(reply, method)) return reply;
  if (reply.kind === "refused") return refusalWithout(reply, secrets);
  const clean = jsonWithout(reply.json.toString(), secrets);
  if (clean === "unreadable") return { kind: "failed", reason: "malformed answer" };
  return clean === "unchanged" ? reply : { ...reply, json: Buffer.from(clean) };
}

function refusalWithout(
  reply: Extract<Reply, { kind: "refused" }>,
  secrets: readonly string[],
): Reply {
  const message = redact(reply.message, secrets);
  const json = jsonWithout(reply.json, secrets);
  if (json === "unchanged") return reply;
  if (json !== "unreadable") return { ...reply, message, json };
  return { ...reply, message, json: JSON.stringify({ code: reply.code, message }) };
}

/** The members of a JSON-RPC error keep their names, even where a secret is the same. */
const ERROR_MEMBERS = new Set(["code", "message", "data"]);

/**
 * Removes secrets from texts and member names; numbers stay as they are.
 *
 * @returns The new JSON, "unchanged", or "unreadable" where it is malformed or nests too deeply.
 */
function jsonWithout(json: string, secrets: readonly string[]): string {
  let isClean = true;
  const cleanText = (text: string): string => {
    const clean = redact(text, secrets);
    isClean &&= clean === text;
    return clean;
  };
  const cleanName = (name: string): string => (ERROR_MEMBERS.has(name) ? name : cleanText(name));
  const clean = (_: string, value: unknown): unknown => {
    if (typeof value === "string") return cleanText(value);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [cleanName(name), member]),
    );
  };
  try {
    const cleaned: unknown = JSON.parse(json, clean);
    return isClean ? "unchanged" : JSON.stringify(cleaned);
  } catch {
    return "unreadable";
  }
}

function encoded(part: string): string {
  try {
    return encodeURIComponent(part);
  } catch {
    return part;
  }
}
