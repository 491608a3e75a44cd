// A question changes nothing: getters, and functions whose name begins with is, has, may, can or a similar word, assign to
// no member and call nothing that does: no verb of change, and no function of the same file that calls one. Exceptions: a
// member that is created when it is first read (`??=`), and caches (`MEMOS`).
import { globSync, readFileSync } from "node:fs";
import ts from "typescript";

const QUESTION =
  /^#?(?:(?:is|are|was|has|does|may|can|needs|admits|allows|knows)[A-Z]|(?:has|lacks)$)/;
const CHANGING =
  /^(?:push|pop|shift|unshift|splice|set|add|delete|clear|sort|reverse|fill|say|take|spend|inc|dec|observe|learn|forget|note|count|remove|resize|begin|start|stop|end|abort|close|write|send|emit)$/;
/** Caches that can be computed again at any time: the end of the file's path, and the member. */
const MEMOS = [
  "ambiguity.ts knownNames[slot]",
  "block-tables.ts #head",
  "block-tables.ts #isHeadKnown",
  "block-tables.ts #hot",
  "block-tables.ts partKeyBytes",
  "sources.ts readings",
  "sources.ts known",
];

type Named = ts.Node & { readonly name?: ts.Node };
/** The changes that a function makes itself, and the functions of its file that it calls. */
type Deeds = { readonly changes: readonly ts.Node[]; readonly calls: readonly string[] };

const isAssignment = ({ operatorToken: { kind } }: ts.BinaryExpression): boolean =>
  kind >= ts.SyntaxKind.FirstAssignment &&
  kind <= ts.SyntaxKind.LastAssignment &&
  kind !== ts.SyntaxKind.QuestionQuestionEqualsToken;

/** The expression before the first dot: `a` of `a.b.c`. */
function ownerOf(node: ts.Node): ts.Node {
  return ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node)
    ? ownerOf(node.expression)
    : node;
}

const isMember = (node: ts.Node): boolean =>
  ts.isPropertyAccessExpression(node) || ts.isElementAccessExpression(node);

const isStep = (node: ts.Node): node is ts.PrefixUnaryExpression | ts.PostfixUnaryExpression =>
  (ts.isPrefixUnaryExpression(node) || ts.isPostfixUnaryExpression(node)) &&
  (node.operator === ts.SyntaxKind.PlusPlusToken ||
    node.operator === ts.SyntaxKind.MinusMinusToken);

/** The member that a node changes; undefined for most nodes. */
function changedBy(node: ts.Node): ts.Node | undefined {
  if (ts.isBinaryExpression(node) && isAssignment(node) && isMember(node.left)) return node.left;
  if (isStep(node) && isMember(node.operand)) return node.operand;
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression))
    return undefined;
  const { name, expression } = node.expression;
  return CHANGING.test(name.text) ? expression : undefined;
}

function* nodesIn(node: ts.Node): Generator<ts.Node> {
  yield node;
  const children: ts.Node[] = [];
  ts.forEachChild(node, (child) => void children.push(child));
  for (const child of children) yield* nodesIn(child);
}

/** Whether an expression creates its value: a list, an object, the result of a call that is not a look-up. */
const isMade = (node: ts.Node): boolean =>
  ts.isNewExpression(node) ||
  ts.isArrayLiteralExpression(node) ||
  ts.isObjectLiteralExpression(node) ||
  (ts.isCallExpression(node) && !/\.(?:get|at|find)$/.test(node.expression.getText()));

/** The names of variables whose value the function itself created: it may change those. */
function madeIn(node: ts.Node): ReadonlySet<string> {
  const declared = [...nodesIn(node)].filter(ts.isVariableDeclaration);
  const made = declared.filter(({ initializer }) => initializer && isMade(initializer));
  return new Set(made.map(({ name }) => name.getText()));
}

function nameOf(node: ts.Node): string | undefined {
  if (!ts.isFunctionLike(node)) return undefined;
  return ((node.name ? node : node.parent) as Named).name?.getText();
}

const isQuestion = (node: ts.Node): boolean =>
  ts.isGetAccessor(node) || QUESTION.test(nameOf(node) ?? "");

/** The name of the function that a call refers to, if it may be of the same file. */
function calleeOf(node: ts.Node): string | undefined {
  if (!ts.isCallExpression(node)) return undefined;
  const { expression } = node;
  if (ts.isIdentifier(expression)) return expression.text;
  const isOwn =
    ts.isPropertyAccessExpression(expression) &&
    expression.expression.kind === ts.SyntaxKind.ThisKeyword;
  return isOwn ? expression.name.text : undefined;
}

function deedsOf(node: ts.Node, file: string): Deeds {
  const made = madeIn(node);
  const isMemo = (text: string): boolean =>
    MEMOS.some((memo) => `${file} ${text.replace("this.", "")}`.endsWith(`/${memo}`));
  const changes = [...nodesIn(node)].map(changedBy).filter((member) => member !== undefined);
  return {
    changes: changes.filter((member) => {
      const owner = ownerOf(member);
      return !made.has(owner.getText()) && !isMade(owner) && !isMemo(member.getText());
    }),
    calls: [...nodesIn(node)].map(calleeOf).filter((name) => name !== undefined),
  };
}

/** The first change that a function makes, also through the functions that it calls; undefined: none. */
function changeIn(
  { changes, calls }: Deeds,
  known: ReadonlyMap<string, Deeds>,
  asked: ReadonlySet<string> = new Set(),
): ts.Node | undefined {
  if (changes[0]) return changes[0];
  for (const name of calls) {
    const deeds = asked.has(name) ? undefined : known.get(name);
    const change = deeds && changeIn(deeds, known, new Set([...asked, name]));
    if (change) return change;
  }
  return undefined;
}

const found = globSync("src/**/*.ts")
  .filter((file) => !file.endsWith(".test.ts"))
  .flatMap((file) => {
    const text = readFileSync(file, "utf8");
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    const functions = [...nodesIn(source)].filter(ts.isFunctionLike);
    const known = new Map(functions.map((each) => [nameOf(each) ?? "", deedsOf(each, file)]));
    known.delete("");
    return functions.filter(isQuestion).flatMap((question) => {
      const change = changeIn(deedsOf(question, file), known);
      if (!change) return [];
      const lineOf = (node: ts.Node): number =>
        source.getLineAndCharacterOfPosition(node.getStart()).line + 1;
      const what = `${nameOf(question)} changes ${change.getText()} (line ${lineOf(change)})`;
      return [
        `${file}:${lineOf(question)} a function whose name asks a question has an effect: ${what}`,
      ];
    });
  });
for (const line of found) console.error(line);
process.exitCode = found.length === 0 ? 0 : 1;
