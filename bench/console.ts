// The cost of open consoles: the gateway's processor time with and without ten event streams, while no calls come.
// node bench/console.ts [seconds] [consoles]
import { readFileSync } from "node:fs";
import { setTimeout as pause } from "node:timers/promises";
import { startAnvil } from "../test/support/anvil-node.ts";
import { startGatewayProcess } from "../test/support/gateway-process.ts";

const seconds = Number(process.argv[2] ?? 30);
const consoles = Number(process.argv[3] ?? 10);
/** The unit in which Linux tells processor time. */
const TICKS_A_SECOND = 100;

const anvil = await startAnvil();
if (!anvil) throw new Error("no anvil for this platform");
const upstreams = ["a", "b", "c"].map((name) => ({ url: anvil.url, name }));
const network = { family: "evm", chainId: 31_337, upstreams };
const gateway = await startGatewayProcess({
  tail: { calls: 100, slow: "1s" },
  networks: { first: network, second: network, third: network },
});
const pid = gateway.process.pid;

const processorSeconds = (): number => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
    .replace(/^.*\) /, "")
    .split(" ");
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
};
const memoryMiB = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) / 1024;

/** Measures the gateway's processor time, in percent of a core. */
async function measure(what: string): Promise<number> {
  await pause(3_000);
  const before = processorSeconds();
  await pause(seconds * 1_000);
  const percent = (100 * (processorSeconds() - before)) / seconds;
  console.log(`${what}: ${percent.toFixed(2)} % of a core, ${memoryMiB().toFixed(0)} MiB`);
  return percent;
}

const alone = await measure("no console");
const leaving = new AbortController();
let bytes = 0;
for (let opened = 0; opened < consoles; opened += 1) {
  const url = gateway.metricsUrl.replace("/metrics", "/events");
  const { body } = await fetch(url, { signal: leaving.signal });
  void (async () => {
    for await (const chunk of body ?? []) bytes += chunk.length;
  })().catch(() => undefined);
}
const open = await measure(`${consoles} consoles`);
const perSecond = bytes / (seconds + 3) / consoles;
console.log(`they cost ${(open - alone).toFixed(2)} % of a core; ${perSecond.toFixed(0)} B/s each`);
leaving.abort();
await gateway.stop();
anvil.close();
