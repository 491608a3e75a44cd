// Says in one line what is wrong with a setting, where, and what was expected; and never shows what
// may be a secret. A setting's path is written as people write it, such as `networks.eth-mainnet.upstreams[0].url`.

import type { z } from "zod";
import { knownSettings } from "./schema.ts";
import { isMapping } from "./units.ts";

export type Mistake = { path: Path; message: string };

export const mistakeLine = ({ path, message }: Mistake): string => `${pathText(path)}: ${message}`;

/** The mistakes that the schema found in `config`. */
export const mistakesOf = (
  issues: readonly z.core.$ZodIssue[],
  config: unknown,
  isFromEnvironment: (path: Path) => boolean,
): Mistake[] =>
  issues.flatMap((issue) => {
    const { path, message } = issue;
    if (issue.code === "unrecognized_keys") return issue.keys.map((key) => unknown(path, key));
    if (!message.startsWith("expected ")) return [{ path, message }];
    const found = foundAt(path, config);
    if (!found) return [{ path, message: `missing; ${message}` }];
    const isSecret = mayBeSecret(path) || isFromEnvironment(path);
    const got = shown(found.value, message, isSecret) + quotesHint(issue, found.value);
    return [{ path: withoutHeader(path), message: `${message}, got ${got}` }];
  });

/** What the schema says where no setting has words of its own. */
export const plainWords = (issue: z.core.$ZodRawIssue): string =>
  issue.code === "invalid_type"
    ? `expected ${typeNames.get(issue.expected) ?? "a value"}`
    : "is wrong";

const typeNames = new Map<string, string>([
  ["object", "a mapping"],
  ["record", "a mapping"],
  ["array", "a list"],
  ["string", "a text"],
]);

/** Names are shown only where no slip, a space too many or too few, makes a name of a secret. */
function unknown(path: Path, name: string): Mistake {
  const suggestion = didYouMean(name, knownSettings(path));
  if (suggestion || (!mayBeSecret(path) && /^\w[\w-]*$/.test(name))) {
    return { path: [...path, name], message: `unknown setting${suggestion}` };
  }
  return { path, message: "unknown setting; is a colon, a space or a quote wrong?" };
}

/** Keys, tokens, and all about upstreams: a URL or a header may hold a key, and may stand in a wrong place. */
const mayBeSecret = (path: Path): boolean =>
  path[0] === "keys" ||
  path[0] === "keySecret" ||
  path.includes("upstreams") ||
  path.includes("token");

function shown(value: unknown, message: string, isSecret: boolean): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (isMapping(value)) return "a mapping";
  if (typeof value !== "string") return isSecret ? `a ${typeof value}` : String(value);
  const isPlain = /^[\w.+:-]{1,40}$/.test(value) && !value.includes("://");
  const isLeaf = !/^expected a (mapping|list)/.test(message);
  return !isSecret && isLeaf && isPlain ? `"${value}"` : "a text";
}

/** YAML tells numbers from texts by their quotes, which is easily overlooked. */
function quotesHint(issue: z.core.$ZodIssue, value: unknown): string {
  const expected = issue.code === "invalid_type" ? issue.expected : undefined;
  if (issue.message.startsWith("expected a duration")) return ""; // a unit is missing, not quotes
  const type = typeof value;
  if (expected === "string" && (type === "number" || type === "boolean"))
    return "; put it in quotes";
  const isNumeric = type === "string" && /^\d+$/.test(String(value));
  return expected === "number" && isNumeric ? "; leave out the quotes" : "";
}

function foundAt(path: Path, config: unknown): { value: unknown } | undefined {
  let value = config;
  for (const step of path) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, step))
      return undefined;
    value = Reflect.get(value, step);
  }
  return { value };
}

export type Path = readonly PropertyKey[];

export const pathText = (path: Path): string =>
  path.length === 0 ? "the file" : path.map(stepText).join("").replace(/^\./, "");

function stepText(step: PropertyKey): string {
  if (typeof step === "number") return `[${step}]`;
  const name = String(step);
  // Quoted, so that a name with a line break still makes one line.
  return /^[\w-]{1,64}$/.test(name) ? `.${name}` : `[${JSON.stringify(name.slice(0, 64))}]`;
}
/** The path without the name of a header, which is whatever is written there and may be a secret. */
export const withoutHeader = (path: Path): Path =>
  path.at(-2) === "headers" ? path.slice(0, -1) : path;

/** `; did you mean upstreams?`, or nothing when no known name is one letter or two off. */
export function didYouMean(name: string, known: readonly string[]): string {
  const [best] = known
    .map((candidate) => ({ candidate, distance: editDistance(name, candidate) }))
    // Two letters of a name of three are another name, not a slip.
    .filter(({ candidate, distance }) => distance <= Math.min(2, candidate.length - 2))
    .sort((a, b) => a.distance - b.distance);
  return best ? `; did you mean ${best.candidate}?` : "";
}

/** How many letters must be put in, left out or changed. */
function editDistance(from: string, to: string): number {
  // Far apart anyway; and what a file holds may be long.
  if (Math.abs(from.length - to.length) > 2) return Number.POSITIVE_INFINITY;
  let row = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (const [above, letter] of [...from].entries()) {
    const next = [above + 1];
    for (const [column, wanted] of [...to].entries()) {
      const change = (row[column] ?? 0) + (letter === wanted ? 0 : 1);
      next.push(Math.min(change, (row[column + 1] ?? 0) + 1, (next[column] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
