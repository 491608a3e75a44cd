import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { parseConfig } from "./parse-config.ts";

const secrets = [
  "0123456789abcdef",
  "k3y-s3cret",
  "url-s3cret",
  "us3r-s3cret",
  "h3ader-s3cret",
  "env-s3cret",
];
const environment = { SECRET: "env-s3cret" };

/** A configuration with a secret in every setting that can have one. */
const settings = {
  listen: { host: "127.0.0.1", port: 8545 },
  keys: [
    { name: "a", key: "k3y-s3cret", networks: ["eth-mainnet"], rate: { computeUnits: 5 } },
    { name: "b", key: `\${SECRET}` },
  ],
  timeouts: { call: "30s" },
  networks: {
    "eth-mainnet": {
      family: "evm",
      chainId: 1,
      hosts: ["eth.example.com"],
      upstreams: [
        { url: "https://us3r-s3cret@node.example.com/url-s3cret", headers: { A: "h3ader-s3cret" } },
        { url: `https://node.example.com/\${SECRET}`, timeout: "5s" },
      ],
      limits: { logs: { blocks: 5 } },
    },
  },
};

/** Expects a configuration, or mistakes of one line each that show none of the secrets. */
function expectAnswer(text: string): void {
  const parsed = parseConfig(text, environment);
  if (parsed.kind === "config") return;
  expect(parsed.mistakes.length).toBeGreaterThan(0);
  for (const line of parsed.mistakes) {
    expect(line).toMatch(/^[^\n\r]+: [^\n\r]+$/);
    for (const secret of secrets) expect(line).not.toContain(secret);
  }
}

const URL = "https://us3r-s3cret:url-s3cret@node.example.com/url-s3cret?key=url-s3cret";
const URL_WITHOUT_SCHEME = "node.example.com/v3/url-s3cret";
/** A key in the form that most providers give. */
const KEY = "0123456789abcdef0123456789abcdef";

type Change = (value: unknown) => unknown;

/** Variants of the tree: in each, `change` has changed one value, or one name is misspelt. */
function* changedOnce(value: unknown, change: Change): Generator<unknown> {
  yield change(value);
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      for (const changed of changedOnce(item, change)) yield value.with(index, changed);
    }
  } else if (typeof value === "object" && value !== null) {
    for (const [name, item] of Object.entries(value)) {
      for (const changed of changedOnce(item, change)) yield { ...value, [name]: changed };
      for (const other of [`${name}s`, URL, URL_WITHOUT_SCHEME, KEY])
        yield { ...value, [name]: undefined, [other]: item };
    }
  }
}

describe("whatever is written", () => {
  it("any text gives a configuration or mistakes", () => {
    const fragments = fc.constantFrom(
      "networks",
      ":",
      " ",
      "\n",
      "  ",
      "- ",
      "{",
      "}",
      "[",
      "]",
      '"',
      "'",
      "&a ",
      "*a ",
      "!",
      "%",
      "#",
      "|",
      ">",
      "?",
      "${",
      "}",
      "$",
      ",",
      "\t",
      "a",
      "1",
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(fragments).map((parts) => parts.join("")),
    );
    fc.assert(fc.property(text, expectAnswer), { numRuns: 500 });
  });

  it("any value gives a configuration or mistakes", () => {
    const tree = fc.object({
      key: fc.constantFrom(
        "networks",
        "a",
        "keys",
        "upstreams",
        "url",
        "key",
        "name",
        "limits",
        "logs",
        "headers",
        "__proto__",
        "constructor",
        "x y",
      ),
      values: [fc.string(), fc.double(), fc.boolean(), fc.constant(null), fc.constant("30s")],
      maxDepth: 4,
      maxKeys: 4,
    });
    fc.assert(
      fc.property(tree, (value) => expectAnswer(stringify(value))),
      { numRuns: 300 },
    );
  });
});

describe("a configuration with one thing wrong", () => {
  it.each<[string, Change]>([
    ["gone", () => undefined],
    ["empty", () => null],
    ["a number", () => 5.5],
    ["a text", () => "s"],
    ["a list around it", (value) => [value]],
    ["a mapping around it", (value) => ({ url: value })],
    ["taken out of its list or mapping", (value) => Object.values(Object(value))[0]],
    ["given twice", (value) => (Array.isArray(value) ? [...value, ...value] : value)],
    ["written as one text", (value) => JSON.stringify(value)],
    ["a URL", () => URL],
    ["a URL without its scheme", () => URL_WITHOUT_SCHEME],
    ["a key", () => KEY],
    ["a list of a URL and a key", () => [URL, URL_WITHOUT_SCHEME, KEY]],
    ["a mapping of a URL and a key", () => ({ [URL]: null, [URL_WITHOUT_SCHEME]: {}, [KEY]: 1 })],
  ])("a value %s never shows a secret", (_, change) => {
    for (const changed of changedOnce(settings, change)) expectAnswer(stringify(changed) ?? "");
  });

  // Every position is tried: only one typing error at one position may turn a secret into a name.
  it.each([
    { slip: "a character too few", put: "", left: 1 },
    { slip: "a space too many", put: " ", left: 0 },
    { slip: "a line break for a character", put: "\n", left: 1 },
  ])("$slip never shows a secret", ({ put, left }) => {
    const text = stringify(settings);
    for (const at of text.split("").keys()) {
      expectAnswer(text.slice(0, at) + put + text.slice(at + left));
    }
  });

  it("any other slip never shows a secret", () => {
    const text = stringify(settings);
    const place = fc.nat({ max: text.length });
    const typed = fc.constantFrom(...":-'\"{}[]#&*!|>%$,?x\t");
    const slip = fc.tuple(place, fc.nat({ max: 1 }), typed);
    fc.assert(
      fc.property(slip, ([at, left, put]) =>
        expectAnswer(text.slice(0, at) + put + text.slice(at + left)),
      ),
      { numRuns: 300 },
    );
  });
});
