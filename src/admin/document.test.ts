import { describe, expect, it } from "vitest";
import { z } from "zod";
import { scriptedAdmin } from "../../test/support/scripted-admin.ts";
import { adminDocument, declaredRoutes } from "./document.ts";
import { ROLE } from "./routes.ts";

const document = JSON.parse(JSON.stringify(adminDocument()));

/** The rules of OpenAPI 3.1.0 for the parts of a document that we use. */
const schema = z.looseObject({});
const media = z.strictObject({ schema });
const content = z.record(z.string().regex(/^[a-z]+\/[a-z+-]+$/), media);
const parameter = z
  .strictObject({
    name: z.string(),
    in: z.enum(["path", "query", "header"]),
    required: z.boolean(),
    schema,
    description: z.string().optional(),
    example: z.unknown().optional(),
  })
  .refine((each) => each.in !== "path" || each.required, "a path's parameter is required");
const operation = z.strictObject({
  "x-headgate-role": z.enum(["read", "keys", "all"]).optional(),
  security: z.tuple([]).optional(),
  operationId: z.string(),
  summary: z.string(),
  description: z.string().optional(),
  tags: z.array(z.string()),
  parameters: z.array(parameter).optional(),
  requestBody: z.strictObject({ required: z.boolean().optional(), content }).optional(),
  responses: z.record(
    z.string().regex(/^[1-5]\d\d$/),
    z.strictObject({ description: z.string().min(1), content }),
  ),
});
const openApi = z.strictObject({
  openapi: z.literal("3.1.0"),
  info: z.looseObject({ title: z.string(), version: z.string() }),
  servers: z.array(z.strictObject({ url: z.url() })),
  security: z.array(z.record(z.string(), z.array(z.string()))),
  tags: z.array(z.strictObject({ name: z.string() })),
  paths: z.record(
    z.string().startsWith("/"),
    z.partialRecord(z.enum(["get", "post", "patch"]), operation),
  ),
  webhooks: z.strictObject({}).optional(),
  components: z.strictObject({
    schemas: z.record(z.string().regex(/^[\w.-]+$/), schema),
    securitySchemes: z.record(z.string(), z.looseObject({ type: z.literal("http") })),
    parameters: z.record(z.string(), schema).optional(),
  }),
});

function* referencesIn(value: unknown): Generator<string> {
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (name === "$ref") yield String(inner);
    else yield* referencesIn(inner);
  }
}

/** The routes that change the whole gateway. */
const OF_ALL = [
  ...["post /reload", "post /configuration/validate", "post /configuration/apply"],
  ...["drain", "undrain"].map((act) => `post /networks/{network}/upstreams/{name}/${act}`),
];

/** A part of the document as a JSON Schema of its own. */
function documentedSchema(name: string): z.core.JSONSchema.JSONSchema {
  const text = JSON.stringify(document.components.schemas);
  const $defs = JSON.parse(text.replaceAll("#/components/schemas/", "#/$defs/"));
  return { ...$defs[name], $defs };
}

describe("the OpenAPI document", () => {
  it("has the form of 3.1.0", () => {
    expect(openApi.safeParse(document).error).toBeUndefined();
  });

  it("refers to nothing that it does not have", () => {
    const references = [...referencesIn(document)];
    expect(references.length).toBeGreaterThan(20);
    for (const reference of references) {
      const names = reference.replace(/^#\//, "").split("/");
      const found = names.reduce((at, name) => at?.[name], document);
      expect(found, reference).toBeDefined();
    }
  });

  it.each([
    { name: "KeyRequest", value: { name: "app" }, isValid: true },
    { name: "KeyRequest", value: { name: "app", networks: ["a"], readOnly: true }, isValid: true },
    { name: "KeyRequest", value: {}, isValid: false },
    { name: "KeyRequest", value: { name: "APP" }, isValid: false },
    { name: "KeyRequest", value: { name: "app", rat: 5 }, isValid: false },
    { name: "KeyChange", value: { networks: null, rate: { computeUnits: 5 } }, isValid: true },
    { name: "KeyChange", value: {}, isValid: true },
    { name: "KeyChange", value: { name: "app" }, isValid: false },
    { name: "Rotation", value: { overlap: "24h" }, isValid: true },
    { name: "Rotation", value: { overlap: 24 }, isValid: false },
    { name: "Reloaded", value: { changed: ["log.level: info → debug"] }, isValid: true },
    { name: "Reloaded", value: { changed: "all" }, isValid: false },
  ])("takes $value for $name: $isValid", ({ name, value, isValid }) => {
    expect(z.fromJSONSchema(documentedSchema(name)).safeParse(value).success).toBe(isValid);
  });

  it("names each operation once, and the parameters of its path", () => {
    const operations = Object.entries<Record<string, z.output<typeof operation>>>(document.paths);
    const ids = operations
      .flatMap(([, verbs]) => Object.values(verbs))
      .map((each) => each.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const [path, verbs] of operations)
      for (const each of Object.values(verbs)) {
        const named = (each.parameters ?? []).filter(({ in: place }) => place === "path");
        expect(named.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
      }
  });

  it("says which role each route needs, or that it needs no token", () => {
    const needs = declaredRoutes.map(({ method, path, ...route }) => [
      `${method} ${path}`,
      route[ROLE] ?? JSON.stringify(route.security),
    ]);
    const sessions = ["get /session", "post /session", "post /session/end"];
    const withoutToken = ["get /healthz", "get /readyz", ...sessions];
    for (const [route = "", need] of needs) {
      if (withoutToken.includes(route)) expect(need, route).toBe("[]");
      else if (route.startsWith("get ")) expect(need, route).toBe("read");
      else expect(need, route).toBe(OF_ALL.includes(route) ? "all" : "keys");
    }
  });

  it("has all that is answered, and nothing else", async () => {
    const { app, close } = await scriptedAdmin();
    const answered = app.routes
      .filter(({ method }) => method !== "ALL")
      .map(({ method, path }) => `${method} ${path.replace(/:(\w+)/g, "{$1}")}`);
    const declared = declaredRoutes.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
    expect([...new Set(answered)].sort()).toEqual(declared.sort());
    await close();
  });
});
