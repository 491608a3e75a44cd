// The speed of the backfill with mainnet-sized blocks while the gateway serves 100 receipts a second, with latencies
// from the planned moment. The node is a process of its own (servers/mainnet.ts). Arguments: `FOLDER [CHAIN
// [WINDOW]]`; the folder keeps the chain for the next run, and both lengths are in blocks.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startGatewayProcess } from "../test/support/gateway-process.ts";
import { startServer, stopAll } from "./measure.ts";
import { cpuSeconds, memory } from "./process-cost.ts";

const [chains = tmpdir(), count = "1000", window = count] = process.argv.slice(2);
const blocks = Number(window);
process.on("exit", stopAll);
const folder = mkdtempSync(join(tmpdir(), "headgate-backfill-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));

const node = await startServer("mainnet", [chains, count]);
const running = await startGatewayProcess({
  data: join(folder, "data"),
  log: { level: "info" },
  networks: {
    stored: {
      family: "evm",
      chainId: 1,
      upstreams: [{ url: node.url }],
      window: { blocks, size: "64GiB" },
    },
  },
});
process.on("exit", () => running.process.kill("SIGKILL"));
const pid = running.process.pid ?? 0;

const ask = async (
  method: string,
  params: unknown[],
): Promise<{ ms: number; source: string | null; result: unknown }> => {
  const askedAt = performance.now();
  const response = await fetch(running.endpoint("stored"), {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
  });
  const { result } = (await response.json()) as { result: unknown };
  return {
    ms: performance.now() - askedAt,
    source: response.headers.get("x-headgate-source"),
    result,
  };
};
for (;;) {
  const { source } = await ask("eth_blockNumber", []);
  if (source === "store") break;
  await new Promise((resolve) => setTimeout(resolve, 50));
}
const { result } = await ask("eth_getBlockByNumber", ["latest", false]);
const { transactions } = result as { transactions: string[] };
const latencies: number[] = [];
let isOver = false;
const before = { gateway: cpuSeconds(pid), node: cpuSeconds(node.pid) };
const liveAt = performance.now();
const callers = (async () => {
  for (let call = 0; !isOver; call += 1) {
    const planned = liveAt + call * 10;
    const early = planned - performance.now();
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
    void ask("eth_getTransactionReceipt", [transactions[call % transactions.length]]).then(
      () => latencies.push(performance.now() - planned),
      () => undefined, // the last calls fail when the gateway ends
    );
  }
})();
let filled: Record<string, unknown> | undefined;
while (!filled) {
  await new Promise((resolve) => setTimeout(resolve, 100));
  filled = running.log.find(({ msg }) => msg === "the window is filled");
}
isOver = true;
await callers;
const seconds = (performance.now() - liveAt) / 1000;
const cpu = { gateway: cpuSeconds(pid) - before.gateway, node: cpuSeconds(node.pid) - before.node };
latencies.sort((a, b) => a - b);
const at = (share: number): string =>
  (latencies[Math.floor(share * (latencies.length - 1))] ?? 0).toFixed(1);
const { own } = memory(pid);
const made = Number(filled["blocks"]);
process.stdout.write(
  `${made} blocks in ${seconds.toFixed(1)} s: ${(made / seconds).toFixed(1)} a second. CPU a block: gateway ${((cpu.gateway * 1000) / made).toFixed(1)} ms, node ${((cpu.node * 1000) / made).toFixed(1)} ms; ${((cpu.gateway + cpu.node) / seconds).toFixed(2)} of two cores. ` +
    `${latencies.length} receipts: p50 ${at(0.5)} ms, p99 ${at(0.99)}, most ${at(1)}. Own memory ${(own / 2 ** 20).toFixed(0)} MB.\n`,
);
await running.stop();
process.exit();
