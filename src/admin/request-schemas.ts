// What administration is sent. Keys are checked where they are made, by the rules of the
// configuration; here they are described.
import { z } from "zod";
import { keyRequest } from "../config/key-settings.ts";
import { duration } from "../config/units.ts";

const NOTHING = z.literal(["0", "0s"], { error: "expected 0s" }).transform(() => 0);

export const rotation = z.strictObject({
  overlap: z
    .union([NOTHING, duration], { error: "expected a duration such as 24h, or 0s" })
    .optional()
    .describe("How long the old text works; 0s: not at all. Left out: 24h."),
});

type JsonSchema = z.core.JSONSchema.JSONSchema;
type Property = z.core.JSONSchema._JSONSchema;
type Properties = Readonly<Record<string, Property>>;

const described = (schema: z.ZodType): JsonSchema => {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io: "input", target: "draft-2020-12" });
  return rest;
};

const wholeKey = described(keyRequest);

/** Every setting but the name, by itself; null takes it away. */
const change = (properties: Properties): JsonSchema => ({
  type: "object",
  additionalProperties: false,
  properties: Object.fromEntries(
    Object.entries(properties)
      .filter(([name]) => name !== "name")
      .map(([name, schema]) => [name, orNull(withoutDefault(schema))]),
  ),
});

const orNull = (schema: Property): Property => ({
  anyOf: [schema as JsonSchema, { type: "null" }],
});

const withoutDefault = (schema: Property): Property => {
  if (typeof schema !== "object") return schema;
  const { default: _, ...rest } = schema;
  return rest;
};

/** By their names in the document. */
export const requestSchemas: Readonly<Record<string, object>> = {
  KeyRequest: wholeKey,
  KeyChange: change(wholeKey.properties ?? {}),
  Rotation: described(rotation),
};
