// Secrets must not leak: keys, tokens, and the URLs of nodes and of the shared state. The test searches all output of a
// gateway that answers, refuses, fails and reloads.
import { readFile } from "node:fs/promises";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { post } from "../support/ask.ts";
import { type GatewaySettings, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { hasRedis, type RedisServer, startRedis } from "../support/redis-server.ts";
import { type SlowNode, startSlowNode } from "./slow-node.ts";

let anvil: AnvilNode | undefined;
let node: SlowNode;
let redis: RedisServer | undefined;

beforeAll(async () => {
  anvil = await startAnvil();
  if (hasRedis) redis = await startRedis(`requirepass ${secret("state-word", "1")}`);
  if (anvil) node = await startSlowNode(anvil.url);
});
afterAll(async () => {
  await redis?.close();
  node?.close();
  anvil?.close();
});

/** A different secret for each use, so that a leak shows its origin. */
const secret = (what: string, version: string): string => `${what}-s3cr3t-${version}`;

const settings = (version: string, changed: object = {}): GatewaySettings => {
  const of = (what: string): string => secret(what, version);
  return {
    ...(redis && { state: `redis://:${secret("state-word", "1")}@127.0.0.1:${redis.port}` }),
    admin: { listen: { port: 0 }, token: `${of("admin-token")}-0123456789` },
    log: { level: "trace" },
    keys: [{ name: "app", key: of("key") }],
    keySecret: secret("key-pepper-0123456789", "1"),
    networks: {
      main: {
        family: "evm",
        chainId: anvil?.chainId,
        upstreams: [
          {
            name: "good",
            url: `${node.url}/${of("path")}?apikey=${of("query")}`,
            headers: { authorization: `Bearer ${of("header")}` },
          },
          { name: "dead", url: `http://${of("user")}:${of("word")}@127.0.0.1:1/${of("dead")}` },
          { name: "dumb", url: `ws://127.0.0.1:1/${of("socket")}` },
        ],
      },
    },
    ...changed,
  };
};

it("says no secret to anybody", async (context) => {
  if (!anvil) return context.skip();
  const gateway = await startGatewayProcess(settings("1"));
  const heard: string[] = [];
  const hear = async (response: Response): Promise<void> => {
    const headers = [...response.headers].map((header) => header.join(": "));
    heard.push([response.status, ...headers, await response.text()].join("\n"));
  };
  const admin = gateway.metricsUrl.replace(/\/metrics$/, "");
  const operate = async (version: string, path: string, init: RequestInit = {}): Promise<void> => {
    const authorization = `Bearer ${secret("admin-token", version)}-0123456789`;
    const headers = { authorization, "content-type": "application/json" };
    await hear(await fetch(`${admin}${path}`, { ...init, headers }));
  };
  const call = async (key: string, body: string): Promise<void> =>
    hear(await post(gateway.endpoint("main", key), body));
  const callAll = async (version: string): Promise<void> => {
    for (const method of ["eth_blockNumber", "eth_newBlockFilter", "no_such", "headgate_usage"])
      await call(secret("key", version), JSON.stringify({ id: 1, jsonrpc: "2.0", method }));
    await call(secret("key", version), "{ no JSON");
    await call(secret("key", "unknown"), "{}");
    for (const path of ["/metrics", "/keys", "/status", "/nowhere"]) await operate(version, path);
    await operate("unknown", "/keys");
  };
  await callAll("1");
  await gateway.reload(settings("2"));
  await callAll("2");
  await redis?.kill();
  await callAll("2");
  await gateway.reload(
    settings("3", { state: `redis://:${secret("state-word", "3")}@127.0.0.1:1` }),
  );
  await gateway.reload(
    settings("4", { keys: [{ name: "app", key: `${secret("key", "4")} with spaces` }] }),
  );
  await gateway.reload(
    `admin: { token: "${secret("admin-token", "5")}" }\nkeys: ["${secret("key", "5")}"`,
  );
  await operate("2", "/reload", { method: "POST" });
  const { pid } = gateway.process;
  heard.push(
    await readFile(`/proc/${pid}/cmdline`, "utf8"),
    await readFile(`/proc/${pid}/comm`, "utf8"),
  );
  await gateway.stop();
  await until("the log is read", async () => gateway.process.stdout?.destroyed);
  const all = [...heard, ...gateway.log.map((line) => JSON.stringify(line))];
  expect(all.filter((text) => text.includes("s3cr3t"))).toEqual([]);
  // Checks the search itself: the output has what it should have.
  expect(all.join("\n")).toContain("networks.main.upstreams[0].url: changed");
  expect(all.join("\n")).toContain("headgate_upstream_usable");
});
