// Shows a configuration file to operators without secrets, and takes it back. Marks replace values that may be secrets,
// and stand for these values in a text that an operator sends. Comments get marks too, since people write values there.
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these placeholders are those of the configuration.
import { isMap, isScalar, isSeq, Lexer, type Node, type Scalar } from "yaml";
import { isShownText } from "./compare-configs.ts";
import { mayHoldKey } from "./host-keys.ts";
import { isShownName } from "./mistakes.ts";
import { readYaml } from "./parse-config.ts";
import { schemaAt } from "./schema.ts";
import { type Path, pathText } from "./setting-names.ts";

type Mistaken = { readonly kind: "mistakes"; readonly mistakes: readonly string[] };
export type ShownFile = { readonly kind: "text"; readonly text: string } | Mistaken;

/** The marks of hidden values, a form that nobody writes by hand. */
const MARKS = /‹hidden \d+›/g;
const COMMENT_MARKS = /# ‹hidden \d+›/g;

/** Bounded, since the parser searches the whole file for each alias. */
const MOST_ALIASES = 100;
/** Bounded, since the parser compares each name with all others of its mapping. */
const MOST_VALUES = 10_000;
/** Bounded, since the end of each `${` may be searched for up to the end of the text. */
const MOST_VARIABLES = 1_000;

