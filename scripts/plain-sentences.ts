// No sentence of a comment or a document begins with a clause that has no head ("What was read last is measured next"):
// the reader would have to find out first what the sentence is about. Questions may begin so.
import { globSync, readFileSync } from "node:fs";

const HEADLESS = /^(?:Who|What|Whose|Whoever|Whatever|Whichever|Which)\b(?!.*\?$)/;
const SOURCES = "{src,test,bench,scripts,web,packages,bin}/**/*.{ts,tsx,mjs}";
const DOCUMENTS = ["*.md", "{docs,web,packages}/**/*.md"];
const FOREIGN = /node_modules\/|\/dist\//;

/** A line that is a comment, or the comment behind code on its line. */
const COMMENT = /^\s*(?:\/\/|\/?\*{1,2}(?!\/))(?<whole>.*?)(?:\*\/)?$|\s\/\/ (?<behind>.*)$/;
const TAG = /^@(?:returns|throws \w+|param [\w.]+) /;
/** The mark of a list, quote or table before the first sentence of a line. Titles of sections may name a topic. */
const MARK = /^(?:[-*>]|\d+\.) +/;

type Passage = { readonly line: number; text: string };

/** The comments of a source. */
function* commentsOf(source: string): Generator<Passage> {
  let passage: Passage | undefined;
  for (const [index, code] of source.split("\n").entries()) {
    const { whole, behind } = COMMENT.exec(code)?.groups ?? {};
    if (whole === undefined) {
      if (passage) yield passage;
      passage = undefined;
    } else {
      passage ??= { line: index + 1, text: "" };
      passage.text += ` ${whole.trim()}`;
    }
    if (behind !== undefined) yield { line: index + 1, text: behind };
  }
}

/** The lines of a document, and the cells of its tables, without titles and blocks of code. */
function* linesOf(document: string): Generator<Passage> {
  let isCode = false;
  for (const [index, line] of document.split("\n").entries()) {
    if (line.trimStart().startsWith("```")) isCode = !isCode;
    if (isCode) continue;
    if (line.startsWith("#")) continue;
    for (const cell of line.startsWith("|") ? line.split("|") : [line])
      yield { line: index + 1, text: cell.trim().replace(MARK, "").replaceAll("**", "") };
  }
}

const sentencesIn = (text: string): string[] =>
  text
    .split(/(?<=[.!?:;]) +(?=[A-Z@`])| +(?=@(?:returns|param|throws) )/)
    .map((sentence) => sentence.trim().replace(TAG, ""));

function tellHeadless(file: string, passages: Iterable<Passage>): void {
  for (const { line, text } of passages)
    for (const sentence of sentencesIn(text)) {
      if (!HEADLESS.test(sentence)) continue;
      console.log(`${file}:${line}: a sentence without a head: ${sentence}`);
      process.exitCode = 1;
    }
}

const readOwn = (patterns: string | readonly string[]): [string, string][] =>
  globSync(patterns)
    .filter((file) => !FOREIGN.test(file))
    .map((file) => [file, readFileSync(file, "utf8")]);

for (const [file, source] of readOwn(SOURCES)) tellHeadless(file, commentsOf(source));
for (const [file, document] of readOwn(DOCUMENTS)) tellHeadless(file, linesOf(document));
