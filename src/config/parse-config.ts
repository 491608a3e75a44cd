// Parses the text of a configuration file into the configuration, or into all its mistakes. Texts in the file may have
// variables of the environment: `${VAR}`, `${VAR:-default}`, and `$$` for a dollar sign. Mistakes in the YAML get other
// messages than the parser's, since these quote the file, which holds secrets.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these placeholders are those of the configuration.

import {
  type Alias,
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type Node,
  parseDocument,
  Scalar,
  visit,
  type YAMLError,
} from "yaml";
import { withEnvironment } from "./environment-settings.ts";
import { type Mistake, mistakeLine, mistakesOf, plainWords } from "./mistakes.ts";
import { type Config, configSchema } from "./schema.ts";
import type { Environment, Path } from "./setting-names.ts";
import { type Facts, writtenOut } from "./short-forms.ts";
import { withTracingVariables } from "./story-settings.ts";

export type ParsedConfig =
  | { kind: "config"; config: Config }
  | { kind: "mistakes"; mistakes: readonly string[] };

/**
 * Reads a configuration. Each mistake is one line without secrets, and the lines are in the order of the file.
 * @param facts The chains of networks that the file does not name.
 */
export function parseConfig(
  text: string,
  environment: Environment,
  facts: Facts = {},
): ParsedConfig {
  const yaml = readYaml(text);
  if (yaml.kind === "mistakes") return yaml;
  const { document } = yaml;
  const { mistakes: unset, substituted } = substitute(document, environment);
  const read = toValue(document);
  if (!read)
    return { kind: "mistakes", mistakes: ["the file: its aliases expand to too many values"] };
  const overlaid = withEnvironment(read.value, environment);
  const { value, mistakes: shortened } = writtenOut(
    withTracingVariables(overlaid.value, environment),
    {
      facts,
      vendorsThrough: environment["HEADGATE_VENDORS_THROUGH"],
    },
  );
  const parsed = configSchema.safeParse(value, { error: plainWords });
  // A vendor that cannot be resolved leaves an invalid URL: only the first mistake is told.
  const first = [...unset, ...without(shortened, unset)];
  if (parsed.success && first.length === 0) return { kind: "config", config: parsed.data };
  const issues = parsed.error?.issues ?? [];
  const variableOf = (path: Path): string | undefined => {
    const { settings } = overlaid;
    const around = path.slice(0, -1);
    // If the file lacks the group around a missing setting, the variable of another setting made the group.
    const isOurs = locate(document, around).node !== undefined;
    const beside = isOurs ? undefined : settings.findLast((each) => isAtOrBelow(each.path, around));
    return (settings.findLast((each) => isAtOrBelow(path, each.path)) ?? beside)?.variable;
  };
  const found = mistakesOf(
    issues,
    value,
    (path) => variableOf(path) !== undefined || substituted.has(locate(document, path).node),
  ).map(({ path, message }) => ({ path, message: message + fromVariable(variableOf(path)) }));
  return {
    kind: "mistakes",
    mistakes: inFileOrder(
      [...first, ...without(found, first)],
      (path) => locate(document, path).offset,
    ),
  };
}

const isAtOrBelow = (path: Path, above: Path): boolean =>
  above.every((step, at) => path[at] === step);

const fromVariable = (variable: string | undefined): string =>
  variable === undefined ? "" : ` (${variable})`;

/** Leaves out mistakes of settings for which another mistake is told, and of settings made from those. */
const without = (found: readonly Mistake[], told: readonly Mistake[]): readonly Mistake[] =>
  found.filter(({ path }) => !told.some((each) => comesOf(path, each.path)));

/** Whether the mistake at `path` may come from `cause`. A network's upstreams include those of the defaults. */
const comesOf = (path: Path, cause: Path): boolean =>
  isAtOrBelow(path, cause) ||
  (isAtOrBelow(cause, ["defaults", "upstreams"]) && path.at(-1) === "upstreams");

const inFileOrder = (mistakes: readonly Mistake[], offsetOf: (path: Path) => number): string[] =>
  mistakes
    .map((mistake) => ({ mistake, offset: offsetOf(mistake.path) }))
    // A missing setting has the position of the group around it, and comes after the mistakes of that group.
    .sort((a, b) => a.offset - b.offset || a.mistake.path.length - b.mistake.path.length)
    .map(({ mistake }) => mistakeLine(mistake));

type Substitution = {
  mistakes: readonly { path: Path; message: string }[];
  /** The nodes whose values came from the environment, and are likely secrets. */
  substituted: ReadonlySet<unknown>;
};

