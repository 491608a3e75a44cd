// The effect of hostile callers: the gateway's own memory and the slowest health check during each attack, and the
// memory after it. Takes about two minutes. `--seconds 15` sets the duration of each attack.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { waitedForCpuMs } from "../test/faults/watch.ts";
import { startGatewayProcess } from "../test/support/gateway-process.ts";
import { startGeneratedNode } from "../test/support/generated-chain/serve.ts";
import { GeneratedChain } from "../test/support/generated-chain.ts";
import { until } from "../test/support/processes.ts";
import type { AttackTarget } from "./attacks/attack.ts";
import { HealthCheck } from "./attacks/health-check.ts";
import type { Ordered } from "./attacks/ordered.ts";
import { fillStore } from "./fill-store.ts";
import { startServer, stopAll } from "./measure.ts";
import { memory } from "./process-cost.ts";

const { values } = parseArgs({ options: { seconds: { type: "string", default: "15" } } });
const seconds = Number(values.seconds);
/** Blocks of 10 logs each: a query for all of them is near the most logs of one answer. */
const BLOCKS = 990;

process.on("exit", stopAll);
const folder = mkdtempSync(join(tmpdir(), "headgate-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const chain = new GeneratedChain({ seed: 3, transactions: [5, 5], logs: [10, 10], busy: 1 });
await fillStore(join(folder, "data", "stored"), { chain, blocks: BLOCKS });
const node = await startGeneratedNode(chain);
const upstream = await startServer("upstream");
const gateway = await startGatewayProcess({
  data: join(folder, "data"),
  log: { level: "info" },
  keys: [
    { name: "server", key: "server-key" },
    {
      name: "page",
      key: "page-key",
      profile: "browser",
      origins: ["https://app.example"],
      rate: { computeUnits: 2000 },
    },
  ],
  networks: {
    stored: {
      family: "evm",
      chainId: 1,
      upstreams: [{ url: node.url }],
      window: { blocks: BLOCKS },
    },
    passed: {
      family: "evm",
      chainId: 1,
      upstreams: [{ url: upstream.url }],
      window: { blocks: 0 },
    },
  },
});
process.on("exit", () => gateway.process.kill("SIGKILL"));
const call = async (network: string, method: string, params: readonly unknown[]) => {
  const response = await fetch(gateway.endpoint(network, "server-key"), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  return { source: response.headers.get("x-headgate-source"), text: await response.text() };
};
await until("the chain is followed", async () => {
  const { source } = await call("stored", "eth_blockNumber", []);
  return source === "store";
});
const filter = {
  fromBlock: `0x${(chain.head.number - BLOCKS + 2).toString(16)}`,
  toBlock: `0x${chain.head.number.toString(16)}`,
};
const logs = await call("stored", "eth_getLogs", [filter]);
console.log(
  `one answer: ${(logs.text.length / 2 ** 20).toFixed(1)} MiB, ${logs.text.split('"logIndex"').length - 1} logs`,
);

const target = (network: string, key: string): AttackTarget => ({
  url: gateway.url,
  network,
  key,
  localAddress: "127.0.0.2",
});

console.log(
  "attack | own memory before, most, after 5 s (MiB) | slowest health check, and time without a core (ms)",
);
const byServer = target("stored", "server-key");
await measure("8 connections, batches of 100 log queries, unread", {
  kind: "unread batches",
  target: byServer,
  options: { connections: 8, members: 100, filter },
});
const headers = "Origin: https://app.example\r\n";
await measure("the same with a browser's key, batches of 20", {
  kind: "unread batches",
  target: target("stored", "page-key"),
  options: { connections: 8, members: 20, filter, headers },
});
const passed = target("passed", "server-key");
for (const reads of [true, false])
  await measure(
    `64 connections, batches of 100 forwarded calls of 1 MB, ${reads ? "read" : "unread"}`,
    {
      kind: "forwarded storm",
      target: passed,
      options: { connections: 64, members: 100, method: "eth_getLogs", reads },
    },
  );
await gateway.stop();
await node.close();
process.exit();

/** Runs an attack in a process of its own, so that the attacker does not slow down the measurement. */
async function measure(name: string, ordered: Ordered): Promise<void> {
  const own = (): number => memory(gateway.process.pid ?? 0).own / 2 ** 20;
  const before = own();
  const waitedBefore = waitedForCpuMs(gateway);
  let most = before;
  const health = new HealthCheck({ url: `${gateway.url}/healthz` });
  const looking = setInterval(() => {
    most = Math.max(most, own());
  }, 50);
  health.start();
  const attacker = fork(new URL("attacks/ordered.ts", import.meta.url).pathname);
  const ended = once(attacker, "exit");
  attacker.send({ ...ordered, seconds });
  await ended;
  health.stop();
  clearInterval(looking);
  const slowest = health.takeSlowestMs();
  const waited = waitedForCpuMs(gateway) - waitedBefore;
  await pause(5_000);
  const figures = [before, most, own()].map((value) => value.toFixed(0)).join(", ");
  console.log(`${name} | ${figures} | ${slowest.toFixed(0)}, ${waited.toFixed(0)}`);
}
