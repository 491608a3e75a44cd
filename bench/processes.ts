// Two servers beside one process that does everything, and beside two such processes that share only the machine:
// cores may be hyperthreads, which slow each other down. All answer stored data. The load runs on the same cores: it
// comes from `wrk` (Debian: apt-get install wrk), which costs a tenth of a server, and the report has the processor
// time of each request beside the rate. Takes about two minutes.
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { processesOf } from "../test/processes/callers.ts";
import { startAnvil } from "../test/support/anvil-node.ts";
import { ask } from "../test/support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../test/support/gateway-process.ts";
import { until } from "../test/support/processes.ts";
import { cpuSeconds, machineCpuSeconds } from "./process-cost.ts";

const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 3);
const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 5);
const CONNECTIONS = 64;

type Run = {
  readonly perSecond: number;
  /** The processor time of all processes of the gateway. */
  readonly cpuMicros: number;
  /** The cores that the load and everything else on the machine took, without the gateway. */
  readonly loadShare: number;
  readonly failures: number;
};

const print = (line = ""): void => void process.stdout.write(`${line}\n`);
const run = promisify(execFile);

if (availableParallelism() < 2) throw new Error("this machine has one core: nothing to compare");
const anvil = await startAnvil();
if (!anvil) throw new Error("there is no anvil for this machine");
const folder = mkdtempSync(join(tmpdir(), "headgate-bench-"));
const questions = [
  { method: "eth_getBlockByNumber", params: ["0x2", false] },
  { method: "eth_getTransactionReceipt", params: [anvil.transactions[0]] },
];

const start = async (processes: number): Promise<RunningGateway> => {
  const { url, chainId } = anvil;
  const network = { family: "evm", chainId, upstreams: [{ url }] };
  const gateway = await startGatewayProcess({
    processes,
    log: { level: "info" },
    networks: { main: network },
  });
  await until("the chain is followed", async () => {
    const { result } = await ask(gateway.endpoint("main"), "eth_getBlockByNumber", ["0x2", false]);
    return result !== undefined;
  });
  return gateway;
};

const pidsOf = async ({ process: { pid = 0 } }: RunningGateway): Promise<number[]> => [
  pid,
  ...(await processesOf(pid)).values(),
];
const cost = (pids: readonly number[]): number =>
  pids.reduce((sum, pid) => sum + cpuSeconds(pid), 0);

/** wrk's script: it makes the request and prints the figures in one line. */
const script = (question: object): string => `
wrk.method = "POST"
wrk.headers["content-type"] = "application/json"
wrk.body = [[${JSON.stringify({ jsonrpc: "2.0", id: 1, ...question })}]]
done = function(summary, latency, requests)
  local e = summary.errors
  io.write(string.format("SEEN %d %d %d\\n", summary.requests, summary.duration,
    e.connect + e.read + e.write + e.status + e.timeout))
end
`;

/** Puts load on all gateways at once, with CONNECTIONS connections in total. */
async function load(gateways: readonly RunningGateway[], question: object): Promise<Run> {
  const path = join(folder, "load.lua");
  writeFileSync(path, script(question));
  const pids = (await Promise.all(gateways.map(pidsOf))).flat();
  const before = { gateway: cost(pids), machine: machineCpuSeconds() };
  const connections = `-c${CONNECTIONS / gateways.length}`;
  const seen = await Promise.all(
    gateways.map(async (gateway) => {
      const args = ["-t1", connections, `-d${SECONDS}s`, "-s", path, gateway.endpoint("main")];
      const { stdout } = await run("wrk", args);
      const [, requests = 0, micros = 1, failures = 0] =
        /SEEN (\d+) (\d+) (\d+)/.exec(stdout)?.map(Number) ?? [];
      return { requests, seconds: micros / 1e6, failures };
    }),
  );
  const used = {
    gateway: cost(pids) - before.gateway,
    machine: machineCpuSeconds() - before.machine,
  };
  const requests = seen.reduce((sum, each) => sum + each.requests, 0);
  const seconds = Math.max(...seen.map((each) => each.seconds));
  return {
    perSecond: requests / seconds,
    cpuMicros: (used.gateway * 1e6) / requests,
    loadShare: (used.machine - used.gateway) / seconds,
    failures: seen.reduce((sum, each) => sum + each.failures, 0),
  };
}

/** The best figure of all runs: other programs only make a figure worse. */
const best = (runs: readonly Run[]): Run => ({
  perSecond: Math.max(...runs.map(({ perSecond }) => perSecond)),
  cpuMicros: Math.min(...runs.map(({ cpuMicros }) => cpuMicros)),
  loadShare: Math.min(...runs.map(({ loadShare }) => loadShare)),
  failures: runs.reduce((sum, { failures }) => sum + failures, 0),
});

const [one, twin, several] = [await start(1), await start(1), await start(2)];
const ONE = "one process";
const APART = "two that share nothing";
const TWO = "two servers and a writer";
const asked = new Map([
  [ONE, [one]],
  [APART, [one, twin]],
  [TWO, [several]],
]);
for (const question of questions) {
  print(`\n${question.method}, ${CONNECTIONS} connections`);
  const runs = new Map([...asked.keys()].map((name): [string, Run[]] => [name, []]));
  for (const gateways of asked.values()) await load(gateways, question); // warms up
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [name, gateways] of asked) runs.get(name)?.push(await load(gateways, question));
  for (const [name, all] of runs) {
    const { perSecond, cpuMicros, loadShare, failures } = best(all);
    print(
      `  ${name.padEnd(24)} ${Math.round(perSecond)} a second, ${cpuMicros.toFixed(1)} us of CPU each; ` +
        `all else took ${loadShare.toFixed(2)} cores; ${failures} failed`,
    );
  }
  const of = (name: string): Run => best(runs.get(name) ?? []);
  for (const name of [TWO, APART]) {
    const byCpu = (2 * of(ONE).cpuMicros) / of(name).cpuMicros;
    const served = of(name).perSecond / of(ONE).perSecond;
    print(`  ${name}: ${served.toFixed(2)} times one process; ${byCpu.toFixed(2)} by CPU time`);
  }
}
for (const gateway of [one, twin, several]) await gateway.stop();
anvil.close();
rmSync(folder, { recursive: true });
