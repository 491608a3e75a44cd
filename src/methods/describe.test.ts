import { createRequire } from "node:module";
import { describe, expect, it } from "vitest";
import { catalogueFor, declaredMethods, forwardedMethods } from "./catalogue.ts";
import { methodsMarkdown, openRpcDocument } from "./describe.ts";

type Schema = {
  readonly $ref?: string;
  readonly type?: string;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly patternProperties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: boolean;
  readonly items?: Schema;
  readonly oneOf?: readonly Schema[];
  readonly definitions?: Readonly<Record<string, Schema>>;
};
// The package's own types describe documents, not the schema itself.
const { openrpcDocument: root }: { openrpcDocument: Schema } = createRequire(import.meta.url)(
  "@open-rpc/meta-schema",
);

const catalogue = catalogueFor({
  family: "evm",
  allow: ["eth_*", "trace_*"],
  groups: [],
  deny: [],
});
const document = JSON.parse(
  JSON.stringify(
    openRpcDocument({
      network: "eth-test",
      chainId: 1,
      methods: catalogue.methods,
      forwarded: catalogue.forwarded,
    }),
  ),
);

/** A value's mistakes, by the part of JSON Schema that the OpenRPC meta-schema uses. */
function mistakes(schema: Schema, value: unknown, path = "$"): string[] {
  if (schema.$ref) {
    const name = schema.$ref.startsWith("#/definitions/") && schema.$ref.slice(14);
    return name ? mistakes(root.definitions?.[name] ?? {}, value, path) : [];
  }
  if (schema.oneOf) {
    const tried = schema.oneOf.map((one) => mistakes(one, value, path));
    return tried.filter((found) => found.length === 0).length === 1 ? [] : tried.flat();
  }
  if (schema.enum && !schema.enum.includes(value)) return [`${path}: not one of the enum`];
  if (schema.type && !isOfType(schema.type, value)) return [`${path}: want ${schema.type}`];
  if (Array.isArray(value)) {
    return value.flatMap((item, index) => mistakes(schema.items ?? {}, item, `${path}[${index}]`));
  }
  return typeof value === "object" && value !== null ? memberMistakes(schema, value, path) : [];
}

function memberMistakes(schema: Schema, value: object, path: string): string[] {
  const missing = (schema.required ?? []).filter((name) => !Object.hasOwn(value, name));
  const wrong = Object.entries(value).flatMap(([name, member]) => {
    const pattern = Object.entries(schema.patternProperties ?? {}).find(([text]) =>
      new RegExp(text).test(name),
    );
    const found = schema.properties?.[name] ?? pattern?.[1];
    if (found) return mistakes(found, member, `${path}.${name}`);
    return schema.additionalProperties === false ? [`${path}.${name}: unknown`] : [];
  });
  return [...missing.map((name) => `${path}.${name}: missing`), ...wrong];
}

function isOfType(type: string, value: unknown): boolean {
  if (type === "array") return Array.isArray(value);
  if (type === "integer") return Number.isInteger(value);
  if (type === "object") return typeof value === "object" && value !== null;
  return typeof value === type;
}

describe("the OpenRPC document", () => {
  it("is one by the meta-schema", () => {
    expect(mistakes(root, document)).toEqual([]);
    expect(mistakes(root, { ...document, methods: [{ name: 1, more: 2 }] })).not.toEqual([]);
  });

  it("has every served method, with its price and what is needed", () => {
    expect(document.methods).toHaveLength(catalogue.methods.length);
    const getCode = document.methods.find(({ name }: { name: string }) => name === "eth_getCode");
    expect(getCode).toMatchObject({
      params: [
        { name: "address", required: true, schema: { $ref: "#/components/schemas/Address" } },
        { name: "block", required: false },
      ],
      "x-headgate-cost": 2,
      "x-headgate-freshness": "until next block",
    });
  });

  it("refers only to schemas that it has", () => {
    const references = JSON.stringify(document).match(/"\$ref":"[^"]*"/g) ?? [];
    expect(references.length).toBeGreaterThan(50);
    for (const reference of references) {
      const name = /"#\/components\/schemas\/(\w+)"$/.exec(reference)?.[1] ?? "";
      expect(document.components.schemas).toHaveProperty(name);
    }
  });

  it("is one of OpenRPC, whatever is declared", () => {
    const whole = openRpcDocument({
      network: "x",
      chainId: 1,
      methods: declaredMethods,
      forwarded: [],
    });
    expect(mistakes(root, whole)).toEqual([]);
  });
});

describe("docs/METHODS.md", () => {
  const markdown = methodsMarkdown(declaredMethods, forwardedMethods);

  it("has a row for each method, in the tables of its families", () => {
    for (const { name, family, cost } of declaredMethods) {
      expect(markdown.split(`| \`${name}\` | ${cost} |`)).toHaveLength(family === "any" ? 3 : 2);
    }
  });

  it.each([
    "| `debug_setHead` | node control | its full name | 3 |",
    "| `debug_traceBlock` | read | pattern, group debugTrace | 25 |",
    "| `eth_sendBundle` | write | pattern | 3 |",
    "| `eth_signTransaction` | signing | never | 3 |",
    "| `admin_addPeer` | node control | never | 3 |",
    "| `pos_stop_voting` | node control | its full name | 3 |",
  ])("tells how what is passed on opens: %s", (row) => {
    expect(markdown).toContain(row);
  });

  it("shows what may be left out", () => {
    expect(markdown).toContain("| `eth_getCode` | 2 | until next block | `address`, `block?` |");
  });
});
