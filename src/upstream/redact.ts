// Keeps what the operator knows of a node out of what callers see.
import type { Reply } from "./reply.ts";

const LEAST_SECRET_LENGTH = 6;

/** The parts of a node's address and headers that must not be told. */
export function secretsOf({
  url,
  headers,
}: {
  url: string;
  headers: Readonly<Record<string, string>>;
}): string[] {
  const { hostname, username, password, pathname, searchParams } = new URL(url);
  const parts = [
    ...[hostname, ...pathname.split("/")].filter((part) => !ORDINARY_WORD.test(part)),
    ...searchParams.values(),
    ...Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]),
    username,
    password,
  ];
  return [...new Set(parts.flatMap((part) => [part, decoded(part)]))]
    .filter((part) => part.length >= LEAST_SECRET_LENGTH)
    .sort((a, b) => b.length - a.length); // the longest first: one may hold another
}

/** A service named `execution` must not turn "execution reverted" into "*** reverted". */
const ORDINARY_WORD = /^[a-z]{1,12}$/i;

const redact = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((clean, secret) => clean.replaceAll(secret, "***"), text);

/** Looks into the texts only: a secret of digits must not make a number, or a member's name, unreadable. */
export function withoutSecrets(reply: Reply, secrets: readonly string[]): Reply {
  if (reply.kind !== "refused") return reply;
  const message = redact(reply.message, secrets);
  let isClean = true;
  const cleanText = (_: string, value: unknown): unknown => {
    if (typeof value !== "string") return value;
    const clean = redact(value, secrets);
    isClean &&= clean === value;
    return clean;
  };
  try {
    const error: unknown = JSON.parse(reply.json, cleanText);
    return isClean ? reply : { ...reply, message, json: JSON.stringify(error) };
  } catch {
    // Nested too deeply to be walked through.
    return { ...reply, message, json: JSON.stringify({ code: reply.code, message }) };
  }
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
