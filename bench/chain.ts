// The second half of `npm run bench`: answers from the store, beside a server that only sends the same bytes, and
// beside anvil itself. Takes about three minutes.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startAnvil } from "../test/support/anvil-node.ts";
import { ask } from "../test/support/ask.ts";
import { startGatewayProcess } from "../test/support/gateway-process.ts";
import { startGeneratedNode } from "../test/support/generated-chain/serve.ts";
import { GeneratedChain } from "../test/support/generated-chain.ts";
import { until } from "../test/support/processes.ts";
import { fillStore } from "./fill-store.ts";
import {
  type Measured,
  measure,
  middleRun,
  startLoad,
  startServer,
  stopAll,
  type Target,
} from "./measure.ts";
import { memory } from "./process-cost.ts";

const SECONDS = Number(process.env["BENCH_SECONDS"] ?? 2.5);
const ROUNDS = 3;
const STORED_BLOCKS = Number(process.env["BENCH_BLOCKS"] ?? 100_000);
const MAINNET_BLOCKS = 96;

process.on("exit", stopAll);
for (const name of ["SIGINT", "SIGTERM"] as const) process.on(name, () => process.exit(1));

const folder = mkdtempSync(join(tmpdir(), "headgate-bench-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const print = (line = ""): void => void process.stdout.write(`${line}\n`);
const tell = (line: string): void => void process.stderr.write(`${line}\n`);

// The cost of following new blocks.
tell("following mainnet-sized blocks");
const mainnet = new GeneratedChain({
  seed: 1,
  transactions: [200, 200],
  logs: [400, 400],
  addresses: 300,
  topics: 3000,
});
await fillStore(join(folder, "warm"), { chain: mainnet, blocks: 32, atOnce: 8 });
const followed = await fillStore(join(folder, "mainnet"), {
  chain: mainnet,
  blocks: MAINNET_BLOCKS,
  atOnce: 8,
});
print(
  `Following blocks of 200 transactions and 400 logs, parsed, proven and stored on one core: ${(1000 / followed.ms).toFixed(0)} a second (${followed.ms.toFixed(1)} ms a block, ${followed.cpuMs.toFixed(1)} ms of CPU). On disk ${kilobytes(followed.bytesPerBlock)} a block, of ${kilobytes(followed.rawBytesPerBlock)} of JSON.`,
);

tell(`filling a store with ${STORED_BLOCKS} blocks`);
const chain = new GeneratedChain({
  seed: 2,
  transactions: [2, 2],
  logs: [3, 3],
  addresses: 20_000,
  topics: 5_000,
});
const filled = await fillStore(join(folder, "data", "stored"), { chain, blocks: STORED_BLOCKS });
print(
  `Blocks of 2 transactions and 3 logs: ${(1000 / filled.ms).toFixed(0)} a second, on disk ${kilobytes(filled.bytesPerBlock)} a block, of ${kilobytes(filled.rawBytesPerBlock)} of JSON.`,
);

const node = await startGeneratedNode(chain);
const anvil = await startAnvil();
if (!anvil) throw new Error("there is no anvil for this machine");
// anvil slows down with each block: a hundred thousand would take many minutes.
const anvilBlocks = Math.min(STORED_BLOCKS, 10_000);
tell(`anvil mines ${anvilBlocks} blocks`);
for (let mined = 0; mined < anvilBlocks; mined += 500)
  await ask(anvil.url, "anvil_mine", ["0x1f4"]);
const evm = { family: "evm" } as const;
const wide = { limits: { logs: { blocks: STORED_BLOCKS * 2, results: 100_000 } } };
const running = await startGatewayProcess({
  data: join(folder, "data"),
  log: { level: "info" },
  networks: {
    stored: {
      ...evm,
      chainId: 1,
      upstreams: [{ url: node.url }],
      window: { blocks: STORED_BLOCKS },
      ...wide,
    },
    anvil: {
      ...evm,
      chainId: anvil.chainId,
      upstreams: [{ url: anvil.url }],
      window: { blocks: 100 },
    },
  },
});
process.on("exit", () => running.process.kill("SIGKILL"));
await until("both chains are followed", async () => {
  const heads = await Promise.all(
    ["stored", "anvil"].map((name) =>
      fetch(running.endpoint(name), {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: body("eth_blockNumber", []),
      }),
    ),
  );
  return heads.every(({ headers }) => headers.get("x-headgate-source") === "store");
});
const gateway = (network: string): Target => ({
  url: running.endpoint(network),
  pid: running.process.pid ?? 0,
});
const worker = startLoad();

// Lookups: anvil has the same block, transaction and receipt in its newest blocks.
const { result: accounts } = await ask(anvil.url, "eth_accounts");
const sent = await ask(anvil.url, "eth_sendTransaction", [
  {
    from: (accounts as string[])[0],
    to: anvil.emitter,
    data: `0x${"7".padStart(64, "0")}`,
    gas: "0x100000",
  },
]);
const hash = String(sent.result);
const receipt = await until(
  "the transaction is followed",
  async () => (await ask(running.endpoint("anvil"), "eth_getTransactionReceipt", [hash])).result,
);
const { blockNumber } = receipt as { blockNumber: string };
const lookups: (readonly [string, readonly unknown[]])[] = [
  ["eth_getBlockByNumber", [blockNumber, false]],
  ["eth_getTransactionByHash", [hash]],
  ["eth_getTransactionReceipt", [hash]],
];
print();
print(
  "| lookup | requests/s: constant | gateway | anvil | gateway / constant | by CPU | gateway / anvil |",
);
print("|---|---:|---:|---:|---:|---:|---:|");
for (const [method, params] of lookups) {
  const text = body(method, params);
  const constant = await startServer("sized", [await answerFile(running.endpoint("anvil"), text)]);
  const [plain, own, theirs] = await compare(
    text,
    [constant, gateway("anvil"), { url: anvil.url, pid: 0 }],
    32,
  );
  if (!plain || !own || !theirs) continue;
  const byCpu =
    plain.cpuMicros && own.cpuMicros ? (plain.cpuMicros / own.cpuMicros).toFixed(2) : "–";
  print(
    `| ${method} | ${plain.perSecond.toFixed(0)} | ${own.perSecond.toFixed(0)} | ${theirs.perSecond.toFixed(0)} | ${(own.perSecond / plain.perSecond).toFixed(2)} | ${byCpu} | ${(own.perSecond / theirs.perSecond).toFixed(1)} |`,
  );
}

// Log queries over the whole store, one at a time.
const [busy, rare] = [chain.words.addresses[0], chain.words.addresses[1]];
const whole = { fromBlock: "0x0", toBlock: "latest" };
const busyHits = await countLogs({ ...whole, address: busy });
const thousand = Math.round((STORED_BLOCKS * 1000) / busyHits);
const ranges: (readonly [string, object])[] = [
  ["rare address", { ...whole, address: rare }],
  [
    "busy address",
    { fromBlock: "0x1000", toBlock: `0x${(0x1000 + thousand).toString(16)}`, address: busy },
  ],
];
print();
print(
  `| log query over ${STORED_BLOCKS} blocks | hits | p50 ms: gateway | p99 ms | writing the same answer from objects | anvil, ${anvilBlocks} empty blocks |`,
);
print("|---|---:|---:|---:|---:|---:|");
for (const [name, filter] of ranges) {
  const text = body("eth_getLogs", [filter]);
  const hits = await countLogs(filter);
  const serialise = await startServer("serialise", [
    await answerFile(running.endpoint("stored"), text),
  ]);
  const [own, written, theirs] = await compare(
    text,
    [gateway("stored"), serialise, { url: anvil.url, pid: 0 }],
    1,
  );
  print(
    `| ${name} | ${hits} | ${own?.p50Ms.toFixed(2)} | ${own?.p99Ms.toFixed(2)} | ${written?.p50Ms.toFixed(2)} | ${theirs?.p50Ms.toFixed(2)} |`,
  );
}

const { all, own, file } = memory(running.process.pid ?? 0);
print();
print(
  `The gateway's memory after all this, with ${STORED_BLOCKS} stored blocks: ${kilobytes(all)} resident, of them ${kilobytes(own)} its own and ${kilobytes(file)} of the store's file and its programs.`,
);
await running.stop();
await node.close();
anvil.close();
process.exit();

function body(method: string, params: readonly unknown[]): string {
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
}

function kilobytes(bytes: number): string {
  return bytes < 10 * 2 ** 20
    ? `${(bytes / 1024).toFixed(1)} KB`
    : `${(bytes / 2 ** 20).toFixed(0)} MB`;
}

/** Writes the gateway's answer to a file, for the yardsticks that send the same bytes. */
async function answerFile(url: string, text: string): Promise<string> {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: text,
  });
  const path = join(folder, "answer.json");
  const answer = await response.text();
  if (!answer.includes('"result":')) throw new Error(answer.slice(0, 300));
  writeFileSync(path, answer);
  return path;
}

async function countLogs(filter: object): Promise<number> {
  const { result, error } = await ask(running.endpoint("stored"), "eth_getLogs", [filter]);
  if (error) throw new Error(error.message);
  return (result as unknown[]).length;
}

/** Measures the targets in turn, so that a slower machine slows down all of them. */
async function compare(
  text: string,
  targets: readonly Target[],
  connections: number,
): Promise<(Measured | undefined)[]> {
  const runs = targets.map((): Measured[] => []);
  for (const target of targets)
    await measure(target, { bodies: [text], seconds: 1, connections }, worker);
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [index, target] of targets.entries())
      runs[index]?.push(
        await measure(target, { bodies: [text], seconds: SECONDS, connections }, worker),
      );
  return runs.map(middleRun);
}
