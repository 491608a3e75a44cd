// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these placeholders are those of the configuration.
import { describe, expect, it } from "vitest";
import { parseDocument } from "yaml";
import { expand, substitute } from "./parse-config.ts";

const environment = { PORT: "8545", KEY: "s3cret", EMPTY: "", MONEY: "$$ ${KEY} $&" };

describe("a text with variables", () => {
  it.each([
    { text: "plain", want: "plain" },
    { text: "${KEY}", want: "s3cret" },
    { text: "a ${KEY} b ${PORT}", want: "a s3cret b 8545" },
    { text: "${UNSET:-demo}", want: "demo" },
    { text: "${UNSET:-}", want: "" },
    { text: "${EMPTY:-demo}", want: "demo" },
    { text: "${EMPTY}", want: "" },
    { text: "${KEY:-demo}", want: "s3cret" },
    { text: "${UNSET:-$$5}", want: "$5" },
    { text: "$$", want: "$" },
    { text: "$${KEY}", want: "${KEY}" },
    { text: "$KEY costs 5$", want: "$KEY costs 5$" },
    { text: "${MONEY}", want: "$$ ${KEY} $&" }, // a variable's value is not expanded again
  ])("$text becomes $want", ({ text, want }) => {
    expect(expand(text, environment)).toEqual({ text: want, mistakes: [] });
  });

  it.each([
    { text: "${UNSET}", want: ["the environment variable UNSET is not set"] },
    { text: "${toString}", want: ["the environment variable toString is not set"] },
    {
      text: "${A}${B}",
      want: ["the environment variable A is not set", "the environment variable B is not set"],
    },
    { text: "${KEY", want: [expect.stringContaining("${NAME}")] },
    { text: "${1}", want: [expect.stringContaining("${NAME}")] },
    { text: "${KEY-x}", want: [expect.stringContaining("${NAME}")] },
    { text: "${A:-${B}}", want: [expect.stringContaining("${NAME}")] },
  ])("$text is a mistake", ({ text, want }) => {
    expect(expand(text, environment).mistakes).toEqual(want);
  });
});

describe("a document with variables", () => {
  const filledIn = (text: string, variables: Record<string, string>): unknown => {
    const document = parseDocument(text);
    substitute(document, variables);
    return document.toJS();
  };

  it.each([
    { yaml: "a: ${V}", value: "8545", want: 8545 },
    { yaml: "a: ${V} # a comment", value: "8545", want: 8545 },
    { yaml: "a: ${V}", value: "0x10", want: 16 },
    { yaml: "a: ${V}", value: "true", want: true },
    { yaml: "a: ${V}", value: "", want: null },
    { yaml: "a: ${UNSET:-8545}", value: "", want: 8545 },
    { yaml: "a: ${V}", value: "text", want: "text" },
    { yaml: "a: '${V}'", value: "8545", want: "8545" },
    { yaml: 'a: "${V}"', value: "8545", want: "8545" },
    { yaml: "a: !!str ${V}", value: "8545", want: "8545" },
    { yaml: "a: ${V}0", value: "8545", want: "85450" },
    { yaml: "a: |-\n  ${V}", value: "8545", want: "8545" },
  ])("$yaml with $value holds $want", ({ yaml, value, want }) => {
    expect(filledIn(yaml, { V: value })).toEqual({ a: want });
  });

  it.each(["{b: 1}", "[1]", "x\nb: 1", "&x y", "*x", "!!int 5", "'5'", "# c"])(
    "takes %j as a text, not as YAML",
    (value) => {
      expect(filledIn("a: ${V}\n", { V: value })).toEqual({ a: value });
    },
  );

  it("leaves names and values without variables alone", () => {
    expect(filledIn("${V}: 5\nb: [x, 1, null]", { V: "x" })).toEqual({
      "${V}": 5,
      b: ["x", 1, null],
    });
  });

  it("names the path of each mistake", () => {
    const document = parseDocument("a: [{ b: '${X}' }, 'c ${Y}']");
    expect(substitute(document, {}).mistakes).toEqual([
      { path: ["a", 0, "b"], message: "the environment variable X is not set" },
      { path: ["a", 1], message: "the environment variable Y is not set" },
    ]);
  });
});