/** Replaces the variables in the values of the parsed document, so that no variable can add structure to it. */
export function substitute(document: Document, environment: Environment): Substitution {
  const mistakes: { path: Path; message: string }[] = [];
  const substituted = new Set<unknown>();
  for (const { scalar, path } of textsOf(document.contents, [])) {
    if (!scalar.value.includes("$")) continue;
    const expansion = expand(scalar.value, environment);
    mistakes.push(...expansion.mistakes.map((message) => ({ path, message })));
    if (expansion.mistakes.length > 0) continue;
    const target: Scalar = scalar;
    // The value counts as if the file had it: without quotes, 8545 is a number.
    target.value = isOneVariable(scalar) ? plainValue(expansion.text, document) : expansion.text;
    substituted.add(scalar);
  }
  return { mistakes, substituted };
}

/** Replaces the variables in a text. The mistakes do not quote the text. */
export function expand(
  text: string,
  environment: Environment,
): { text: string; mistakes: readonly string[] } {
  const mistakes: string[] = [];
  const expanded = text.replace(reference, (match: string, name?: string, fallback?: string) => {
    if (match === "$$") return "$";
    if (name === undefined || fallback?.includes("${")) {
      mistakes.push("a variable is written ${NAME} or ${NAME:-default}, and a dollar sign $$");
      return match;
    }
    const value = Object.hasOwn(environment, name) ? environment[name] : undefined;
    if (fallback !== undefined) return value || fallback.replaceAll("$$", () => "$");
    if (value === undefined) mistakes.push(`the environment variable ${name} is not set`);
    return value ?? match;
  });
  return { text: expanded, mistakes };
}

const reference = /\$\$|\$\{(?:([A-Za-z_]\w*)(?::-([^}]*))?\})?/g;

const isOneVariable = (scalar: Scalar<string>): boolean =>
  scalar.type === Scalar.PLAIN &&
  scalar.tag === undefined &&
  /^\$\{[A-Za-z_]\w*(:-[^}]*)?\}$/.test(scalar.value);

/** The value of an unquoted text in YAML: a number, true, null, or the text. */
function plainValue(text: string, document: Document): unknown {
  for (const tag of document.schema.tags) {
    if (tag.default !== true || tag.collection !== undefined || !tag.test?.test(text)) continue;
    const resolved = tag.resolve(text, () => undefined, document.options);
    return isScalar(resolved) ? resolved.value : resolved;
  }
  return text;
}

function* textsOf(node: unknown, path: Path): Generator<{ scalar: Scalar<string>; path: Path }> {
  if (isScalar(node)) {
    if (isText(node)) yield { scalar: node, path };
  } else if (isSeq<Node>(node)) {
    for (const [index, item] of node.items.entries()) yield* textsOf(item, [...path, index]);
  } else if (isMap<Scalar, Node>(node)) {
    for (const { key, value } of node.items) yield* textsOf(value, [...path, String(key.value)]);
  }
}

const isText = (scalar: Scalar): scalar is Scalar<string> => typeof scalar.value === "string";

type ReadYaml =
  | { kind: "document"; document: Document }
  | { kind: "mistakes"; mistakes: readonly string[] };

export function readYaml(text: string): ReadYaml {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    lineCounter: lines,
    prettyErrors: false,
    stringKeys: true,
    resolveKnownTags: false,
  });
  const faults: Fault[] = [...document.errors, ...document.warnings]
    // An unexpected token after another fault is mostly a consequence of that fault.
    .filter(({ code }, index) => index === 0 || code !== "UNEXPECTED_TOKEN")
    .map((error) => ({ offset: error.pos[0], message: wordsForError(error, text) }));
  // The search of a broken tree would report the same faults again.
  if (faults.length === 0) faults.push(...treeFaults(document));
  if (faults.length === 0) return { kind: "document", document };
  return { kind: "mistakes", mistakes: faultLines(faults, lines) };
}

/** The value of the whole document; undefined if its aliases expand to too much. */
export function toValue(document: Document): { value: unknown } | undefined {
  try {
    return { value: document.toJS({ maxAliasCount: 100 }) };
  } catch {
    return undefined;
  }
}

/** The position and the node of a setting; for a missing one, the position of the setting around it, and no node. */
export function locate(document: Document, path: Path): { offset: number; node: unknown } {
  let node: unknown = document.contents;
  let offset = 0;
  let isElsewhere = false; // behind an alias, the position stays the alias's
  for (const step of path) {
    if (isAlias(node)) {
      isElsewhere = true;
      node = node.resolve(document);
    }
    const found = childOf(node, step);
    if (!found) return { offset, node: undefined };
    if (!isElsewhere) offset = found.offset;
    node = found.node;
  }
  return { offset, node: isAlias(node) ? node.resolve(document) : node };
}

