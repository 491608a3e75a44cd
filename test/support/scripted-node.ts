// A node with scripted answers, for faults and for counting. It never judges whether an answer is right.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { textOf } from "./request-text.ts";

export type NodeCall = { id: unknown; method: string; params: readonly unknown[] };

export type ScriptedNode = {
  readonly url: string;
  readonly calls: readonly NodeCall[];
  close(): Promise<void>;
};

const NO_BATCHES =
  '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported"}}';

/**
 * Returns the text of the whole response body, or undefined to write the response itself.
 * Calls come one by one; the node itself answers eth_chainId, with 1 unless `chainId` says otherwise.
 */
type Script = (call: NodeCall, response: ServerResponse) => string | undefined;

export const result = (call: NodeCall, json: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(call.id)},"result":${json}}`;

export const failure = (call: NodeCall, json: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(call.id)},"error":${json}}`;

export const missing = (call: NodeCall): string =>
  failure(call, `{"code":-32601,"message":"the method ${call.method} does not exist"}`);

/** @param takesBatches Gives batches to the script as lists; left out: the node refuses them. */
export async function startScriptedNode(
  script: Script,
  port = 0,
  takesBatches = false,
  chainId = (): string => "0x1",
): Promise<ScriptedNode> {
  const calls: NodeCall[] = [];
  const server = createServer(async (request, response) => {
    const call = JSON.parse(await textOf(request)) as NodeCall;
    if (Array.isArray(call) && !takesBatches) return void response.end(NO_BATCHES);
    calls.push(...[call].flat());
    const body =
      call.method === "eth_chainId" ? result(call, `"${chainId()}"`) : script(call, response);
    if (body === undefined) return;
    response.writeHead(200, { "content-type": "application/json" }).end(body);
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
