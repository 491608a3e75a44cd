// Makes documentation from the declarations: the OpenRPC document of a network, and docs/METHODS.md.
import { z } from "zod";
import { matcherOf } from "../lib/pattern.ts";
import { type Family, opensByPattern } from "../namespaces/known-method.ts";
import { GROUPS, isNeverServed } from "../namespaces/known-methods.ts";
import type { Method, Parameter } from "./method.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** The OpenRPC document of one network, as `rpc.discover` answers it. */
export function openRpcDocument(options: {
  network: string;
  chainId: number;
  methods: readonly Method[];
  /** The methods whose calls go to the upstreams unchanged. */
  forwarded: readonly Method[];
}): JsonObject {
  const { network, chainId, forwarded } = options;
  const described = options.methods.map(describedOf);
  const methods = described.map(({ object }) => object);
  return {
    openrpc: "1.3.2",
    info: {
      title: `Headgate: ${network}`,
      version: "1.0",
      description: `JSON-RPC methods of ${network}, chain ${chainId}. The methods in x-headgate-passed-on are available too; the gateway passes them on to the nodes unchanged.`,
    },
    methods,
    components: { schemas: Object.assign({}, ...described.map(({ schemas }) => schemas)) },
    "x-headgate-chain-id": chainId,
    "x-headgate-passed-on": forwarded.map(({ name, kind, cost }) => ({ name, kind, cost })),
  };
}

type Described = { readonly object: JsonObject; readonly schemas: JsonObject };

/** The methods that were described: their schemas take long to translate, and each key has a document of its own. */
const DESCRIBED = new WeakMap<Method, Described>();

function describedOf(method: Method): Described {
  const known = DESCRIBED.get(method);
  if (known) return known;
  const components = new Map<string, unknown>();
  const object = methodObject(method, components);
  const described = { object, schemas: Object.fromEntries(components) };
  DESCRIBED.set(method, described);
  return described;
}

const methodObject = (method: Method, components: Map<string, unknown>): JsonObject => ({
  name: method.name,
  summary: method.summary,
  paramStructure: "by-position",
  params: parametersOf(method).map(({ name, schema, isOptional }) => ({
    name,
    required: !isOptional,
    schema: jsonSchema(schema, components),
  })),
  result: { name: "result", schema: jsonSchema(method.result, components) },
  errors: [
    ...(parametersOf(method).length > 0 ? [{ code: -32602, message: "invalid argument" }] : []),
    { code: -32005, message: "rate limit exceeded" },
    ...(method.mayRevert ? [{ code: 3, message: "execution reverted" }] : []),
  ],
  "x-headgate-kind": method.kind,
  "x-headgate-cost": method.cost,
  "x-headgate-freshness": method.freshness,
});

const parametersOf = ({ parameters }: Method): readonly Parameter[] =>
  parameters === "any" ? [] : parameters;

const DRAFT_7 = { target: "draft-7", io: "input" } as const;

/** The schema as JSON Schema draft 7, as OpenRPC wants it. Adds the definitions that have a name to `components`. */
function jsonSchema(schema: z.ZodType, components: Map<string, unknown>): unknown {
  const { $schema: _, definitions, ...root } = z.toJSONSchema(schema, DRAFT_7);
  for (const [name, definition] of Object.entries(definitions ?? {})) {
    components.set(name, withComponentPaths(definition));
  }
  return withComponentPaths(root);
}

const withComponentPaths = (schema: unknown): unknown =>
  JSON.parse(
    JSON.stringify(schema, (key, value: unknown) =>
      key === "id" && typeof value === "string" ? undefined : value,
    ).replaceAll('"#/definitions/', '"#/components/schemas/'),
  );

const families: readonly { readonly family: Family; readonly title: string }[] = [
  { family: "evm", title: "Block networks (`family: evm`)" },
  { family: "conflux", title: "Epoch networks (`family: conflux`)" },
];

/** The text of docs/METHODS.md: tables for each family. */
export const methodsMarkdown = (methods: readonly Method[], forwarded: readonly Method[]): string =>
  `${[
    "# Methods",
    "This page is made from the declarations in `src/methods` and the names in `src/namespaces` by `node scripts/methods-doc.ts`: do not edit it. The cost is in compute units; a batch costs the sum of its members. A running gateway answers `rpc.discover` with the schemas of all parameters and results, and `headgate methods --config headgate.yaml --key name` lists the methods that a key may call.",
    "The kind of a method decides how an operator opens it. A pattern (`eth_*`), a group (`debugTrace`, `debugRaw`, `txpool`) or a name in a network's `methods.allow` opens **reads** and **writes**; keys that only read may not make writes. Only the full name in `methods.allow` opens a method of **node control**; a key may call it if its own `methods` have the full name, or if it has no `methods`, but not if it only reads. Nothing opens node administration (`admin_`, `miner_`, `engine_`), **signing** with a node's keys (`personal_`, `eth_sign…`, `eth_sendTransaction`) and **subscriptions** of nodes. The full name opens a method that is not listed here; it counts as a write that may read any contract.",
    ...families.flatMap(({ family, title }) => [
      `## ${title}`,
      tableOf(methods.filter((method) => method.family === family || method.family === "any")),
      "### Passed on unchanged",
      "The reads and writes among these methods are open by default if their namespace is (see `networks.<name>.methods.allow` in [configuration.md](configuration.md)).",
      forwardedTable(forwarded.filter((method) => method.family === family)),
    ]),
  ].join("\n\n")}\n`;

const forwardedTable = (methods: readonly Method[]): string =>
  [
    "| method | kind | opened by | cost |",
    "|---|---|---|---:|",
    ...[...methods]
      .sort(byName)
      .map(
        (method) =>
          `| \`${method.name}\` | ${method.kind} | ${openedBy(method)} | ${method.cost} |`,
      ),
  ].join("\n");

/** The setting by which an operator opens the method, in words. */
export function openedBy({ name, kind }: Pick<Method, "name" | "kind">): string {
  if (isNeverServed(name)) return "never";
  if (!opensByPattern(kind)) return "its full name";
  const group = Object.entries(GROUPS).find(([, pattern]) => matcherOf([pattern])(name));
  return group ? `pattern, group ${group[0]}` : "pattern";
}

const tableOf = (methods: readonly Method[]): string =>
  [
    "| method | cost | result valid | parameters | summary |",
    "|---|---:|---|---|---|",
    ...[...methods].sort(byName).map(rowOf),
  ].join("\n");

const byName = (one: Method, other: Method): number => (one.name < other.name ? -1 : 1);

const rowOf = (method: Method): string => {
  const { name, cost, freshness, summary } = method;
  const parameters = parametersOf(method).map(
    (parameter) => `\`${parameter.name}${parameter.isOptional ? "?" : ""}\``,
  );
  const cells = [`\`${name}\``, cost, freshness, parameters.join(", "), summary];
  return `| ${cells.map((cell) => String(cell).replaceAll("|", "\\|")).join(" | ")} |`;
};
