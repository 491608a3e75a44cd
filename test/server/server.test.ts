// The table of docs/errors.md, line by line, against the real process.
import { request } from "node:http";
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const SHA3 = '{"jsonrpc":"2.0","id":1,"method":"web3_sha3","params":["0x"]}';
const EMPTY_HASH = "0xc5d2460186f7233c927e7db2dcc703c0e500b653ca82273b7bfad8045d85a470";

let node: ScriptedNode;
let gateway: RunningGateway;
let url: string;

beforeAll(async () => {
  node = await startScriptedNode((call) =>
    result(call, call.method === "eth_getCode" ? `"0x${"60".repeat(5000)}"` : '"0x10"'),
  );
  const network = { family: "evm", chainId: 1, upstreams: [{ url: node.url }] };
  gateway = await startGatewayProcess({
    limits: { body: "64KiB", batch: 5 },
    keys: [
      { name: "test", key: "test-key" },
      { name: "old", key: "old-key", expires: "2020-01-01T00:00:00Z" },
      { name: "page", key: "page-key", origins: ["https://*.example.com"] },
      { name: "narrow", key: "narrow-key", networks: ["other"], methods: ["web3_*"] },
      { name: "slow", key: "slow-key", rate: { computeUnits: 1, burst: 2 } },
    ],
    networks: {
      "eth-main": network,
      other: { ...network, hosts: ["rpc.example.com"] },
    },
  });
  url = gateway.endpoint("eth-main");
});

afterAll(async () => {
  expect(await gateway.stop()).toBe(0);
  await node.close();
});

const envelope = async (response: Response): Promise<Record<string, unknown>> =>
  (await response.json()) as Record<string, unknown>;

describe("a body", () => {
  it.each([
    ["", 400, -32700],
    ["{", 400, -32700],
    ["\ufeff{}", 400, -32700],
    ["{}", 400, -32600],
    ["1", 400, -32600],
    ["[]", 400, -32600],
    ["[1,2,3,4,5,6]", 413, -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"m"}', 400, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"m","params":{}}', 400, -32600],
    [`"${"x".repeat(70_000)}"`, 413, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"nope"}', 200, -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"admin_peers"}', 200, -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"eth_sendTransaction","params":[{}]}', 200, -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"debug_traceTransaction","params":[]}', 200, -32601],
    ['{"jsonrpc":"2.0","id":1,"method":"web3_sha3"}', 400, -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"web3_sha3","params":["0x1"]}', 400, -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"eth_getCode"}', 200, -32602],
  ])("%.60s answers %i and %i", async (body, status, code) => {
    const response = await post(url, body);
    expect(response.status).toBe(status);
    expect(response.headers.get("x-request-id")).toMatch(/^[0-9a-f]+-/);
    expect(await envelope(response)).toMatchObject({ jsonrpc: "2.0", error: { code } });
  });

  it.each(["1", "90071992547409931", '"a\\u0062"', '"\\ud83d"', "null", "-0"])(
    "gets its id %s back byte for byte",
    async (id) => {
      const response = await post(url, SHA3.replace('"id":1', `"id":${id}`));
      expect(await response.text()).toBe(`{"jsonrpc":"2.0","id":${id},"result":"${EMPTY_HASH}"}`);
    },
  );

  it.each([
    ["gzip", gzipSync(SHA3)],
    ["x-gzip", gzipSync(SHA3)],
    ["br", brotliCompressSync(SHA3)],
    ["deflate", deflateSync(SHA3)],
    ["deflate", deflateRawSync(SHA3)],
    ["identity", Buffer.from(SHA3)],
  ])("may come as %s", async (encoding, body) => {
    const response = await post(url, Uint8Array.from(body), { "content-encoding": encoding });
    expect(await envelope(response)).toMatchObject({ result: EMPTY_HASH });
  });

  it.each([
    ["gzip", gzipSync("x".repeat(70_000)), 413],
    ["gzip", Buffer.from("no gzip"), 400],
    ["zstd", Buffer.from(SHA3), 415],
  ])("that is %s and bad answers %#", async (encoding, body, status) => {
    const response = await post(url, Uint8Array.from(body), { "content-encoding": encoding });
    expect(response.status).toBe(status);
  });

  it.each([
    ["application/json; charset=utf-8", 200],
    ["application/json-rpc", 200],
    ["application/jsonrequest", 200],
    ["Application/JSON", 200],
    ["text/plain", 415],
    ["application/jsonx", 415],
  ])("of type %s answers %i", async (type, status) => {
    expect((await post(url, SHA3, { "content-type": type })).status).toBe(status);
  });
});

