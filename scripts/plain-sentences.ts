// No sentence of a comment begins with a clause that has no head ("What was read last is measured next"): the reader
// would have to find out first what the sentence is about. Questions may begin so.
import { globSync, readFileSync } from "node:fs";

const HEADLESS = /^(?:Who|What|Whose|Whoever|Whatever|Whichever|Which)\b(?!.*\?$)/;
/** A line that is a comment, or the comment behind code on its line. */
const COMMENT = /^\s*(?:\/\/|\/?\*{1,2}(?!\/))(?<whole>.*?)(?:\*\/)?$|\s\/\/ (?<behind>.*)$/;
const TAG = /^@(?:returns|throws \w+|param [\w.]+) /;
const SOURCES = "{src,test,bench,scripts,web,packages,bin}/**/*.{ts,tsx,mjs}";

type Line = { readonly text: string; readonly number: number };

/** The comments of a source: of each, its lines. */
function* commentsOf(source: string): Generator<readonly Line[]> {
  let lines: Line[] = [];
  for (const [index, code] of source.split("\n").entries()) {
    const { whole, behind } = COMMENT.exec(code)?.groups ?? {};
    if (whole !== undefined) lines.push({ text: whole.trim(), number: index + 1 });
    else if (lines.length > 0) {
      yield lines;
      lines = [];
    }
    if (behind !== undefined) yield [{ text: behind, number: index + 1 }];
  }
}

/** The sentences of a comment, each with the line at which the comment begins. */
const sentencesOf = (lines: readonly Line[]): string[] =>
  lines
    .map(({ text }) => text)
    .join(" ")
    .split(/(?<=[.!?:;]) +(?=[A-Z@])| +(?=@(?:returns|param|throws) )/)
    .map((sentence) => sentence.trim().replace(TAG, ""));

for (const file of globSync(SOURCES)) {
  if (file.includes("node_modules/") || file.includes("/dist/")) continue;
  for (const lines of commentsOf(readFileSync(file, "utf8")))
    for (const sentence of sentencesOf(lines)) {
      if (!HEADLESS.test(sentence)) continue;
      console.log(`${file}:${lines[0]?.number}: a sentence without a head: ${sentence}`);
      process.exitCode = 1;
    }
}
