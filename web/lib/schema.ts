// Forms from JSON Schemas: the kind of field for a value, the value of a typed text, and an example. Pure.

export type Schema = {
  readonly $ref?: string;
  readonly type?: string;
  readonly description?: string;
  readonly enum?: readonly unknown[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly allOf?: readonly Schema[];
  readonly required?: readonly string[];
  readonly pattern?: string;
};

/** Schemas by name, as `#/components/schemas/<name>` refers to them. */
export type Components = Readonly<Record<string, Schema>>;

/** The typed texts, by the path of each field: `rate.burst`. */
export type Draft = Readonly<Record<string, string>>;

type Kind = "choice" | "switch" | "number" | "list" | "text" | "group" | "json";

/** A schema without references and nulls, with the name of the schema that it referred to. */
export type Resolved = Schema & { readonly name?: string };

const MOST_DEPTH = 8;

export function resolved(schema: Schema, components: Components, depth = 0): Resolved {
  const { $ref, allOf, anyOf, ...own } = schema;
  const inner = $ref === undefined && allOf?.length === 1 ? allOf[0] : undefined;
  if (depth > MOST_DEPTH) return own;
  if (inner) return { ...resolved(inner, components, depth + 1), ...own };
  if ($ref !== undefined) {
    const name = $ref.split("/").at(-1) ?? "";
    const found = Object.hasOwn(components, name) ? components[name] : undefined;
    return { ...resolved(found ?? {}, components, depth + 1), ...own, name };
  }
  const branches = anyOf?.filter(({ type }) => type !== "null");
  if (branches?.length === 1 && branches[0])
    return { ...resolved(branches[0], components, depth + 1), ...own };
  return branches ? { ...own, anyOf: branches } : own;
}

export function kindOf(schema: Resolved, components: Components): Kind {
  const { type, properties, items } = schema;
  if (schema.enum?.every((each) => typeof each === "string")) return "choice";
  if (type === "boolean") return "switch";
  if (type === "number" || type === "integer") return "number";
  if (properties && Object.keys(properties).length > 0) return "group";
  if (type === "array" && items && isText(items, components)) return "list";
  return isText(schema, components) ? "text" : "json";
}

/** Whether the schema allows a string, maybe beside other types. */
function isText(schema: Schema, components: Components): boolean {
  const whole = resolved(schema, components);
  return whole.type === "string" || (whole.anyOf ?? []).some((each) => isText(each, components));
}

export const pathOf = (path: string, name: string): string => (path ? `${path}.${name}` : name);

/** The texts of the fields for an existing value. */
export function draftOf(value: unknown, schema: Schema, components: Components, path = ""): Draft {
  if (value === undefined || value === null) return {};
  const whole = resolved(schema, components);
  switch (kindOf(whole, components)) {
    case "group":
      return Object.fromEntries(
        Object.entries(whole.properties ?? {}).flatMap(([name, each]) =>
          Object.entries(
            draftOf((value as Record<string, unknown>)[name], each, components, pathOf(path, name)),
          ),
        ),
      );
    case "list":
      return { [path]: (value as readonly unknown[]).join(", ") };
    default:
      return { [path]: typeof value === "string" ? value : JSON.stringify(value) };
  }
}

export type Read = { readonly value: unknown; readonly mistakes: Readonly<Record<string, string>> };

/** Reads the fields into a value; empty fields are left out. */
export function readDraft(draft: Draft, schema: Schema, components: Components, path = ""): Read {
  const whole = resolved(schema, components);
  const kind = kindOf(whole, components);
  const text = (draft[path] ?? "").trim();
  if (kind === "group") return groupOf(draft, whole, { components, path });
  if (kind === "switch") return { value: text === "true" ? true : undefined, mistakes: {} };
  if (text === "") return NOTHING;
  if (kind === "list") return { value: text.split(/[\s,]+/).filter(Boolean), mistakes: {} };
  if (kind === "choice") return { value: text, mistakes: {} };
  if (kind === "number")
    return Number.isFinite(Number(text))
      ? { value: Number(text), mistakes: {} }
      : { value: undefined, mistakes: { [path]: "expected a number" } };
  const isOnlyText = whole.type === "string";
  if (kind === "text" && (isOnlyText || !/^([[{]|\d+$)/.test(text)))
    return { value: text, mistakes: {} };
  try {
    return { value: JSON.parse(text), mistakes: {} };
  } catch {
    return { value: undefined, mistakes: { [path]: "expected JSON" } };
  }
}

const NOTHING: Read = { value: undefined, mistakes: {} };

function groupOf(
  draft: Draft,
  { properties = {} }: Resolved,
  { components, path }: { readonly components: Components; readonly path: string },
): Read {
  const read = Object.entries(properties).map(
    ([name, each]) => [name, readDraft(draft, each, components, pathOf(path, name))] as const,
  );
  const given = read.filter(([, { value }]) => value !== undefined);
  return {
    value:
      given.length > 0
        ? Object.fromEntries(given.map(([name, { value }]) => [name, value]))
        : undefined,
    mistakes: Object.assign({}, ...read.map(([, { mistakes }]) => mistakes)),
  };
}

/** The merge patch (RFC 7396) that turns `before` into `after`: null removes a member. */
export function mergePatchOf(before: unknown, after: unknown): unknown {
  if (!isMapping(before) || !isMapping(after)) return after;
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changes = [...names].flatMap((name) => {
    const [one, other] = [before[name], after[name]];
    if (JSON.stringify(one) === JSON.stringify(other)) return [];
    if (other === undefined) return [[name, isMapping(one) ? emptied(one) : null] as const];
    return [[name, mergePatchOf(one, other)] as const];
  });
  return Object.fromEntries(changes);
}

/** Removes a group's members but keeps the group: some groups may not be left out. */
const emptied = (group: Record<string, unknown>): unknown =>
  Object.fromEntries(
    Object.entries(group).map(([name, each]) => [name, isMapping(each) ? emptied(each) : null]),
  );

const isMapping = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const ZEROS = `0x${"0".repeat(40)}`;

/** Examples by the name of the referred schema. */
const EXAMPLES: Readonly<Record<string, unknown>> = {
  Address: ZEROS,
  BlockNumberOrTag: "latest",
  BlockReference: "latest",
  Quantity: "0x1",
  Data: "0x",
  Slot: "0x0",
  Hash: `0x${"0".repeat(64)}`,
  LogFilter: { fromBlock: "latest", toBlock: "latest" },
  CallObject: { to: ZEROS, data: "0x" },
};

/** An example value that the schema allows; undefined: there is none. */
export function exampleOf(schema: Schema, components: Components): unknown {
  const whole = resolved(schema, components);
  const { name = "", pattern = "" } = whole;
  if (Object.hasOwn(EXAMPLES, name)) return EXAMPLES[name];
  if (whole.enum) return whole.enum[0];
  if (pattern.includes("latest_state")) return "latest_state";
  const first = whole.anyOf?.[0];
  if (first) return exampleOf(first, components);
  if (whole.type === "boolean") return false;
  if (whole.type === "integer" || whole.type === "number") return 1;
  return whole.type === "array" ? [] : undefined;
}