describe("a batch", () => {
  it("is answered in the order asked, each member for itself", async () => {
    const bad = '{"jsonrpc":"2.0","id":"x","method":"web3_sha3","params":["0x1"]}';
    const response = await post(url, `[${SHA3},7,${bad},${SHA3.replace('"id":1', '"id":9')}]`);
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject([
      { id: 1, result: EMPTY_HASH },
      { id: null, error: { code: -32600 } },
      { id: "x", error: { code: -32602 } },
      { id: 9, result: EMPTY_HASH },
    ]);
  });

  it("sees one head: `latest` is asked once and sent as a number", async () => {
    const before = node.calls.length;
    const code = (id: number): object => ({
      jsonrpc: "2.0",
      id,
      method: "eth_getCode",
      params: [`0x${String(id).repeat(40)}`, "latest"],
    });
    const head = { jsonrpc: "2.0", id: 3, method: "eth_blockNumber", params: [] };
    const response = await post(url, JSON.stringify([code(1), code(2), head]));
    expect(await response.json()).toMatchObject([{ id: 1 }, { id: 2 }, { id: 3, result: "0x10" }]);
    const calls = node.calls.slice(before);
    expect(calls.filter(({ method }) => method === "eth_blockNumber")).toHaveLength(1);
    expect(
      calls.filter(({ method }) => method === "eth_getCode").map(({ params }) => params[1]),
    ).toEqual(["0x10", "0x10"]);
  });
});

describe("a network", () => {
  const statusFor = (host: string, path: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(gateway.url);
      const headers = { host, "content-type": "application/json" };
      const call = request({ hostname, port, path, method: "POST", headers }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      call.on("error", reject);
      call.end(SHA3);
    });

  it.each([
    ["eth-main.example.org", "/v1/test-key", 200],
    ["ETH-MAIN.example.org:8545", "/v1/test-key", 200],
    ["rpc.example.com", "/v1/test-key", 200],
    ["anything", "/eth-main/v1/test-key", 200],
    ["anything", "/v1/test-key", 404],
    ["other.example.com", "/v1/test-key", 404],
    ["anything", "/nope/v1/test-key", 404],
    ["eth-main.example.org", "/v1", 401],
    ["eth-main.example.org", "/v1/", 401],
    ["eth-main.example.org", "/", 404],
  ])("is found by %s%s: %i", async (host, path, status) => {
    expect(await statusFor(host, path)).toBe(status);
  });
});