/** The reason why reading a text would delay callers; undefined if it would not. */
function whyTooMuchWork(text: string): string | undefined {
  let aliases = 0;
  let values = 0;
  for (const lexeme of new Lexer().lex(text)) {
    if (lexeme.startsWith("*")) aliases += 1;
    if (lexeme === SCALAR_FOLLOWS || /^["'[{-]/.test(lexeme)) values += 1;
  }
  if (text.split("${").length > MOST_VARIABLES)
    return `the file: has more than ${MOST_VARIABLES} variables`;
  if (aliases > MOST_ALIASES) return `the file: has more than ${MOST_ALIASES} aliases`;
  return values > MOST_VALUES
    ? `the file: has more than ${MOST_VALUES} names and values: edit it by hand, then reload it`
    : undefined;
}

/** The file's text without secrets; mistakes if the file cannot be read, so that any part may be a secret. */
export function withHidden(file: string): ShownFile {
  const found = hiddenIn(file);
  return found.kind === "mistakes" ? found : { kind: "text", text: replaced(file, found.hidden) };
}

/**
 * Puts the hidden values of the file back into an edited text. A mark stands for its value only at a setting of the same
 * name, with the visible part unchanged, so that no hidden value can be moved to a setting that is shown.
 */
export function withRevealed(edited: string, file: string): ShownFile {
  const tooMuch = whyTooMuchWork(edited);
  if (tooMuch !== undefined) return { kind: "mistakes", mistakes: [tooMuch] };
  if (marksIn(edited) === 0) return { kind: "text", text: edited };
  const [found, parts] = [hiddenIn(file), partsOf(edited)];
  if (found.kind === "mistakes") return found;
  if (parts.kind === "mistakes") return parts;
  const originals = new Map(
    found.hidden.map(({ setting, from, to, value }) => [
      `${setting} ${value}`,
      file.slice(from, to),
    ]),
  );
  const mistakes: string[] = [];
  const originalOf = (setting: string, value: string, where: string): string => {
    const original = originals.get(`${setting} ${value}`);
    if (original === undefined) mistakes.push(`${where}: ${ELSEWHERE}`);
    return original ?? value;
  };
  const changes = parts.parts.flatMap(({ path, setting, from, to, scalar }) => {
    const text = edited.slice(from, to);
    if (marksIn(text) === 0) return [];
    const shown = scalar
      ? originalOf(setting, String(scalar.value), pathText(path))
      : text.replace(COMMENT_MARKS, (comment) => originalOf(COMMENT, comment, "a comment"));
    return [{ from, to, shown }];
  });
  const text = replaced(edited, changes);
  if (mistakes.length === 0 && marksIn(text) > marksIn(file))
    mistakes.push(`the file: ${ELSEWHERE}`);
  return mistakes.length > 0 ? { kind: "mistakes", mistakes } : { kind: "text", text };
}

const ELSEWHERE =
  "a hidden value can be used only in its own place and exactly as it was shown: write out the value instead";

const marksIn = (text: string): number => text.match(MARKS)?.length ?? 0;

type Change = { readonly from: number; readonly to: number; readonly shown: string };

/** The text with the changes. @param changes In the order of the text. */
function replaced(text: string, changes: readonly Change[]): string {
  let made = "";
  let at = 0;
  for (const { from, to, shown } of changes) {
    made += text.slice(at, from) + shown;
    at = to;
  }
  return made + text.slice(at);
}

/** `value` is the value with its mark, without quotes. */
type Hidden = Change & { readonly setting: string; readonly value: string };

function hiddenIn(
  file: string,
): { readonly kind: "hidden"; readonly hidden: readonly Hidden[] } | Mistaken {
  const parts = partsOf(file);
  if (parts.kind === "mistakes") return parts;
  if (hasUnusedAnchor(file)) return { kind: "mistakes", mistakes: [UNUSED_ANCHOR] };
  let count = 0;
  const hidden = parts.parts.flatMap(({ path, setting, from, to, scalar }): Hidden[] => {
    const visible = scalar ? visibleOf(path, scalar.value, setting) : COMMENT;
    if (visible === undefined) return [];
    count += 1;
    const value = `${visible}‹hidden ${count}›`;
    return [{ setting, from, to, value, shown: scalar ? JSON.stringify(value) : value }];
  });
  return { kind: "hidden", hidden };
}

/** Whether an anchor may be a secret: YAML reads an unquoted value that begins with & as an anchor. */
function hasUnusedAnchor(file: string): boolean {
  const lexemes = new Set(new Lexer().lex(file));
  return [...lexemes].some((each) => each.startsWith("&") && !lexemes.has(`*${each.slice(1)}`));
}

const UNUSED_ANCHOR =
  "the file: no alias refers to an anchor (&…) in it, which may be a secret without quotes";

/** Stands in the place of a setting's name for comments. */
const COMMENT = "# ";
/** Stands for the setting of a name or value that does not belong at its path: it may be a misplaced secret. */
const OUT_OF_PLACE = "";

const settingOf = (path: Path): string =>
  isInPlace(path) ? String(path.findLast((step) => typeof step === "string") ?? "") : OUT_OF_PLACE;

/** A value of the file, a name that may not be a setting's, or a comment with the comment lines after it. */
type Part = {
  readonly path: Path;
  readonly setting: string;
  readonly from: number;
  readonly to: number;
  /** undefined for a comment. */
  readonly scalar: Scalar | undefined;
};

function partsOf(
  text: string,
): { readonly kind: "parts"; readonly parts: readonly Part[] } | Mistaken {
  const yaml = readYaml(text);
  if (yaml.kind === "mistakes") return yaml;
  const parts = [...valuesOf(yaml.document.contents, [], text), ...commentsOf(text)];
  return { kind: "parts", parts: parts.sort((one, other) => one.from - other.from) };
}

function* valuesOf(node: unknown, path: Path, text: string): Generator<Part> {
  if (isScalar(node)) {
    const [from, end] = node.range ?? [0, 0];
    const to = text[end - 1] === "\n" ? end - 1 : end; // a block scalar ends with a line break, which stays
    if (to > from) yield { path, setting: settingOf(path), from, to, scalar: node };
  } else if (isSeq<Node>(node)) {
    for (const [index, item] of node.items.entries()) yield* valuesOf(item, [...path, index], text);
  } else if (isMap<Scalar, Node>(node)) {
    for (const { key, value } of node.items) {
      const name = String(key.value);
      const [from, to] = key.range ?? [0, 0];
      if (!isNameShown(path, name)) yield { path, setting: OUT_OF_PLACE, from, to, scalar: key };
      yield* valuesOf(value, [...path, name], text);
    }
  }
}

function isNameShown(path: Path, name: string): boolean {
  const schema = schemaAt(path);
  if (!schema) return false;
  const { properties, additionalProperties } = schema;
  if (typeof additionalProperties === "object") return !name.includes("://");
  return Object.hasOwn(properties ?? {}, name) || isShownName(path, name);
}

/** Whether a scalar may be at this path, short forms of networks and upstreams included. */
function isInPlace(path: Path): boolean {
  const [first, second] = path;
  const schema = schemaAt(path);
  if (!schema) return first === "networks" && typeof second === "number" && path.length === 2;
  const { properties, additionalProperties, items } = schema;
  const isLeaf = !properties && !items && typeof additionalProperties !== "object";
  return isLeaf || path.at(-2) === "upstreams";
}

/** Lexemes that announce the next one, and are not in the text. */
const CONTROL = new Set(["\u0002", "\u0018", "\u001f"]);
const SCALAR_FOLLOWS = "\u001f";

function* commentsOf(text: string): Generator<Part> {
  let at = 0;
  let before = "";
  let open: { from: number; to: number } | undefined;
  for (const lexeme of new Lexer().lex(text)) {
    const isComment = lexeme.startsWith("#") && before !== SCALAR_FOLLOWS;
    before = lexeme;
    if (CONTROL.has(lexeme)) continue;
    at += lexeme.length;
    if (isComment) open = { from: open?.from ?? at - lexeme.length, to: at };
    else if (open && lexeme.trim() !== "") {
      yield { path: [], setting: COMMENT, ...open, scalar: undefined };
      open = undefined;
    }
  }
  if (open) yield { path: [], setting: COMMENT, ...open, scalar: undefined };
}

/** Settings whose values are always hidden as a whole. */
const SECRET = new Set(["key", "hash", "token", "keySecret", "state"]);
const SECRET_WITHIN = ["headers", "attributes"];
/** Settings whose texts are shown here, besides those that a reload shows. */
const SAFE = new Set(["groups", "processes", "profile", "algorithms", "protocol", "service"]);

/** The form of numbers, durations, sizes and times, which are no secrets. */
const QUANTITY =
  /^(off|auto|\d{1,12}(\.\d{1,9})?(ms|s|m|h|KiB|MiB|GiB)?|\d{4}-\d\d-\d\d(T[0-9:.]+(Z|[+-][0-9:]+))?)$/;
const DEFAULTED = /^\$\{[A-Za-z_]\w*:-([^}]*)\}$/;
const VARIABLES = /^\/*(\$\{[A-Za-z_]\w*\}\/*)*$/;
const SCHEME = /^[a-z][a-z0-9+-]*:\/\//i;
/** A URL up to its host and port. The rest may be a provider's key. */
const PLACE = /^(?:https?|wss?):\/\/([a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?(?=$|[/?#])/i;

/** The visible part of a value, before its mark; undefined: the whole value is visible, without a mark. */
function visibleOf(path: Path, value: unknown, setting: string): string | undefined {
  const text = String(value);
  if (value === null || typeof value === "boolean" || VARIABLES.test(text)) return undefined;
  if (setting === OUT_OF_PLACE) return "";
  if (SECRET.has(setting) || SECRET_WITHIN.some((name) => path.includes(name))) return "";
  if ((isShownText(setting) || SAFE.has(setting)) && !text.includes("://")) return undefined;
  if (QUANTITY.test(DEFAULTED.exec(text)?.[1] ?? text)) return undefined;
  const [place, host = ""] = PLACE.exec(text) ?? [];
  const isPlain = place !== undefined && !mayHoldKey(host);
  const visible = isPlain ? place : (SCHEME.exec(text)?.[0] ?? "");
  const rest = text.slice(visible.length);
  return visible !== "" && rest !== visible && VARIABLES.test(rest) ? undefined : visible;
}
