// Keeps what the operator knows of a node out of what callers see.

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
    ...pathname.split("/"),
    ...searchParams.values(),
    ...Object.values(headers).flatMap((value) => [value, ...value.split(/\s+/)]),
    hostname,
    username,
    password,
  ];
  return [...new Set(parts.flatMap((part) => [part, decoded(part)]))]
    .filter((part) => part.length >= LEAST_SECRET_LENGTH)
    .sort((a, b) => b.length - a.length); // the longest first: one may hold another
}

export const redact = (text: string, secrets: readonly string[]): string =>
  secrets.reduce((clean, secret) => clean.replaceAll(secret, "***"), text);

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