function childOf(
  parent: unknown,
  step: PropertyKey,
): { offset: number; node: unknown } | undefined {
  if (isSeq<Node>(parent)) {
    const node = parent.items[Number(step)];
    return node && { offset: node.range?.[0] ?? 0, node };
  }
  if (!isMap<Scalar, Node>(parent)) return undefined;
  const pair = parent.items.find(({ key }) => String(key.value) === step);
  return pair && { offset: pair.key.range?.[0] ?? 0, node: pair.value };
}

type Fault = { offset: number; message: string };

/** Faults that the YAML parser accepts: wrong aliases, and the name `__proto__`. */
function treeFaults(document: Document): Fault[] {
  const faults: Fault[] = [];
  visit(document, {
    Alias: (_, alias) => {
      const message = aliasFault(alias, document);
      if (message) faults.push({ offset: alias.range?.[0] ?? 0, message });
    },
    Pair: (_, { key }) => {
      // JavaScript objects have a special member `__proto__`, so the setting would be dropped silently.
      if (isScalar(key) && key.value === "__proto__") {
        faults.push({ offset: key.range?.[0] ?? 0, message: "nothing can be named __proto__" });
      }
    },
  });
  return faults;
}

function aliasFault(alias: Alias, document: Document): string | undefined {
  const target = alias.resolve(document);
  if (!target) return "this alias has no anchor before it";
  const [start = 0, , end = 0] = target.range ?? [];
  const at = alias.range?.[0] ?? 0;
  return at >= start && at < end ? "this alias contains itself" : undefined;
}

/** One message for each line of the file, since several faults in a line are mostly the same mistake. */
function faultLines(faults: readonly Fault[], lines: LineCounter): string[] {
  const textByLine = new Map<number, string>();
  for (const { offset, message } of [...faults].sort((a, b) => a.offset - b.offset)) {
    const { line, col } = lines.linePos(offset);
    if (!textByLine.has(line)) textByLine.set(line, `line ${line}, column ${col}: ${message}`);
  }
  return [...textByLine.values()];
}

/** Describes the parser's error without quoting the file. */
function wordsForError({ code, pos: [offset] }: YAMLError, text: string): string {
  const isVariable = text.startsWith("${", offset) || text.startsWith("${", offset - 1);
  return isVariable ? "within { } and [ ] a ${VARIABLE} must be in quotes" : words[code];
}

const words: Record<YAMLError["code"], string> = {
  ALIAS_PROPS: "an alias cannot have an anchor or a tag",
  BAD_ALIAS: "this is not an alias; a text that begins with * must be in quotes",
  BAD_COLLECTION_TYPE: "this tag does not fit its value",
  BAD_DIRECTIVE: "this directive is not known",
  BAD_DQ_ESCAPE: 'this \\ escape is not known; in "…" a backslash is written \\\\',
  BAD_INDENT: "the indentation is wrong, or a bracket is not closed",
  BAD_PROP_ORDER: "anchors and tags stand before the value, on its line",
  BAD_SCALAR_START: "a text that begins with @ or ` or % must be in quotes",
  BLOCK_AS_IMPLICIT_KEY: "a mapping cannot begin here; a text with `: ` in it must be in quotes",
  BLOCK_IN_FLOW: "only { } and [ ] can be used within { } and [ ]",
  DUPLICATE_KEY: "this name is given twice",
  IMPOSSIBLE: "this is not valid YAML",
  KEY_OVER_1024_CHARS: "this name is too long",
  MISSING_CHAR:
    "something is missing here: a closing quote or bracket, a comma, a colon or a space",
  MULTILINE_IMPLICIT_KEY: "a name and its colon must be on one line",
  MULTIPLE_ANCHORS: "a value can have one anchor",
  MULTIPLE_DOCS: "the file must hold one document; another begins here",
  MULTIPLE_TAGS: "a value can have one tag",
  NON_STRING_KEY: "a name must be a plain text",
  RESOURCE_EXHAUSTION: "this is nested too deeply",
  TAB_AS_INDENT: "tabs cannot indent; use spaces",
  TAG_RESOLVE_FAILED: "this tag is not known",
  UNEXPECTED_TOKEN: "this cannot stand here; is a quote, a colon or an indentation wrong?",
};
