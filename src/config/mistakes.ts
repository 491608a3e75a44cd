// Describes each mistake in one line: the setting's path, and the expected value. No line shows a possible secret.
import type { z } from "zod";
import { knownSettings } from "./schema.ts";
import { didYouMean, isLikeKey, type Path, pathText, withoutHeader } from "./setting-names.ts";
import { isMapping } from "./units.ts";

export type Mistake = { path: Path; message: string };

export const mistakeLine = ({ path, message }: Mistake): string => `${pathText(path)}: ${message}`;

/** Describes the schema's issues with `config`. @param isFromEnvironment Values at such paths are not shown. */
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

/** The description of an issue for which the schema has no own words. */
export const plainWords = (issue: z.core.$ZodRawIssue): string =>
  issue.code === "invalid_type"
    ? `expected ${typeNames.get(issue.expected) ?? "a value"}`
    : "is not valid";

const typeNames = new Map<string, string>([
  ["object", "a mapping"],
  ["record", "a mapping"],
  ["array", "a list"],
  ["string", "a text"],
]);

function unknown(path: Path, name: string): Mistake {
  if (isShownName(path, name)) {
    const suggestion = didYouMean(name, knownSettings(path));
    return { path: [...path, name], message: `unknown setting${suggestion}` };
  }
  return { path, message: "unknown setting; is a colon, a space or a quote wrong?" };
}

/** Whether an unknown name may be shown: not if a typing error, such as a wrong space, may have made a secret a name. */
export const isShownName = (path: Path, name: string): boolean =>
  didYouMean(name, knownSettings(path)) !== "" || (!mayBeSecret(path) && /^\w[\w-]*$/.test(name));

/** Whether a value at this path may be a secret: keys, tokens, and anything of upstreams, whose URLs may hold keys. */
const mayBeSecret = (path: Path): boolean =>
  ["keys", "keySecret", "state"].includes(String(path[0])) ||
  (path[0] === "tracing" && ["endpoint", "headers"].includes(String(path[1]))) ||
  path.includes("upstreams") ||
  path[1] === "upstream" ||
  path.includes("token") ||
  path.includes("tokens");

function shown(value: unknown, message: string, isSecret: boolean): string {
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return "a list";
  if (isMapping(value)) return "a mapping";
  if (typeof value !== "string") return isSecret ? `a ${typeof value}` : String(value);
  const isPlain = /^[\w.+:-]{1,40}$/.test(value) && !value.includes("://");
  const isLeaf = !/^expected a (mapping|list)/.test(message);
  return !isSecret && isLeaf && isPlain && !isLikeKey(value) ? `"${value}"` : "a text";
}

/** A hint on quotes, by which YAML tells texts from numbers, and which people overlook. */
function quotesHint(issue: z.core.$ZodIssue, value: unknown): string {
  const expected = issue.code === "invalid_type" ? issue.expected : undefined;
  if (issue.message.startsWith("expected a duration")) return ""; // the value lacks a unit, not quotes
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
