// Reads the YAML text as a tree that still knows where everything was written.
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
} from "yaml";
import type { Path } from "./path.ts";
import { wordsForError } from "./yaml-words.ts";

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
