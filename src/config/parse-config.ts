// From the text of a configuration file to the configuration, or to everything that is wrong with it. Variables of the
// environment are put into its texts: `${VAR}`, `${VAR:-default}`, and `$$` for a dollar sign.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these placeholders are those of the configuration.
import { type Document, isMap, isScalar, isSeq, type Node, Scalar } from "yaml";
import { type Mistake, mistakeLine, mistakesOf, plainWords } from "./mistakes.ts";
import { type Config, configSchema } from "./schema.ts";
import { type Path, pathText } from "./setting-names.ts";
import { locate, readYaml, toValue } from "./yaml-document.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

export type ParsedConfig =
  | { kind: "config"; config: Config }
  | { kind: "mistakes"; mistakes: readonly string[] };

/** Reads a configuration. Every mistake is one line, in the order of the file, without secrets. */
export function parseConfig(text: string, environment: Environment): ParsedConfig {
  const yaml = readYaml(text);
  if (yaml.kind === "mistakes") return yaml;
  const { document } = yaml;
  const { mistakes: unset, substituted } = substitute(document, environment);
  const read = toValue(document);
  if (!read) return { kind: "mistakes", mistakes: ["the file: its aliases expand to too much"] };
  const parsed = configSchema.safeParse(read.value, { error: plainWords });
  if (parsed.success && unset.length === 0) return { kind: "config", config: parsed.data };
  const issues = parsed.error?.issues ?? [];
  const found = mistakesOf(issues, read.value, (path) =>
    substituted.has(locate(document, path).node),
  );
  return {
    kind: "mistakes",
    mistakes: inFileOrder(
      [...unset, ...without(found, unset)],
      (path) => locate(document, path).offset,
    ),
  };
}

/** A setting whose variable is not set is wrong in no other way. */
function without(found: readonly Mistake[], unset: readonly Mistake[]): Mistake[] {
  const paths = new Set(unset.map(({ path }) => pathText(path)));
  return found.filter(({ path }) => !paths.has(pathText(path)));
}

const inFileOrder = (mistakes: readonly Mistake[], offsetOf: (path: Path) => number): string[] =>
  mistakes
    .map((mistake) => ({ mistake, offset: offsetOf(mistake.path) }))
    // A missing setting has no position of its own: it comes after mistakes of the setting around it.
    .sort((a, b) => a.offset - b.offset || a.mistake.path.length - b.mistake.path.length)
    .map(({ mistake }) => mistakeLine(mistake));

type Substitution = {
  mistakes: readonly { path: Path; message: string }[];
  /** The values that came from the environment: likely secrets. */
  substituted: ReadonlySet<unknown>;
};

/** Replaces the variables in every value of the document, on its tree, so that no variable becomes structure. */
export function substitute(document: Document, environment: Environment): Substitution {
  const mistakes: { path: Path; message: string }[] = [];
  const substituted = new Set<unknown>();
  for (const { scalar, path } of textsOf(document.contents, [])) {
    if (!scalar.value.includes("$")) continue;
    const expansion = expand(scalar.value, environment);
    mistakes.push(...expansion.mistakes.map((message) => ({ path, message })));
    if (expansion.mistakes.length > 0) continue;
    const target: Scalar = scalar;
    // As if it stood in the file: without quotes, 8545 is a number.
    target.value = isOneVariable(scalar) ? plainValue(expansion.text, document) : expansion.text;
    substituted.add(scalar);
  }
  return { mistakes, substituted };
}

/** The text with its variables replaced, and what stood in the way. Mistakes never quote the text. */
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

/** What YAML takes this text for when it stands alone and unquoted: a number, true, nothing, a text. */
function plainValue(text: string, document: Document): unknown {
  for (const tag of document.schema.tags) {
    if (tag.default !== true || tag.collection !== undefined || !tag.test?.test(text)) continue;
    const resolved = tag.resolve(text, () => undefined, document.options);
    return isScalar(resolved) ? resolved.value : resolved;
  }
  return text;
}

type TextAt = { scalar: Scalar<string>; path: Path };

function* textsOf(node: unknown, path: Path): Generator<TextAt> {
  if (isScalar(node)) {
    if (isText(node)) yield { scalar: node, path };
  } else if (isSeq<Node>(node)) {
    for (const [index, item] of node.items.entries()) yield* textsOf(item, [...path, index]);
  } else if (isMap<Scalar, Node>(node)) {
    for (const { key, value } of node.items) yield* textsOf(value, [...path, String(key.value)]);
  }
}

const isText = (scalar: Scalar): scalar is Scalar<string> => typeof scalar.value === "string";
