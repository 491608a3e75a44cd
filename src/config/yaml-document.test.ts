// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these placeholders are those of the configuration.
import { describe, expect, it } from "vitest";
import { locate, readYaml, toValue } from "./yaml-document.ts";

const read = (text: string) => {
  const yaml = readYaml(text);
  if (yaml.kind === "mistakes") throw new Error(yaml.mistakes.join("\n"));
  return yaml.document;
};

describe("a text that is no YAML", () => {
  it.each([
    ["a: 1\nb: 2\na: 3\n", "line 3, column 1: this is given twice"],
    ["a:\n\tb: 1\n", "line 2, column 1: tabs cannot indent; use spaces"],
    ["a: @secret\n", "line 1, column 4: a text that begins with @ or ` or % must be in quotes"],
    ["a: 'x' secret\n", "line 1, column 8: this cannot stand here"],
    ["a: b: secret\n", "line 1, column 4: a mapping cannot begin here"],
    ["a: 'secret\n", "line 2, column 1: something is missing here: a closing quote"],
    ["a: [secret\n", "line 2, column 1: the indentation does not fit, or a bracket is not closed"],
    ["a: 1\n---\nb: 1\n", "line 2, column 1: the file must hold one document"],
    ["a: !secret b\n", "line 1, column 4: this tag is not known"],
    ["? [a]\n: secret\n", "line 1, column 3: a name must be a plain text"],
    ["a: *secret\n", "line 1, column 4: this alias has no anchor before it"],
    ["a: &b [*b]\n", "line 1, column 8: this alias contains itself"],
    ["a: { __proto__: {} }\n", "line 1, column 6: nothing can be named __proto__"],
    [
      "a: { b: ${SECRET} }",
      "line 1, column 10: within { } and [ ] a ${VARIABLE} must be in quotes",
    ],
    ["a: [ ${SECRET} ]", "line 1, column 7: within { } and [ ] a ${VARIABLE} must be in quotes"],
  ])("%j", (text, want) => {
    const yaml = readYaml(text);
    const mistakes = yaml.kind === "mistakes" ? yaml.mistakes : [];
    expect(mistakes).toEqual([expect.stringContaining(want)]);
    expect(mistakes.join("\n")).not.toContain("secret");
  });

  it("may be nested without end", () => {
    const yaml = readYaml("[".repeat(20_000));
    expect(yaml.kind === "mistakes" && yaml.mistakes).toEqual([
      expect.stringMatching(/^line 1, column \d+: this is nested too deep$/),
    ]);
  });

  it("is told with every line that is wrong, in order", () => {
    const yaml = readYaml("a: 1\na: 2\nb: @x\nc: !t 1\n");
    expect(yaml.kind === "mistakes" && yaml.mistakes).toEqual([
      expect.stringMatching(/^line 2, column 1: /),
      expect.stringMatching(/^line 3, column 4: /),
      expect.stringMatching(/^line 4, column 4: /),
    ]);
  });
});

describe("aliases", () => {
  it("stand for what they name", () => {
    expect(toValue(read("a: &x { b: 1 }\nc: *x\n"))).toEqual({
      value: { a: { b: 1 }, c: { b: 1 } },
    });
  });

  it("that grow without end are refused", () => {
    const level = (name: string, of: string): string =>
      `${name}: &${name} [${Array(9).fill(of).join(", ")}]\n`;
    const bomb = level("a", "x") + level("b", "*a") + level("c", "*b") + level("d", "*c");
    expect(toValue(read(bomb))).toBeUndefined();
  });
});

describe("the place of a setting", () => {
  const text = "a: &x\n  b: [1, { c: 2 }]\nd: *x\n";

  it.each([
    { path: [], at: "a: &x" },
    { path: ["a"], at: "a: &x" },
    { path: ["a", "b", 1, "c"], at: "c: 2" },
    { path: ["a", "b", 1, "missing"], at: "{ c: 2 }" },
    { path: ["a", "b", 7], at: "b: [" },
    { path: ["d", "b", 0], at: "d: *x" }, // behind an alias: where the alias stands
  ])("$path is at $at", ({ path, at }) => {
    expect(locate(read(text), path).offset).toBe(text.indexOf(at));
  });
});
