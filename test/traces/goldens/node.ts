// One server that plays all the nodes, each under its own path.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { textOf } from "../../support/request-text.ts";
import type { Answer, World } from "./golden.ts";

export type Nodes = {
  urlOf(world: string): string;
  /** Calls of methods that a node has, with parameters that were not recorded. */
  readonly unknownCalls: ReadonlySet<string>;
  close(): Promise<void>;
};

type Call = { readonly id: unknown; readonly method: string; readonly params: readonly unknown[] };
type Node = (call: Omit<Call, "id">) => object;

export async function startNodes(worlds: readonly World[]): Promise<Nodes> {
  const unknownCalls = new Set<string>();
  const nodes = new Map(worlds.map((world) => [`/${world.name}`, nodeOf(world, unknownCalls)]));
  const server = createServer(async (request, response) => {
    const node = nodes.get(request.url ?? "");
    const answerTo = ({ id, ...call }: Call) => ({ jsonrpc: "2.0", id, ...node?.(call) });
    const body = JSON.parse(await textOf(request)) as Call | Call[];
    const answer = Array.isArray(body) ? body.map(answerTo) : answerTo(body);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answer));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (world) => `http://127.0.0.1:${port}/${world}`,
    unknownCalls,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function nodeOf({ name, chainId, answers }: World, unknownCalls: Set<string>): Node {
  const answerByCall = new Map(answers.map((answer) => [callText(answer), outcomeOf(answer)]));
  const methods = new Set(answers.map(({ method }) => method));
  const own: Readonly<Record<string, unknown>> = {
    eth_chainId: `0x${chainId.toString(16)}`,
    eth_blockNumber: HEAD.number,
    net_version: String(chainId),
  };
  return (call) => {
    const { method, params = [] } = call;
    const recorded = answerByCall.get(callText({ method, params }));
    if (recorded) return recorded;
    if (method in own) return { result: own[method] };
    if (method === "eth_getBlockByNumber" && HEADS.has(params[0])) return { result: HEAD };
    if (!methods.has(method)) return { error: NO_METHOD };
    if (method.startsWith("debug_")) return { error: noTracer(params) };
    unknownCalls.add(`${name}: ${callText(call)}`);
    return { result: null };
  };
}

const outcomeOf = ({ result, error }: Answer): object =>
  error === undefined ? { result } : { error };

const HEAD = {
  number: "0x2000000",
  hash: `0x${"a".repeat(64)}`,
  parentHash: `0x${"b".repeat(64)}`,
  timestamp: "0x65000000",
  transactions: [],
};
const HEADS: ReadonlySet<unknown> = new Set(["latest", HEAD.number]);

const NO_METHOD = { code: -32601, message: "the method does not exist/is not available" };

/** The error of geth for an unknown tracer; for steps, that of anvil. */
const noTracer = ([, options]: readonly unknown[]) => ({
  code: -32000,
  message: `ReferenceError: ${tracerIn(options) ?? "--steps-tracing"} is not defined`,
});

const tracerIn = (options: unknown): string | undefined =>
  (Object(options) as { tracer?: string }).tracer;

/** The same text for all forms of a call; of a tracer's configuration it contains only what changes the answer. */
const callText = (call: Pick<Call, "method" | "params">): string => exactText(call).toLowerCase();

function exactText({ method, params }: Pick<Call, "method" | "params">): string {
  if (!method.startsWith("debug_")) return `${method} ${JSON.stringify(params)}`;
  const [subject, options] = params;
  const { tracerConfig = {} } = Object(options) as { tracerConfig?: { diffMode?: boolean } };
  const tracer = tracerIn(options) ?? JSON.stringify(options);
  return `${method} ${subject} ${tracer}${tracerConfig.diffMode ? " diff" : ""}`;
}
