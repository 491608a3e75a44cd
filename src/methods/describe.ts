// Documentation from the declarations: the OpenRPC document of a network, and docs/METHODS.md.
import { z } from "zod";
import type { Family, Method, Parameter } from "./method.ts";

type JsonObject = Readonly<Record<string, unknown>>;

/** The OpenRPC document of one network, as `rpc.discover` answers it. */
export function openRpcDocument(options: {
  network: string;
  chainId: number;
  methods: readonly Method[];
  allowPatterns: readonly string[];
  serverUrl?: string;
}): JsonObject {
  const { network, chainId, allowPatterns, serverUrl } = options;
  const components = new Map<string, unknown>();
  const methods = options.methods.map((method) => methodObject(method, components));
  return {
    openrpc: "1.3.2",
    info: {
      title: `Headgate: ${network}`,
      version: "1.0",
      description: `JSON-RPC methods of ${network}, chain ${chainId}. Beside them, these are passed on as they are: ${allowPatterns.join(", ") || "none"}.`,
    },
    ...(serverUrl === undefined ? {} : { servers: [{ name: network, url: serverUrl }] }),
    methods,
    components: { schemas: Object.fromEntries(components) },
    "x-headgate-chain-id": chainId,
    "x-headgate-allow": allowPatterns,
  };
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
    ...(callsContracts(method) ? [{ code: 3, message: "execution reverted" }] : []),
  ],
  "x-headgate-cost": method.cost,
  "x-headgate-freshness": method.freshness,
});

const parametersOf = ({ parameters }: Method): readonly Parameter[] =>
  parameters === "any" ? [] : parameters;

const callsContracts = ({ name }: Method): boolean =>
  name === "eth_call" || name === "eth_estimateGas";

/** The schema in the dialect of OpenRPC; what has a name of its own goes to the components. */
function jsonSchema(schema: z.ZodType, components: Map<string, unknown>): unknown {
  const {
    $schema: _,
    definitions,
    ...root
  } = z.toJSONSchema(schema, {
    target: "draft-7",
    io: "input",
  });
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

/** docs/METHODS.md: a table for each family. */
export const methodsMarkdown = (methods: readonly Method[]): string =>
  `${[
    "# Methods",
    "Made from the declarations in `src/methods` by `node scripts/methods-doc.ts`: do not edit. The cost is in compute units; a batch costs the sum of its members. Beside these methods, whatever the allow list of a network names is passed on as it is. A running gateway answers `rpc.discover` with the schemas of all parameters and results.",
    ...families.flatMap(({ family, title }) => [
      `## ${title}`,
      tableOf(methods.filter((method) => method.family === family || method.family === "any")),
    ]),
  ].join("\n\n")}\n`;

const tableOf = (methods: readonly Method[]): string =>
  [
    "| method | cost | stays true | parameters | summary |",
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
