import { describe, expect, it } from "vitest";
import { adminDocument } from "../../src/admin/document.ts";
import {
  type Components,
  type Draft,
  draftOf,
  exampleOf,
  kindOf,
  mergePatchOf,
  readDraft,
  resolved,
  type Schema,
} from "./schema.ts";

const components: Components = {
  Address: { type: "string", pattern: "^0x[0-9a-fA-F]{40}$", description: "20 bytes." },
  Loop: { $ref: "#/components/schemas/Loop" },
  Reference: { anyOf: [{ type: "string" }, { type: "object", properties: { a: {} } }] },
};
const reference = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const text: Schema = { type: "string" };

describe("a schema", () => {
  it.each<[Schema, string]>([
    [{ enum: ["a", "b"] }, "choice"],
    [{ type: "boolean" }, "switch"],
    [{ type: "integer" }, "number"],
    [text, "text"],
    [{ anyOf: [text, { type: "null" }] }, "text"],
    [{ allOf: [reference("Address")], description: "of whom" }, "text"],
    [{ type: "array", items: reference("Address") }, "list"],
    [{ type: "array", items: { anyOf: [text, { type: "array" }] } }, "list"],
    [{ type: "object", properties: { a: text } }, "group"],
    [reference("Reference"), "text"],
    [reference("Nobody"), "json"],
    [reference("Loop"), "json"],
    [{}, "json"],
  ])("%j becomes the field %s", (schema, kind) => {
    expect(kindOf(resolved(schema, components), components)).toBe(kind);
  });

  it("says of what it refers to what it says itself first", () => {
    const whole = resolved({ allOf: [reference("Address")], description: "of whom" }, components);
    expect(whole).toMatchObject({ name: "Address", description: "of whom" });
  });
});

describe("what is typed", () => {
  const schema: Schema = {
    type: "object",
    properties: {
      name: text,
      networks: { type: "array", items: text },
      readOnly: { type: "boolean" },
      rate: { type: "object", properties: { computeUnits: { type: "number" } } },
      block: reference("Reference"),
      size: { anyOf: [{ type: "integer" }, text] },
      any: {},
    },
  };

  it.each<[Draft, unknown]>([
    [{}, undefined],
    [{ name: " app " }, { name: "app" }],
    [{ name: "5" }, { name: "5" }],
    [{ networks: "a, b c,, " }, { networks: ["a", "b", "c"] }],
    [{ readOnly: "true" }, { readOnly: true }],
    [{ readOnly: "false" }, undefined],
    [{ "rate.computeUnits": "1.5" }, { rate: { computeUnits: 1.5 } }],
    [{ block: "latest" }, { block: "latest" }],
    [{ block: '{"a":1}' }, { block: { a: 1 } }],
    [{ size: "10" }, { size: 10 }],
    [{ size: "1MiB" }, { size: "1MiB" }],
    [{ any: "[1]" }, { any: [1] }],
  ])("%j means %j", (draft, value) => {
    expect(readDraft(draft, schema, components)).toEqual({ value, mistakes: {} });
  });

  it("is told what is wrong with it, where it stands", () => {
    const draft = { "rate.computeUnits": "fast", block: "{", any: "x" };
    expect(readDraft(draft, schema, components).mistakes).toEqual({
      "rate.computeUnits": "expected a number",
      block: "expected JSON",
      any: "expected JSON",
    });
  });

  it("is the value again that it was made from", () => {
    const value = {
      ...{ name: "app", networks: ["a", "b"], readOnly: true },
      ...{ rate: { computeUnits: 5 }, block: { a: [1] }, size: 10 },
    };
    expect(readDraft(draftOf(value, schema, components), schema, components).value).toEqual(value);
  });

  it("has a field for each setting of a key, of the gateway's own schema", () => {
    const { schemas = {} } = adminDocument().components ?? {};
    const own = schemas as Components;
    const key = {
      ...{ name: "app", profile: "browser", networks: ["main"], methods: ["eth_*"] },
      ...{ origins: ["a.example"], addresses: ["10.0.0.0/8"], contracts: [], readOnly: true },
      ...{ explain: true, expires: "2027-01-31T00:00:00Z", concurrentCalls: 5, weight: 2 },
      rate: { computeUnits: 5, burst: 10 },
      computeUnits: { perDay: 5, perMonth: 6 },
      limits: { logs: { blocks: 5 }, batch: 5, batchResponse: "1MiB", upstreamCalls: 7 },
    };
    const { contracts: _, ...expected } = key;
    const draft = draftOf(key, own["KeyRequest"] ?? {}, own);
    expect(readDraft(draft, own["KeyRequest"] ?? {}, own)).toEqual({
      value: expected,
      mistakes: {},
    });
  });
});

describe("a merge patch", () => {
  it.each([
    [{ a: 1 }, { a: 1 }, {}],
    [{ a: 1 }, { a: 2, b: [1] }, { a: 2, b: [1] }],
    [{ a: 1, b: 2 }, { b: 2 }, { a: null }],
    [{ rate: { x: 1, y: 2 } }, { rate: { x: 1 } }, { rate: { y: null } }],
    [{ limits: { logs: { blocks: 1 } } }, {}, { limits: { logs: { blocks: null } } }],
  ])("from %j to %j is %j", (before, after, patch) => {
    expect(mergePatchOf(before, after)).toEqual(patch);
  });
});

describe("an example", () => {
  it.each<[Schema, unknown]>([
    [reference("Address"), `0x${"0".repeat(40)}`],
    [{ type: "boolean" }, false],
    [{ enum: ["a"] }, "a"],
    [{ type: "string", pattern: "^(latest_state|earliest)$" }, "latest_state"],
    [{ anyOf: [{ type: "integer" }, text] }, 1],
    [{}, undefined],
  ])("of %j is %j", (schema, example) => {
    expect(exampleOf(schema, components)).toEqual(example);
  });
});