describe("a key", () => {
  it.each([
    ["", 401, -32000, "missing API key"],
    ["wrong", 401, -32000, "invalid API key"],
    ["old-key", 401, -32000, "invalid API key"],
    ["narrow-key", 403, -32002, "rejected by API key settings", { rule: "networks" }],
    ["page-key", 403, -32002, "rejected by API key settings", { rule: "origins" }],
  ])("`%s` answers %i", async (key, status, code, message, data?: object) => {
    const response = await post(gateway.endpoint("eth-main", key), SHA3);
    expect(response.status).toBe(status);
    expect(await envelope(response)).toEqual({
      jsonrpc: "2.0",
      id: null,
      error: data ? { code, message, data } : { code, message },
    });
  });

  it("has methods of its own", async () => {
    const other = SHA3.replace("web3_sha3", "eth_chainId");
    const response = await post(gateway.endpoint("other", "narrow-key"), other);
    expect(response.status).toBe(403);
    expect(await envelope(response)).toMatchObject({ id: 1, error: { code: -32004 } });
    const batch = await post(gateway.endpoint("other", "narrow-key"), `[${other},${SHA3}]`);
    expect(batch.status).toBe(200);
    expect(await batch.json()).toMatchObject([{ error: { code: -32004 } }, { result: EMPTY_HASH }]);
  });

  it("bound to a page's origin lets that page call", async () => {
    const origin = "https://app.example.com";
    const response = await post(gateway.endpoint("eth-main", "page-key"), SHA3, { origin });
    expect(response.status).toBe(200);
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
    expect(response.headers.get("vary")).toContain("Origin");
  });

  it("with a rate answers 429 and says when to come back", async () => {
    const slow = gateway.endpoint("eth-main", "slow-key");
    const responses = await Promise.all([post(slow, SHA3), post(slow, SHA3), post(slow, SHA3)]);
    const refused = responses.find(({ status }) => status === 429);
    expect(Number(refused?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(refused?.headers.get("x-ratelimit-limit")).toBe("1");
    expect(refused && (await envelope(refused))).toMatchObject({
      id: 1,
      error: { code: -32005, data: { limit: 1, remaining: 0, retryAfter: expect.any(Number) } },
    });
  });
});

describe("other verbs", () => {
  it.each(["GET", "PUT", "DELETE", "HEAD"])("%s answers 405", async (method) => {
    const response = await fetch(url, { method });
    expect(response.status).toBe(405);
    expect(response.headers.get("allow")).toBe("POST, OPTIONS");
  });

  it("OPTIONS answers a browser's question", async () => {
    const response = await fetch(url, { method: "OPTIONS", headers: { origin: "https://x.org" } });
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-allow-methods")).toContain("POST");
    const asking = { origin: "https://x.org", "access-control-request-headers": "x-viem, a b" };
    const asked = await fetch(url, { method: "OPTIONS", headers: asking });
    const allowed = asked.headers.get("access-control-allow-headers");
    expect(allowed?.split(", ")).toEqual(expect.arrayContaining(["Content-Type", "x-viem"]));
    expect(allowed).not.toContain("a b");
    const narrow = await fetch(gateway.endpoint("eth-main", "page-key"), {
      method: "OPTIONS",
      headers: { origin: "https://x.org" },
    });
    expect(narrow.headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("an answer", () => {
  const code = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "eth_getCode",
    params: [`0x${"11".repeat(20)}`, "0x1"],
  });

  it("is compressed when asked for and worth it", async () => {
    const response = await post(url, code, { "accept-encoding": "br;q=1, gzip" });
    expect(response.headers.get("content-encoding")).toBe("gzip");
    expect(await envelope(response)).toMatchObject({ result: `0x${"60".repeat(5000)}` });
    const small = await post(url, SHA3, { "accept-encoding": "gzip" });
    expect(small.headers.get("content-encoding")).toBeNull();
  });

  it("is not compressed when gzip is refused", async () => {
    const response = await post(url, code, { "accept-encoding": "gzip;q=0, identity" });
    expect(response.headers.get("content-encoding")).toBeNull();
  });
});

describe("the service", () => {
  it("says that it lives and is ready", async () => {
    expect((await fetch(`${gateway.url}/healthz`)).status).toBe(200);
    expect((await fetch(`${gateway.url}/readyz`)).status).toBe(503); // "0x10" is no block
  });

  it("tells who balances callers that it ends, and answers callers meanwhile", async () => {
    const upstreams = [{ url: node.url }];
    const leaving = await startGatewayProcess({
      timeouts: { leave: "700ms" },
      networks: { main: { family: "evm", chainId: 1, window: { blocks: 0 }, upstreams } },
    });
    expect(await (await fetch(`${leaving.url}/readyz`)).text()).not.toContain("draining");
    const ended = leaving.stop();
    await until("it leaves", async () => leaving.log.some(({ msg }) => msg?.startsWith("leaving")));
    const ready = await fetch(`${leaving.url}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([503, "draining\n"]);
    const answered = await post(leaving.endpoint("main"), SHA3);
    expect([answered.status, answered.headers.get("connection")]).toEqual([200, "close"]);
    expect(await ended).toBe(0);
  });

  it("counts calls, and tells no key", async () => {
    const text = await (await fetch(gateway.metricsUrl)).text();
    expect(text).toMatch(
      /headgate_calls_total\{network="eth-main",method="web3_sha3",outcome="ok"\} \d+/,
    );
    expect(text).toMatch(/headgate_upstream_call_seconds_count/);
    expect(text).not.toContain("test-key");
    expect(JSON.stringify(gateway.log)).not.toContain("test-key");
  });
});
