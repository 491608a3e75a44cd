// Requests to the admin API as curl sends them: without a body and without a Content-Length.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { openSocket, readToEnd } from "../support/raw-http.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

let node: ScriptedNode;
let gateway: RunningGateway;

beforeAll(async () => {
  node = await startScriptedNode((call) => result(call, '"0x10"'));
  const upstreams = [{ url: node.url, name: "node" }];
  gateway = await startGatewayProcess({
    networks: { main: { family: "evm", chainId: 1, window: { blocks: 0 }, upstreams } },
  });
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

async function send(path: string, headers: readonly string[], body = ""): Promise<string> {
  const socket = await openSocket(gateway.metricsUrl);
  const lines = [`POST ${path} HTTP/1.1`, "Host: localhost", "Connection: close", ...headers];
  socket.write(`${lines.join("\r\n")}\r\n\r\n${body}`);
  return readToEnd(socket);
}

const JSON_TYPE = "Content-Type: application/json";

describe("a request to the admin API", () => {
  it("that changes something may have no body at all", async () => {
    expect(await send("/reload", [JSON_TYPE])).toMatch(/^HTTP\/1.1 200 .*"changed":\[\]/s);
    expect(await send("/keys/nobody/revoke", [JSON_TYPE])).toMatch(/^HTTP\/1.1 404 /);
  });

  it("is refused where its body comes in chunks", async () => {
    const body = '11\r\n{"name":"chunked"}\r\n0\r\n\r\n';
    const told = await send("/keys", [JSON_TYPE, "Transfer-Encoding: chunked"], body);
    expect(told).toMatch(/^HTTP\/1.1 411 .*with a Content-Length/s);
  });

  it("is refused where its body would be too long, before it is read", async () => {
    expect(await send("/keys", [JSON_TYPE, "Content-Length: 65537"])).toMatch(/^HTTP\/1.1 413 /);
  });
});
