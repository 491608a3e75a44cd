// Keys in headers, over the real process: calls, WebSockets, event streams, and requests of web pages.
import { once } from "node:events";
import { FetchRequest, JsonRpcProvider } from "ethers";
import { createPublicClient, http } from "viem";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

let node: ScriptedNode;
let gateway: RunningGateway;
let url: string;

beforeAll(async () => {
  node = await startScriptedNode((call) => result(call, '"0x10"'));
  const network = { family: "evm", chainId: 1, upstreams: [{ url: node.url }] };
  gateway = await startGatewayProcess({
    keys: [
      { name: "test", key: "test-key" },
      { name: "page", key: "page-key", origins: ["https://*.example.com"] },
    ],
    networks: { main: { ...network, window: { blocks: 0 } } },
  });
  url = `${gateway.url}/main/v1`;
});
afterAll(async () => {
  await gateway.stop();
  await node.close();
});

const post = async (
  at: string,
  headers: Record<string, string>,
): Promise<{ status: number; text: string }> => {
  const response = await fetch(at, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}',
  });
  return { status: response.status, text: await response.text() };
};

const ANSWER = '{"jsonrpc":"2.0","id":1,"result":"0x10"}';

describe("a key in a header", () => {
  it.each([
    [{ authorization: "Bearer test-key" }, "", 200, ANSWER],
    [{ "x-api-key": "test-key" }, "", 200, ANSWER],
    [{ "x-api-key": "test-key" }, "/test-key", 200, ANSWER],
    [{ authorization: "Basic b3BlbjpzZXNhbWU=" }, "/test-key", 200, ANSWER],
    [{ authorization: "Bearer wrong-key" }, "", 401, "invalid API key"],
    [{ authorization: "Basic b3BlbjpzZXNhbWU=" }, "", 401, "missing API key"],
    [{ authorization: "Bearer page-key" }, "/test-key", 400, "the request names two API keys"],
    [{ authorization: "Bearer page-key", "x-api-key": "test-key" }, "", 400, "two API keys"],
  ])("%j and the path %j: %i", async (headers, path, status, text) => {
    const answer = await post(url + path, headers as Record<string, string>);
    expect(answer).toEqual({ status, text: expect.stringContaining(text) });
  });

  it("is sent by viem and ethers", async () => {
    const fetchOptions = { headers: { "x-api-key": "test-key" } };
    const viem = createPublicClient({ transport: http(url, { fetchOptions }) });
    expect(await viem.getGasPrice()).toBe(16n);
    const request = new FetchRequest(url);
    request.setHeader("Authorization", "Bearer test-key");
    const ethers = new JsonRpcProvider(request, 1, { staticNetwork: true });
    expect(await ethers.send("eth_gasPrice", [])).toBe("0x10");
    ethers.destroy();
  });

  it("opens a WebSocket, and a stream of events is refused for its subscription alone", async () => {
    const headers = { authorization: "Bearer test-key" };
    const socket = new WebSocket(url.replace("http", "ws"), { headers });
    await once(socket, "open");
    socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}');
    expect(String((await once(socket, "message"))[0])).toBe(ANSWER);
    socket.close();
    const wrong = new WebSocket(`${url}/page-key`.replace("http", "ws"), { headers });
    const [, refused] = await once(wrong, "unexpected-response");
    expect(refused.statusCode).toBe(400);
    wrong.on("error", () => undefined).terminate();
    const events = await fetch(`${url}/events?stream=nothing`, { headers });
    expect(await events.text()).toContain("no such subscription kind");
  });

  it("may be sent by pages, and is held to its origins", async () => {
    const origin = "https://app.example.com";
    const asked = await fetch(url, {
      method: "OPTIONS",
      headers: {
        origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-api-key",
      },
    });
    expect(asked.status).toBe(204);
    expect(asked.headers.get("access-control-allow-origin")).toBe("*");
    expect(asked.headers.get("access-control-allow-headers")).toMatch(/Authorization, X-Api-Key/);
    const key = { "x-api-key": "page-key" };
    expect((await post(url, { origin, ...key })).status).toBe(200);
    expect((await post(url, { origin: "https://evil.example", ...key })).status).toBe(403);
  });

  it("is in no log", () => {
    expect(JSON.stringify(gateway.log)).not.toMatch(/test-key|page-key|wrong-key/);
  });
});
