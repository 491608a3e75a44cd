// A question changes nothing: getters, and what begins with is, has, may or can, assign to no member and
// call nothing that changes one. What is made once, when it is first asked for (`??=`), is no change.
import { globSync, readFileSync } from "node:fs";
import ts from "typescript";

const QUESTION = /^#?(?:is|has|may|can)[A-Z]/;
const CHANGING = /^(?:push|pop|shift|unshift|splice|set|add|delete|clear)$/;

type Named = ts.Node & { readonly name?: ts.Node };

const isAssignment = ({ operatorToken: { kind } }: ts.BinaryExpression): boolean =>
  kind >= ts.SyntaxKind.FirstAssignment &&
  kind <= ts.SyntaxKind.LastAssignment &&
  kind !== ts.SyntaxKind.QuestionQuestionEqualsToken;

/** What stands before all dots; `this` is no name. */
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

/** The member that a node changes; undefined of most. */
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

/** What it makes for itself it may change. */
function localsOf(node: ts.Node): ReadonlySet<string> {
  const declared = [...nodesIn(node)].filter(ts.isVariableDeclaration);
  return new Set(declared.map(({ name }) => name.getText()));
}

const isQuestion = (node: ts.Node): boolean => {
  if (ts.isGetAccessor(node)) return true;
  if (!ts.isFunctionLike(node)) return false;
  const { name } = (node.name ? node : node.parent) as Named;
  return name !== undefined && QUESTION.test(name.getText());
};

const found = globSync("src/**/*.ts")
  .filter((file) => !file.endsWith(".test.ts"))
  .flatMap((file) => {
    const text = readFileSync(file, "utf8");
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    return [...nodesIn(source)].filter(isQuestion).flatMap((question) => {
      const locals = localsOf(question);
      return [...nodesIn(question)]
        .map(changedBy)
        .filter((member) => member !== undefined && !locals.has(ownerOf(member).getText()))
        .map((member) => {
          const at = source.getLineAndCharacterOfPosition(member?.getStart() ?? 0).line + 1;
          return `${file}:${at} a question changes ${member?.getText()}`;
        });
    });
  });
for (const line of new Set(found)) console.error(line);
process.exitCode = found.length === 0 ? 0 : 1;
