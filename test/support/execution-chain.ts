// A small real node: it executes the chain of the execution-apis vectors and serves the results as JSON-RPC. To run it
// alone: node test/support/execution-chain.ts --port 8555
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { parseArgs } from "node:util";
import { RpcFailure } from "./execution-chain/arguments.ts";
import { executeChain, executionChainAvailable } from "./execution-chain/execute.ts";
import { createNode, type Method, methods, type Node } from "./execution-chain/methods.ts";

export { executionChainAvailable };

export type ExecutionChain = {
  url: string;
  headNumber: number;
  /** By block number. */
  blockHashes: readonly string[];
  /** In chain order. */
  transactionHashes: readonly string[];
  /** The number of answered calls so far; each call of a batch counts. */
  requests: () => number;
  close(): Promise<void>;
};

/** Serves the chain on a free loopback port, without the named methods, to represent nodes of several dialects. */
export async function startExecutionChain(
  options: { withoutMethods?: readonly string[]; port?: number } = {},
): Promise<ExecutionChain> {
  const node = await sharedNode();
  const refused = new Set(options.withoutMethods);
  const find = (name: string): Method | undefined =>
    refused.has(name) || !Object.hasOwn(methods, name) ? undefined : methods[name];
  let answered = 0;
  const answer = (call: unknown): Promise<Reply | undefined> => {
    answered += 1;
    return answerCall(call, find, node);
  };
  const server = createServer((request, response) => {
    serve(request, response, answer).catch((cause: unknown) => response.destroy(asError(cause)));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(options.port ?? 0, "127.0.0.1", resolve);
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    headNumber: node.blocks.length - 1,
    blockHashes: node.blocks.map(({ hash }) => hash),
    transactionHashes: [...node.positionByTransactionHash.keys()],
    requests: () => answered,
    close: () =>
      new Promise((resolve, reject) => {
        server.close((error) => (error ? reject(error) : resolve()));
        server.closeAllConnections();
      }),
  };
}

/** Executing takes about two seconds, so a process does it once, for all its servers. */
let executing: Promise<Node> | undefined;
const sharedNode = (): Promise<Node> => {
  executing ??= executeChain().then(createNode);
  return executing;
};

type Reply = { jsonrpc: "2.0"; id: unknown } & ({ result: unknown } | { error: Fault });
type Fault = { code: number; message: string; data?: unknown };
type Answer = (call: unknown) => Promise<Reply | undefined>;

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  answer: Answer,
): Promise<void> {
  if (request.method !== "POST") {
    response.writeHead(405, { "content-length": 0 }).end();
    return;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const reply = await answerBody(Buffer.concat(chunks).toString(), answer);
  const body = Buffer.from(reply === undefined ? "" : JSON.stringify(reply));
  response
    .writeHead(200, { "content-type": "application/json", "content-length": body.length })
    .end(body);
}

async function answerBody(text: string, answer: Answer): Promise<unknown> {
  let body: unknown;
  try {
    body = JSON.parse(text);
  } catch {
    return failed(null, { code: -32700, message: "parse error" });
  }
  if (!Array.isArray(body)) return await answer(body);
  if (body.length === 0) return failed(null, { code: -32600, message: "empty batch" });
  const replies = (await Promise.all(body.map(answer))).filter((reply) => reply !== undefined);
  return replies.length > 0 ? replies : undefined;
}

/** Undefined for a notification, which gets no reply. */
async function answerCall(
  call: unknown,
  find: (name: string) => Method | undefined,
  node: Node,
): Promise<Reply | undefined> {
  const { id, method: name, params = [] } = Object(call) as Readonly<Record<string, unknown>>;
  if (typeof name !== "string") return failed(id ?? null, invalidRequest);
  if (!Array.isArray(params)) return failed(id, { code: -32602, message: "non-array args" });
  const method = find(name);
  if (!method) return failed(id, notFound(name));
  try {
    const result = await method(params, node);
    return id === undefined ? undefined : { jsonrpc: "2.0", id, result };
  } catch (thrown) {
    return id === undefined ? undefined : failed(id, faultOf(thrown));
  }
}

const invalidRequest: Fault = { code: -32600, message: "invalid request" };
const notFound = (name: string): Fault => ({
  code: -32601,
  message: `the method ${name} does not exist/is not available`,
});

const failed = (id: unknown, error: Fault): Reply => ({ jsonrpc: "2.0", id, error });

function faultOf(thrown: unknown): Fault {
  if (!(thrown instanceof RpcFailure)) return { code: -32603, message: asError(thrown).message };
  const { code, message, data } = thrown;
  return data === undefined ? { code, message } : { code, message, data };
}

const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));

if (import.meta.main) {
  const { values } = parseArgs({ options: { port: { type: "string", default: "0" } } });
  const { url } = await startExecutionChain({ port: Number(values.port) });
  process.stdout.write(`${url}\n`);
}
