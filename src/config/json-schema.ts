// The same schema for editors (docs/headgate.schema.json), and for knowing which settings there are.
import { z } from "zod";
import type { Path } from "./path.ts";
import { configSchema } from "./schema.ts";

type JsonSchema = z.core.JSONSchema.JSONSchema;
type JsonSchemaOrBoolean = z.core.JSONSchema._JSONSchema;

/** JSON Schema (draft 2020-12) of what may be written in a configuration file. */
export const configJsonSchema = (): object => ({
  ...withVariables(settingsSchema()),
  title: "Headgate configuration",
  $defs: {
    variable: {
      description: "Read from the environment.",
      type: "string",
      pattern: "\\$\\{[A-Za-z_]\\w*(:-[^}]*)?\\}",
    },
  },
});

/** The names of the settings that the mapping at this path may have. */
export function knownSettings(path: Path): readonly string[] {
  const found = path.reduce<JsonSchemaOrBoolean | undefined>(within, settingsSchema());
  return typeof found === "object" ? Object.keys(found.properties ?? {}) : [];
}

const settingsSchema = (): JsonSchema =>
  z.toJSONSchema(configSchema, { io: "input", target: "draft-2020-12" });

function within(
  schema: JsonSchemaOrBoolean | undefined,
  step: PropertyKey,
): JsonSchemaOrBoolean | undefined {
  if (typeof schema !== "object") return undefined;
  if (typeof step === "number") return Array.isArray(schema.items) ? undefined : schema.items;
  return schema.properties?.[String(step)] ?? schema.additionalProperties;
}

/** The schema sees the file before variables are replaced: each value may be one instead. */
function withVariables(schema: JsonSchema): JsonSchema {
  const { properties, items, additionalProperties } = schema;
  if (properties) return { ...schema, properties: mapValues(properties, orBoolean) };
  if (items && !Array.isArray(items)) return { ...schema, items: orBoolean(items) };
  if (additionalProperties) {
    return { ...schema, additionalProperties: orBoolean(additionalProperties) };
  }
  const { description, default: fallback, anyOf, ...rest } = schema;
  return {
    ...(description === undefined ? {} : { description }),
    ...(fallback === undefined ? {} : { default: fallback }),
    anyOf: [...(anyOf ?? [rest]), { $ref: "#/$defs/variable" }],
  };
}

const orBoolean = (schema: JsonSchemaOrBoolean): JsonSchemaOrBoolean =>
  typeof schema === "boolean" ? schema : withVariables(schema);

const mapValues = <Value>(
  record: Readonly<Record<string, Value>>,
  map: (value: Value) => Value,
): Record<string, Value> =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, map(value)]));
