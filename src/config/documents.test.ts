// The documents and schemas of the configuration for people and editors agree with the code.
import { readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { configJsonSchema } from "../../scripts/config-json-schema.ts";
import { parseConfig } from "./parse-config.ts";

const read = (path: string): Promise<string> =>
  readFile(new URL(`../../${path}`, import.meta.url), "utf8");

type Schema = z.core.JSONSchema.JSONSchema;

/** Each setting that is no group of settings: its path in the documentation, and its default. */
function* settingsOf(
  schema: unknown,
  path: string,
): Generator<{ path: string; fallback: unknown }> {
  if (typeof schema !== "object" || schema === null) return;
  const { properties, items, additionalProperties, default: fallback } = longForm(schema as Schema);
  const isGroup = path === "networks" && typeof additionalProperties === "object";
  // These groups have the settings of a network and of an upstream.
  if (["defaults.network", "defaults.upstream"].includes(path)) yield { path, fallback };
  else if (properties) {
    for (const [name, inner] of Object.entries(properties)) {
      yield* settingsOf(inner, path === "" ? name : `${path}.${name}`);
    }
  } else if (isGroup) yield* settingsOf(additionalProperties, `${path}.<name>`);
  else if (hasSettings(items)) yield* settingsOf(items, `${path}[]`);
  else yield { path, fallback };
}

/** The long form of a setting that also has a short form. */
const longForm = (schema: Schema): Schema =>
  (schema.anyOf as Schema[] | undefined)?.find(
    ({ properties, additionalProperties }) => properties ?? additionalProperties,
  ) ?? schema;

const hasSettings = (items: Schema["items"]): boolean =>
  typeof items === "object" && !Array.isArray(items) && "properties" in longForm(items as Schema);

describe("docs/configuration.md", () => {
  const defaultByPath = new Map<string, string>();

  beforeAll(async () => {
    for (const [, path = "", text = ""] of (await read("docs/configuration.md")).matchAll(
      /^\| `([^`]+)` +\| ([^|]*[^| ]) +\|/gm,
    )) {
      defaultByPath.set(path, text);
    }
  });

  it("has every setting, and no other", () => {
    const paths = [...settingsOf(configJsonSchema(), "")].map(({ path }) => path);
    expect([...defaultByPath.keys()].sort()).toEqual(paths.sort());
  });

  it.each([...settingsOf(configJsonSchema(), "")].filter(({ fallback }) => fallback !== undefined))(
    "says the default of $path",
    ({ path, fallback }) => {
      const text = typeof fallback === "string" ? fallback : JSON.stringify(fallback);
      expect(defaultByPath.get(path)).toBe(`\`${text}\``);
    },
  );
});

describe("headgate.example.yaml", () => {
  it("is valid, without any variable set", async () => {
    expect(parseConfig(await read("headgate.example.yaml"), {})).toMatchObject({ kind: "config" });
  });

  it("is valid to an editor", async () => {
    const schema = z.fromJSONSchema({ ...configJsonSchema() });
    const example = parse(await read("headgate.example.yaml"));
    expect(schema.safeParse(example).error).toBeUndefined();
    expect(schema.safeParse({ ...example, lisen: {} }).success).toBe(false);
  });
});

describe("docs/headgate.schema.json", () => {
  it("is up to date (node scripts/config-schema.ts)", async () => {
    expect(JSON.parse(await read("docs/headgate.schema.json"))).toEqual(configJsonSchema());
  });
});
