// Turns a method's declaration into a form, and the typed texts into parameters by position. Pure.
import {
  type Components,
  type Draft,
  draftOf,
  exampleOf,
  kindOf,
  readDraft,
  resolved,
  type Schema,
} from "../lib/schema.ts";

export type Method = {
  readonly name: string;
  readonly summary?: string;
  readonly params: readonly {
    readonly name: string;
    readonly required: boolean;
    readonly schema: Schema;
  }[];
  readonly "x-headgate-cost"?: number;
  readonly "x-headgate-kind"?: string;
};

/** The answer of `GET /methods`, as far as the console uses it. */
export type Described = {
  readonly methods: readonly Method[];
  readonly components: { readonly schemas: Components };
  readonly "x-headgate-passed-on": readonly {
    readonly name: string;
    readonly kind: string;
    readonly cost: number;
  }[];
};

/** The parameters of a passed-on method: the gateway knows only its name. */
const ANY: Method["params"] = [
  {
    name: "params",
    required: false,
    schema: { type: "array", description: "The parameters as a JSON array." },
  },
];

/** All methods that the key may call, by name. */
export const methodsOf = (document: Described): readonly Method[] =>
  [
    ...document.methods,
    ...document["x-headgate-passed-on"].map(({ name, kind, cost }) => ({
      ...{ name, params: ANY },
      ...{
        summary: "This method is passed on to a node unchanged.",
        "x-headgate-kind": kind,
        "x-headgate-cost": cost,
      },
    })),
  ].sort((one, other) => (one.name < other.name ? -1 : 1));

/** Example values for the required parameters. */
export const exampleDraft = ({ params }: Method, components: Components): Draft =>
  Object.assign(
    {},
    ...params
      .filter(({ required }) => required)
      .map(({ name, schema }) => draftOf(exampleOf(schema, components), schema, components, name)),
  );

export type ReadParams = {
  readonly params: readonly unknown[];
  readonly mistakes: Readonly<Record<string, string>>;
};

/** The parameters by position: a missing one is null between others, and is not sent at the end. */
export function paramsOf(method: Method, draft: Draft, components: Components): ReadParams {
  const read = method.params.map(({ name, schema, required }) => {
    const { value, mistakes } = readDraft(draft, schema, components, name);
    const isSwitch = kindOf(resolved(schema, components), components) === "switch";
    if (value === undefined && required && isSwitch) return { value: false, mistakes };
    const isMissing = value === undefined && required && Object.keys(mistakes).length === 0;
    return { value, mistakes: isMissing ? { [name]: "this parameter is required" } : mistakes };
  });
  const values = read.map(({ value }) => value);
  const length = values.findLastIndex((value) => value !== undefined) + 1;
  const params = values.slice(0, length).map((value) => value ?? null);
  const [only] = params;
  return {
    params: method.params === ANY && Array.isArray(only) ? only : params,
    mistakes: Object.assign({}, ...read.map(({ mistakes }) => mistakes)),
  };
}

/** A number of 16 digits or more: JavaScript would round it and show another number. */
const LARGE_NUMBER = /[:[,]\s*-?\d{16,}/;

/** The JSON with line breaks; unchanged where parsing would change it. */
export function answerText(json: string): string {
  if (LARGE_NUMBER.test(json)) return json;
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
