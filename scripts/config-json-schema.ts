// The JSON Schema of a configuration file for editors: docs/headgate.schema.json, which config-schema.ts writes.
import type { z } from "zod";
import { settingsSchema } from "../src/config/schema.ts";

type JsonSchema = z.core.JSONSchema.JSONSchema;
type JsonSchemaOrBoolean = z.core.JSONSchema._JSONSchema;

/** The JSON Schema (draft 2020-12) of a configuration file. */
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

/** The short forms of settings (src/config/short-forms.ts), by the setting's name. */
const SHORT_FORMS: Readonly<Record<string, (written: JsonSchema) => JsonSchema>> = {
  networks: ({ description = "", ...mapping }) => ({
    description,
    anyOf: [mapping, { type: "array", items: { type: "string" }, minItems: 1 }],
  }),
  upstreams: ({ items, ...list }) => ({
    ...list,
    items: { anyOf: [items as JsonSchema, { type: "string" }] },
  }),
};

/** Allows `${VARIABLE}` in the place of each value: editors see the file before variables are replaced. */
function withVariables(schema: JsonSchema): JsonSchema {
  const { properties, items, additionalProperties } = schema;
  if (properties) {
    const each = Object.entries(properties).map(([name, inner]) => [name, shortOr(name, inner)]);
    return { ...schema, properties: Object.fromEntries(each) };
  }
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

function shortOr(name: string, schema: JsonSchemaOrBoolean): JsonSchemaOrBoolean {
  const written = orBoolean(schema);
  const short = SHORT_FORMS[name];
  const isWhole =
    typeof written === "object" &&
    "properties" in Object(written.items ?? written.additionalProperties);
  return short && isWhole ? short(written) : written;
}

const orBoolean = (schema: JsonSchemaOrBoolean): JsonSchemaOrBoolean =>
  typeof schema === "boolean" ? schema : withVariables(schema);
