// Whether the page of an open console, or the gateway, grows while calls come.
// node bench/console-load.ts [minutes] [calls a second]: one line a minute.
import { setTimeout as pause } from "node:timers/promises";
import { startAnvil } from "../test/support/anvil-node.ts";
import { ask } from "../test/support/ask.ts";
import { openPage, startBrowser } from "../test/support/browser.ts";
import { startGatewayProcess } from "../test/support/gateway-process.ts";
import { cpuSeconds, memory } from "./process-cost.ts";

const minutes = Number(process.argv[2] ?? 60);
const callsPerSecond = Number(process.argv[3] ?? 200);
const MIB = 2 ** 20;

const anvil = await startAnvil();
if (!anvil) throw new Error("no anvil for this platform");
const gateway = await startGatewayProcess({
  tail: { calls: 100, slow: "1ms" },
  networks: {
    main: { family: "evm", chainId: 31_337, upstreams: [{ url: anvil.url, name: "own" }] },
  },
});
const pid = gateway.process.pid ?? 0;
const browser = await startBrowser();
const { page, complaints } = await openPage(browser, gateway.metricsUrl.replace("/metrics", "/"));
await page.waitForSelector("canvas"); // a page without charts is not the console
const devtools = await page.context().newCDPSession(page);
await devtools.send("Performance.enable");

const CALLS = [
  ["eth_blockNumber", []],
  ["eth_getBlockByNumber", ["latest", true]],
  ["eth_getTransactionReceipt", [anvil.transactions[0]]],
  ["eth_getBalance", [anvil.sender, "latest"]],
  ["eth_call", [{ to: anvil.reverter }, "latest"]], // fails, and thus appears in the tail
] as const;

let failed = 0;
let sent = 0;
const load = setInterval(() => {
  for (let at = 0; at < callsPerSecond / 20; at += 1) {
    const [method, params] = CALLS[sent++ % CALLS.length] ?? CALLS[0];
    ask(gateway.endpoint("main"), method, params).catch(() => {
      failed += 1;
    });
  }
}, 50);
const blocks = setInterval(() => void ask(anvil.url, "evm_mine", []), 1_000);

console.log("| minute | page: heap MiB | elements | listeners | gateway: own MiB | % of a core |");
console.log("|---:|---:|---:|---:|---:|---:|");
let cpu = cpuSeconds(pid);
for (let minute = 1; minute <= minutes; minute += 1) {
  await pause(60_000);
  await devtools.send("HeapProfiler.collectGarbage");
  const { metrics } = await devtools.send("Performance.getMetrics");
  const of = (name: string): number => metrics.find((metric) => metric.name === name)?.value ?? 0;
  const now = cpuSeconds(pid);
  const row = [
    ...[minute, (of("JSHeapUsedSize") / MIB).toFixed(1), of("Nodes"), of("JSEventListeners")],
    ...[(memory(pid).own / MIB).toFixed(0), (((now - cpu) / 60) * 100).toFixed(1)],
  ];
  console.log(`| ${row.join(" | ")} |`);
  cpu = now;
}
clearInterval(load);
clearInterval(blocks);
console.log(`${sent} calls, ${failed} failed; the page complained ${complaints.length} times`);
await browser.close();
await gateway.stop();
anvil.close();
