// `npm run bench`: the gateway next to what everyone knows, in one run of about two minutes.
import { startGatewayProcess } from "../test/support/gateway-process.ts";
import { type Case, groupsOf } from "./cases.ts";
import { type Measured, measure, middleRun, startLoad, startServer, stopAll } from "./measure.ts";
import { printFigures } from "./report.ts";

const CONNECTIONS = 32;
const ROUNDS = 3;
const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 2.5);
/** After 1 s, V8 still compiles on other threads, and that is charged to whoever is young. */
const WARM_UP_SECONDS = 3;

process.on("exit", stopAll);
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => process.exit(1));

const constant = await startServer("constant");
const upstream = await startServer("upstream");
const proxy = await startServer("proxy", [upstream.url]);
const running = await startGatewayProcess({
  log: { level: "info" },
  networks: { main: { family: "evm", chainId: 1, upstreams: [{ url: upstream.url }] } },
});
process.on("exit", () => running.process.kill("SIGKILL"));
const gateway = { url: running.endpoint("main"), pid: running.process.pid ?? 0 };
const worker = startLoad();

const figures = new Map<string, Measured>();
for (const group of groupsOf({ constant, upstream, proxy, gateway })) {
  for (const [name, figure] of await compare(group)) figures.set(name, figure);
}
printFigures(figures);
await running.stop();
process.exit();

/** Turn by turn, so that a machine that slows down slows down all: A B A B A B. */
async function compare(group: readonly Case[]): Promise<[string, Measured][]> {
  const runs = group.map((): Measured[] => []);
  for (const one of group) {
    await checkAnswer(one);
    await run(one, WARM_UP_SECONDS);
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [index, one] of group.entries()) runs[index]?.push(await run(one, SECONDS));
  }
  return group.flatMap(({ name }, index) => {
    const middle = middleRun(runs[index] ?? []);
    return middle ? [[name, middle]] : [];
  });
}

function run({ name, target, body }: Case, seconds: number): Promise<Measured> {
  process.stderr.write(`${name}: ${seconds} s\n`);
  return measure(target, { body, seconds, connections: CONNECTIONS }, worker);
}

/** A server that answers with an error is fast, and no measure of anything. */
async function checkAnswer({ name, target, body }: Case): Promise<void> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(target.url, { method: "POST", headers, body });
  const text = await response.text();
  const members = body.startsWith("[") ? JSON.parse(body).length : 1;
  if (text.split('"result":').length - 1 === members) return;
  throw new Error(`${name} does not answer as it should: ${text.slice(0, 200)}`);
}
