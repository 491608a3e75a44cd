// The cost of deriving traces: the gateway over a node without trace_*, beside the node's own time for the debug calls
// that the traces are made of; and the memory for two million steps.
import { loadavg } from "node:os";
import { anvilCommand, freePorts } from "../packages/devnet/src/node-process.ts";
import { ask, read } from "../test/support/ask.ts";
import { startGatewayProcess } from "../test/support/gateway-process.ts";
import { until } from "../test/support/processes.ts";
import { startSteppingNode } from "../test/support/stepping-node.ts";
import { asm, call, placeOf } from "../test/traces/live/assembler.ts";
import { startLackingNode } from "../test/traces/live/lacking-node.ts";
import { startProcess, stopAll } from "./measure.ts";
import { memory } from "./process-cost.ts";

const ROUNDS = 9;
const CALLS = 1_000;
const STEPS = 100_000;
const MANY_STEPS = 2_000_000;
/** JUMPDEST, the three opcodes of the body, and the six that count and jump. */
const STEPS_A_ROUND = 10;
const CHAIN_ID = 31_337;

process.on("exit", stopAll);
const print = (line = ""): void => void process.stdout.write(`${line}\n`);
process.stderr.write(`the machine's load before: ${loadavg()[0]?.toFixed(2)}\n`);

const { port } = await freePorts("port");
const command = anvilCommand({ port, chainId: CHAIN_ID });
if (!command) throw new Error("there is no anvil for this machine");
startProcess(command.file, command.args);
const anvil = `http://127.0.0.1:${port}`;
await until("anvil answers", () =>
  ask(anvil, "eth_chainId").then(
    ({ result }) => result !== undefined,
    () => false,
  ),
);
const node = await startLackingNode(anvil, /^trace_/);
const gateway = await startGatewayProcess({
  timeouts: { call: "120s" },
  networks: { eth: { family: "evm", chainId: CHAIN_ID, upstreams: [{ url: node.url }] } },
});
const url = gateway.endpoint("eth");

print("| what | gateway ms | node ms | ratio |");
print("|---|---:|---:|---:|");
const target = placeOf("called");
await set(target, asm("0x2a 0x00 MSTORE 0x20 0x00 RETURN"));
const calls = await mined(loop(CALLS, `${call({ to: target, kind: "STATICCALL" })} POP`));
const tree = { tracer: "callTracer" };
await compare(`trace of ${CALLS} calls`, calls, { types: ["trace"], debug: tree });
const diff = { tracer: "prestateTracer", tracerConfig: { diffMode: true } };
await compare("stateDiff of the same", calls, { types: ["stateDiff"], debug: diff });
const rounds = Math.ceil(STEPS / STEPS_A_ROUND);
const steps = await mined(loop(rounds, "DUP1 0x00 MSTORE"));
const told = { enableMemory: true, disableStorage: true };
await compare(`vmTrace of ${STEPS} steps`, steps, { types: ["vmTrace"], debug: told });
await gateway.stop();
await node.close();
await manySteps();
process.stderr.write(`the machine's load after: ${loadavg()[0]?.toFixed(2)}\n`);
process.exit();

/** The code of a loop over the body; the counter is on top of the stack. */
function loop(times: number, body: string): string {
  const count = `0x${times.toString(16).padStart(4, "0")}`;
  return asm(`${count} JUMPDEST ${body} 0x01 SWAP1 SUB DUP1 0x03 JUMPI STOP`);
}

async function set(address: string, code: string): Promise<void> {
  await read(anvil, "anvil_setCode", address, code);
}

/** Mines a transaction that runs the code; returns its hash. */
async function mined(code: string): Promise<string> {
  const to = placeOf(code);
  await set(to, code);
  const [from] = await read<string[]>(anvil, "eth_accounts");
  const hash = await read<string>(anvil, "eth_sendTransaction", { from, to, gas: "0xf42400" });
  await until("the gateway has it", async () => {
    const { result } = await ask(url, "eth_getTransactionReceipt", [hash]);
    return (result as { status?: string } | null)?.status === "0x1";
  });
  return hash;
}

type Question = { readonly types: readonly string[]; readonly debug: object };

/** Measures both in turn, and prints the median times. */
async function compare(what: string, hash: string, { types, debug }: Question): Promise<void> {
  const own: number[] = [];
  const nodes: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    nodes.push(await timed(node.url, "debug_traceTransaction", [hash, debug]));
    own.push(await timed(url, "trace_replayTransaction", [hash, types]));
  }
  const [ours, theirs] = [middle(own), middle(nodes)];
  print(`| ${what} | ${ours.toFixed(1)} | ${theirs.toFixed(1)} | ${(ours / theirs).toFixed(2)} |`);
}

async function timed(at: string, method: string, params: readonly unknown[]): Promise<number> {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  const headers = { "content-type": "application/json", "accept-encoding": "identity" };
  const began = performance.now();
  const response = await fetch(at, { method: "POST", body, headers });
  const text = await response.text();
  const took = performance.now() - began;
  if (text.includes('"error":{"code"')) throw new Error(text.slice(0, 200));
  return took;
}

function middle(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN;
}

async function manySteps(): Promise<void> {
  const stepping = await startSteppingNode(MANY_STEPS);
  const upstreams = [{ url: stepping.url }];
  const running = await startGatewayProcess({
    timeouts: { call: "300s" },
    networks: { eth: { family: "evm", chainId: 1, upstreams, window: { blocks: 0 } } },
  });
  const pid = running.process.pid ?? 0;
  const before = memory(pid);
  const highest = { all: 0, own: 0 };
  const watch = setInterval(() => {
    const { all, own } = memory(pid);
    highest.all = Math.max(highest.all, all);
    highest.own = Math.max(highest.own, own);
  }, 50);
  const ms = await timed(running.endpoint("eth"), "trace_replayTransaction", [
    stepping.transaction,
    ["vmTrace"],
  ]);
  clearInterval(watch);
  const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(0);
  print();
  print(
    `${MANY_STEPS} steps, ${megabytes(stepping.sentBytes)} MB from the node, in ${(ms / 1000).toFixed(1)} s: resident memory ${megabytes(before.all)} → at most ${megabytes(highest.all)} MB, its own ${megabytes(before.own)} → ${megabytes(highest.own)} MB.`,
  );
  await running.stop();
  await stepping.close();
}
