// Reads the YAML text as a tree that still knows where everything was written. Mistakes are told in words of our
// own: the parser's messages quote the file, which holds secrets.
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
  type Scalar,
  visit,
  type YAMLError,
} from "yaml";
import type { Path } from "./setting-names.ts";

export type ReadYaml =
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
    // After the first fault, what cannot stand where it stands is mostly its consequence.
    .filter(({ code }, index) => index === 0 || code !== "UNEXPECTED_TOKEN")
    .map((error) => ({ offset: error.pos[0], message: wordsForError(error, text) }));
  // A broken tree is not walked: one fault would be told again in other words.
  if (faults.length === 0) faults.push(...treeFaults(document));
  if (faults.length === 0) return { kind: "document", document };
  return { kind: "mistakes", mistakes: faultLines(faults, lines) };
}

/** The value of the whole tree; undefined when its aliases make it larger than anyone means. */
export function toValue(document: Document): { value: unknown } | undefined {
  try {
    return { value: document.toJS({ maxAliasCount: 100 }) };
  } catch {
    return undefined;
  }
}

/** Where the setting is written, or else what is around it; and its node, if there is one. */
export function locate(document: Document, path: Path): { offset: number; node: unknown } {
  let node: unknown = document.contents;
  let offset = 0;
  let isElsewhere = false; // behind an alias, where the file has no place of its own for the path
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

/** What the parser lets pass, and we do not. */
function treeFaults(document: Document): Fault[] {
  const faults: Fault[] = [];
  visit(document, {
    Alias: (_, alias) => {
      const message = aliasFault(alias, document);
      if (message) faults.push({ offset: alias.range?.[0] ?? 0, message });
    },
    Pair: (_, { key }) => {
      // Would be left out in silence: in a JavaScript object it is no ordinary name.
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

/** One line for each line of the file: what follows on the same line is mostly the same mistake. */
function faultLines(faults: readonly Fault[], lines: LineCounter): string[] {
  const textByLine = new Map<number, string>();
  for (const { offset, message } of [...faults].sort((a, b) => a.offset - b.offset)) {
    const { line, col } = lines.linePos(offset);
    if (!textByLine.has(line)) textByLine.set(line, `line ${line}, column ${col}: ${message}`);
  }
  return [...textByLine.values()];
}

/** What is wrong at the place of this error. */
function wordsForError({ code, pos: [offset] }: YAMLError, text: string): string {
  const isVariable = text.startsWith("${", offset) || text.startsWith("${", offset - 1);
  return isVariable ? "within { } and [ ] a ${VARIABLE} must be in quotes" : words[code];
}

const words: Record<YAMLError["code"], string> = {
  ALIAS_PROPS: "an alias cannot have an anchor or a tag",
  BAD_ALIAS: "this is no alias; a text that begins with * must be in quotes",
  BAD_COLLECTION_TYPE: "this tag does not fit",
  BAD_DIRECTIVE: "this directive is not known",
  BAD_DQ_ESCAPE: 'this \\ escape is not known; in "…" a backslash is written \\\\',
  BAD_INDENT: "the indentation does not fit, or a bracket is not closed",
  BAD_PROP_ORDER: "anchors and tags stand before the value, on its line",
  BAD_SCALAR_START: "a text that begins with @ or ` or % must be in quotes",
  BLOCK_AS_IMPLICIT_KEY: "a mapping cannot begin here; a text with `: ` in it must be in quotes",
  BLOCK_IN_FLOW: "only { } and [ ] can be used within { } and [ ]",
  DUPLICATE_KEY: "this is given twice",
  IMPOSSIBLE: "this is no YAML",
  KEY_OVER_1024_CHARS: "this name is too long",
  MISSING_CHAR:
    "something is missing here: a closing quote or bracket, a comma, a colon or a space",
  MULTILINE_IMPLICIT_KEY: "a name and its colon must be on one line",
  MULTIPLE_ANCHORS: "a value can have one anchor",
  MULTIPLE_DOCS: "the file must hold one document; another begins here",
  MULTIPLE_TAGS: "a value can have one tag",
  NON_STRING_KEY: "a name must be a plain text",
  RESOURCE_EXHAUSTION: "this is nested too deep",
  TAB_AS_INDENT: "tabs cannot indent; use spaces",
  TAG_RESOLVE_FAILED: "this tag is not known",
  UNEXPECTED_TOKEN: "this cannot stand here; is a quote, a colon or an indentation wrong?",
};
