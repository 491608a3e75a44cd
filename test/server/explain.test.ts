// Explanations of answers, for callers with permission, and of slow and failed calls for operators.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { asker, TOKEN } from "../support/scripted-admin.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

let failing: ScriptedNode;
let good: ScriptedNode;
let gateway: RunningGateway;

const SECRET = "a-secret-in-the-path";
/** The gateway's own calls, at unknown moments: if the node failed at them, the gateway would not ask it first. */
const OF_THE_GATEWAY = ["eth_chainId", "eth_blockNumber", "eth_getBlockByNumber"];

beforeAll(async () => {
  failing = await startScriptedNode((call, response) => {
    if (OF_THE_GATEWAY.includes(call.method)) return result(call, '"0x10"');
    response.writeHead(500).end("out of order");
    return undefined;
  });
  good = await startScriptedNode((call, response) => {
    if (call.method !== "eth_getCode") return result(call, '"0x10"');
    response.writeHead(500).end("out of order");
    return undefined;
  });
  gateway = await startGatewayProcess({
    admin: { listen: { port: 0 }, token: TOKEN },
    keys: [
      { name: "test", key: "test-key" },
      { name: "curious", key: "curious-key", explain: true },
    ],
    tail: { calls: 5, slow: "30s" },
    networks: {
      main: {
        ...{ family: "evm", chainId: 1, window: { blocks: 0 }, hedging: { share: 0 } },
        upstreams: [
          { name: "failing", url: `${failing.url}/${SECRET}`, price: 1 },
          { name: "good", url: `${good.url}/${SECRET}`, price: 10 },
        ],
      },
    },
  });
  await until("both nodes are usable", async () => {
    return gateway.log.filter(({ msg }) => msg === "upstream is usable").length === 2;
  });
});
afterAll(async () => {
  await gateway.stop();
  await Promise.all([failing.close(), good.close()]);
});

const EXPLAIN = { "x-headgate-explain": "1" };
const balanceOf = (number: number) => ({
  jsonrpc: "2.0",
  id: number,
  method: "eth_getBalance",
  params: [`0x${number.toString(16).padStart(40, "0")}`, "latest"],
});
const explanation = (response: Response) =>
  JSON.parse(response.headers.get("x-headgate-explain") ?? "null");

describe("a caller that asks how its answer came about", () => {
  it("is told source, proof, cost and each node that was asked, in a header", async () => {
    const url = gateway.endpoint("main", "curious-key");
    const response = await post(url, JSON.stringify(balanceOf(1)), EXPLAIN);
    expect(await response.json()).toEqual({ jsonrpc: "2.0", id: 1, result: "0x10" });
    expect(explanation(response)).toMatchObject({
      ...{ method: "eth_getBalance", id: "1", outcome: "ok" },
      ...{ source: "upstream", proof: "none", computeUnits: 2 },
      steps: [{ step: "authorized" }, { step: "charged" }],
      asked: [
        { upstream: "failing", method: "eth_getBalance", kind: "failed", reason: "HTTP 500" },
        { upstream: "good", why: "failed", kind: "result" },
      ],
    });
    expect(response.headers.get("x-headgate-explain")).not.toContain(SECRET);
    expect(response.headers.get("x-headgate-explain")).not.toContain("127.0.0.1");
  });

  it("is told of what no node was asked for", async () => {
    const body = '{"jsonrpc":"2.0","id":"a","method":"eth_chainId"}';
    const response = await post(gateway.endpoint("main", "curious-key"), body, EXPLAIN);
    expect(explanation(response)).toMatchObject({ id: '"a"', source: "local", asked: [] });
  });

  it("is told of errors, and of equal calls that share an answer", async () => {
    const url = gateway.endpoint("main", "curious-key");
    const wrong = await post(url, '{"jsonrpc":"2.0","id":1,"method":"eth_getBalance"}', EXPLAIN);
    expect(explanation(wrong)).toMatchObject({ outcome: "refused", code: -32602 });
    const equal = [1, 2].map(() => ({ ...balanceOf(77), id: 7 }));
    const answers = await post(url, JSON.stringify(equal), EXPLAIN);
    const [one, other] = (await answers.json()) as { headgate_explain: object }[];
    expect(one?.headgate_explain).toMatchObject({
      source: "upstream",
      asked: expect.arrayContaining([expect.objectContaining({ kind: "result" })]),
    });
    expect(other?.headgate_explain).toMatchObject({ source: "merged", asked: [] });
  });

  it("is told within each member of a batch, of one member too, and each answer of a socket", async () => {
    const url = gateway.endpoint("main", "curious-key");
    for (const size of [1, 3]) {
      const calls = Array.from({ length: size }, (_, index) => balanceOf(100 + index));
      const response = await post(url, JSON.stringify([...calls, { id: 1 }]), EXPLAIN);
      expect(response.headers.get("x-headgate-explain")).toBeNull();
      const text = await response.text();
      expect(Buffer.byteLength(text)).toBe(Number(response.headers.get("content-length")));
      const members = JSON.parse(text) as { headgate_explain?: object; result?: string }[];
      for (const member of members.slice(0, size))
        expect(member).toMatchObject({ result: "0x10", headgate_explain: { outcome: "ok" } });
      expect(members.at(-1)).not.toHaveProperty("headgate_explain");
    }
    const lone = await post(url, JSON.stringify([balanceOf(200)]), EXPLAIN);
    expect(await lone.json()).toMatchObject([{ headgate_explain: { outcome: "ok" } }]);
    const socket = new WebSocket(url.replace("http:", "ws:"), { headers: EXPLAIN });
    socket.on("open", () => socket.send(JSON.stringify(balanceOf(300))));
    const told = await new Promise((resolve) => socket.on("message", resolve));
    socket.terminate();
    expect(JSON.parse(String(told))).toMatchObject({
      headgate_explain: { method: "eth_getBalance" },
    });
  });

  it("is told nothing where its key may not ask, or it does not", async () => {
    for (const [key, headers] of [
      ["test-key", EXPLAIN],
      ["curious-key", {}],
    ] as const) {
      const url = gateway.endpoint("main", key);
      const lone = await post(url, JSON.stringify(balanceOf(2)), headers);
      expect(lone.headers.get("x-headgate-explain")).toBeNull();
      const batch = await post(url, JSON.stringify([balanceOf(2), balanceOf(3)]), headers);
      expect(await batch.text()).not.toContain("headgate_explain");
    }
  });
});

describe("an operator", () => {
  it("reads the failed calls of late, as many as are kept, and of no others", async () => {
    const admin = asker((path, init) => fetch(gateway.metricsUrl.replace("/metrics", path), init));
    const code = (id: number) => ({ ...balanceOf(id), method: "eth_getCode" });
    await post(gateway.endpoint("main"), JSON.stringify(balanceOf(9)));
    for (let id = 0; id < 7; id += 1)
      await post(gateway.endpoint("main"), JSON.stringify(code(1_000 + id)));
    const { json } = await admin("GET", "/calls");
    const { calls } = json as { calls: { id: string; request: string }[] };
    expect(calls.map(({ id }) => id)).toEqual(["1006", "1005", "1004", "1003", "1002"]);
    expect(calls[0]).toMatchObject({ key: "test", network: "main", outcome: "unavailable" });
    await until("the log names the request", async () =>
      gateway.log.some((line) => line["request"] === calls[0]?.request),
    );
    expect(JSON.stringify(json)).not.toContain(SECRET);
  });
});
