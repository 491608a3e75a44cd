// The scope of keys: permitted calls, contracts, origins and addresses, against the real process over a real node.
import { isDeepStrictEqual } from "node:util";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anvilCommand } from "../../packages/devnet/src/node-process.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, type Envelope, post } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { stopwatch } from "../support/served-time.ts";

const isHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;

const REJECTED = { code: -32002, message: "rejected by API key settings" };
const NOT_FOR_KEY = { code: -32004, message: "method not available for this key" };
const PAGE = "https://app.example.com";

describe.skipIf(!isHere)("the scope of a key", () => {
  let anvil: AnvilNode;
  let gateway: RunningGateway;

  const keys = () => [
    { name: "test", key: "test-key" },
    { name: "elsewhere", key: "elsewhere-key", networks: ["other"] },
    { name: "page", key: "page-key", origins: ["*.example.com"] },
    { name: "office", key: "office-key", addresses: ["192.0.2.0/24", "2001:db8::/32"] },
    { name: "local", key: "local-key", addresses: ["127.0.0.1", "::1"] },
    { name: "narrow", key: "narrow-key", methods: ["eth_get*", "web3_sha3"] },
    { name: "reader", key: "reader-key", readOnly: true },
    { name: "bound", key: "bound-key", contracts: [anvil.emitter] },
    { name: "small", key: "small-key", limits: { batch: 2, logs: { blocks: 2 } } },
  ];

  beforeAll(async () => {
    anvil = (await startAnvil()) as AnvilNode;
    const allow = ["eth_*", "net_*", "web3_*", "debug_traceCall", "anvil_setBalance"];
    const upstreams = [{ url: anvil.url }];
    const network = { family: "evm", chainId: anvil.chainId, upstreams, methods: { allow } };
    gateway = await startGatewayProcess({
      listen: { port: 0, trustedProxies: ["127.0.0.1", "::1"] },
      keys: keys(),
      networks: { main: network, other: network },
    });
  });

  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    anvil.close();
  });

  const call = (method: string, params: readonly unknown[] = []): string =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });

  const send = async (
    key: string,
    body: string,
    headers: Record<string, string> = {},
  ): Promise<{ status: number; error: Envelope["error"]; allowOrigin: string | null }> => {
    const response = await post(gateway.endpoint("main", key), body, headers);
    const { error } = (await response.json()) as Envelope;
    const allowOrigin = response.headers.get("access-control-allow-origin");
    return { status: response.status, error, allowOrigin };
  };

  describe("forbids a request", () => {
    it.each([
      ["networks", "elsewhere-key", {}],
      ["origins", "page-key", {}],
      ["origins", "page-key", { origin: "https://example.com" }],
      ["addresses", "office-key", {}],
      ["addresses", "office-key", { "x-forwarded-for": "203.0.113.1" }],
      ["addresses", "office-key", { "x-forwarded-for": "192.0.2.1, 203.0.113.1" }],
      ["addresses", "office-key", { forwarded: "for=192.0.2.1" }],
      ["addresses", "local-key", { "x-forwarded-for": "203.0.113.1" }],
    ])("by its %s: %s %j", async (rule, key, headers) => {
      const told = await send(key, call("eth_chainId"), headers as Record<string, string>);
      expect(told.status).toBe(403);
      expect(told.error).toEqual({ ...REJECTED, data: { rule } });
    });

    it.each([
      ["page-key", { origin: PAGE }],
      ["office-key", { "x-forwarded-for": "192.0.2.1" }],
      ["office-key", { "x-forwarded-for": "203.0.113.1, [2001:db8::1]:4711" }],
      ["local-key", {}],
    ])("and none that the rules let in: %s %j", async (key, headers) => {
      const told = await send(key, call("eth_chainId"), headers as Record<string, string>);
      expect(told).toMatchObject({ status: 200, error: undefined });
    });

    it("before the content type and the body are looked at", async () => {
      const told = await send("elsewhere-key", "{", { "content-type": "text/plain" });
      expect(told).toMatchObject({ status: 403, error: REJECTED });
    });
  });

  describe("towards pages", () => {
    it("names the page that may call, and none that may not", async () => {
      expect(await send("page-key", call("eth_chainId"), { origin: PAGE })).toMatchObject({
        status: 200,
        allowOrigin: PAGE,
      });
      expect(await send("page-key", "[]", { origin: "https://x.org" })).toMatchObject({
        status: 403,
        allowOrigin: null,
      });
      expect(await send("unknown-key", "[]", { origin: PAGE })).toMatchObject({
        status: 401,
        allowOrigin: "*",
      });
    });

    it.each([
      ["page-key", PAGE, PAGE],
      ["page-key", "https://x.org", null],
      ["test-key", "https://x.org", "*"],
      ["unknown-key", "https://x.org", "*"],
    ])("answers the preflight of %s from %s with %s", async (key, origin, want) => {
      const url = gateway.endpoint("main", key);
      const response = await fetch(url, { method: "OPTIONS", headers: { origin } });
      expect(response.status).toBe(204);
      expect(response.headers.get("access-control-allow-origin")).toBe(want);
    });
  });

  describe("forbids a call", () => {
    it.each([
      ["methods", "narrow-key", "eth_call", [{}]],
      ["readOnly", "reader-key", "eth_sendRawTransaction", ["0x00"]],
      ["readOnly", "reader-key", "eth_sendRawTransactionSync", ["0x00"]],
      ["readOnly", "reader-key", "anvil_setBalance", [`0x${"11".repeat(20)}`, "0x1"]],
    ])("by its %s: %s %s", async (rule, key, method, params) => {
      const told = await send(key, call(method, params));
      expect(told.status).toBe(403);
      expect(told.error).toEqual({ ...NOT_FOR_KEY, data: { rule } });
    });

    it("of a contract that is not listed, or cannot be told", async () => {
      const { emitter, reverter } = anvil;
      const asked: [string, unknown[]][] = [
        ["eth_call", [{ to: reverter }]],
        ["eth_call", [{ data: "0x00" }]],
        ["eth_call", [{ to: emitter, TO: reverter }]],
        ["eth_call", [{ to: emitter }, "latest", { [emitter]: { code: "0x00" } }]],
        ["eth_estimateGas", [{ to: reverter }]],
        ["eth_getCode", [reverter, "latest"]],
        ["eth_getStorageAt", [reverter, "0x0", "latest"]],
        ["eth_getLogs", [{ fromBlock: "0x1" }]],
        ["eth_getLogs", [{ address: [emitter, reverter] }]],
        ["eth_newFilter", [{}]],
        ["eth_getBlockReceipts", ["latest"]],
        ["debug_traceCall", [{ to: reverter }, "latest"]],
        ["eth_simulateV1", [{ blockStateCalls: [{ calls: [{ to: reverter }] }] }]],
      ];
      for (const [method, params] of asked) {
        const told = await send("bound-key", call(method, params));
        expect([method, told.status, told.error]).toEqual([
          method,
          403,
          { ...REJECTED, data: { rule: "contracts" } },
        ]);
      }
    });

    it("of no other: listed contracts are answered, in any case of letters", async () => {
      const url = gateway.endpoint("main", "bound-key");
      const shouted = `0x${anvil.emitter.slice(2).toUpperCase()}`;
      const logs = await ask(url, "eth_getLogs", [{ fromBlock: "0x1", address: [shouted] }]);
      expect(logs.result).toHaveLength(5);
      expect((await ask(url, "eth_getCode", [shouted, "latest"])).result).not.toBe("0x");
      expect(
        (await ask(url, "eth_call", [{ to: anvil.emitter, data: "0x" }])).error,
      ).toBeUndefined();
      const [transaction] = anvil.transactions;
      expect((await ask(url, "eth_getTransactionReceipt", [transaction])).result).toBeTruthy();
      const filter = await ask(url, "eth_newFilter", [{ address: anvil.emitter }]);
      expect((await ask(url, "eth_getFilterChanges", [filter.result])).result).toEqual([]);
    });

    it("by itself, in a batch", async () => {
      const batch = `[${call("eth_getCode", [anvil.reverter, "latest"])},${call("eth_chainId")}]`;
      const response = await post(gateway.endpoint("main", "bound-key"), batch);
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject([
        { error: { ...REJECTED, data: { rule: "contracts" } } },
        { result: `0x${anvil.chainId.toString(16)}` },
      ]);
    });

    it("that its description offers to nobody", async () => {
      const told = await ask(gateway.endpoint("main", "reader-key"), "rpc.discover");
      const names = (told.result as { methods: { name: string }[] }).methods.map(
        ({ name }) => name,
      );
      expect(names).toContain("eth_call");
      expect(names).not.toContain("eth_sendRawTransaction");
    });
  });

  describe("limits", () => {
    it("the batch", async () => {
      const [one] = [call("eth_chainId")];
      const two = await post(gateway.endpoint("main", "small-key"), `[${one},${one}]`);
      expect(two.status).toBe(200);
      const three = await send("small-key", `[${one},${one},${one}]`);
      const data = { rule: "batch", limit: 2 };
      expect(three).toMatchObject({ status: 413, error: { code: -32600, data } });
      expect(three.error?.message).toBe("batch too large");
    });

    it("the range of log queries", async () => {
      const told = await send(
        "small-key",
        call("eth_getLogs", [{ fromBlock: "0x1", toBlock: "0x3" }]),
      );
      expect(told).toMatchObject({ status: 200, error: { code: -32602 } });
      expect(told.error).toMatchObject({
        message: "exceed maximum block range 2",
        data: { rule: "logs", limit: 2 },
      });
    });
  });

  it("is told with what a key did: what refused its requests, by the setting", async () => {
    const url = `${gateway.metricsUrl.replace("/metrics", "")}/usage?rows=none`;
    await until("all is written", async () => {
      const bill = (await (await fetch(url)).json()) as {
        readonly keys: Readonly<Record<string, Readonly<Record<string, number>>>>;
      };
      const counted = [
        bill.keys["elsewhere"]?.["refusedNetworks"],
        bill.keys["page"]?.["refusedOrigins"],
        bill.keys["office"]?.["refusedAddresses"],
        bill.keys["local"]?.["refusedAddresses"],
        bill.keys["small"]?.["refusedBatches"],
        bill.keys["small"]?.["refused"],
      ];
      return isDeepStrictEqual(counted, [2, 3, 4, 1, 1, 1]);
    });
  });

  describe("guessing keys", () => {
    const from = (address: string) => ({ "x-forwarded-for": address });
    const guess = (address: string) => send("guessed-key", call("eth_chainId"), from(address));

    it("is slowed for each address, in the same words, and known keys are not", async () => {
      const address = "198.51.100.7";
      for (let count = 0; count < 10; count += 1) await guess(address);
      const startedAt = performance.now();
      const elapsedMs = stopwatch(gateway.process);
      for (let count = 0; count < 4; count += 1) {
        const { status, error } = await guess(address);
        expect([status, error]).toEqual([401, { code: -32000, message: "invalid API key" }]);
      }
      expect(performance.now() - startedAt).toBeGreaterThan(1_400); // 100 + 200 + 400 + 800
      expect(elapsedMs()).toBeLessThan(15_000);

      const ended: string[] = [];
      const slow = guess(address).then(() => ended.push("guess"));
      const known = send("test-key", call("eth_chainId"), from(address));
      const stranger = guess("198.51.100.8");
      await Promise.all([
        slow,
        known.then(({ status }) => ended.push(`known ${status}`)),
        stranger.then(() => ended.push("stranger")),
      ]);
      expect(ended.slice(0, 2).sort()).toEqual(["known 200", "stranger"]);
      expect(ended[2]).toBe("guess");
    });

    it("by preflights is slowed as well, and a missing key is no guess", async () => {
      const address = "198.51.100.9";
      for (let count = 0; count < 10; count += 1) await guess(address);
      for (let count = 0; count < 20; count += 1)
        expect(await send("", call("eth_chainId"), from(address))).toMatchObject({ status: 401 });
      const startedAt = performance.now();
      const url = gateway.endpoint("main", "guessed-key");
      const headers = { ...from(address), origin: PAGE };
      await fetch(url, { method: "OPTIONS", headers });
      await fetch(url, { method: "OPTIONS", headers });
      expect(performance.now() - startedAt).toBeGreaterThan(290);
    });

    it("is counted", async () => {
      const metrics = await (await fetch(gateway.metricsUrl)).text();
      const count = (refused: string): number =>
        Number(
          new RegExp(`headgate_key_guesses_total\\{refused="${refused}"\\} (\\d+)`).exec(
            metrics,
          )?.[1],
        );
      expect(count("delayed")).toBe(7);
      expect(count("at once")).toBeGreaterThanOrEqual(21);
    });
  });

  it("knows a stranger by the socket, where no proxy is trusted", async () => {
    const upstreams = [{ url: anvil.url }];
    const network = { family: "evm", chainId: anvil.chainId, upstreams, window: { blocks: 0 } };
    const alone = await startGatewayProcess({
      keys: keys().filter(({ name }) => name === "office" || name === "local"),
      networks: { main: network },
    });
    const headers = { "x-forwarded-for": "192.0.2.1" };
    const office = await post(alone.endpoint("main", "office-key"), call("eth_chainId"), headers);
    expect(office.status).toBe(403);
    const local = await post(alone.endpoint("main", "local-key"), call("eth_chainId"), headers);
    expect(local.status).toBe(200);
    await alone.stop();
  });
});
