// The cost of the last ten logs of ten thousand epochs: one call to the gateway, or pages of a thousand epochs, which a
// caller of an old node (2021) or of a node with a widest range must read.
import { toQuantity } from "../src/evm/values.ts";
import { askNoted } from "../test/epochs/ask-noted.ts";
import { GeneratedEpochs, NETWORK_ID } from "../test/epochs/generated-epochs.ts";
import type { EpochLog, Filter } from "../test/epochs/model.ts";
import { type OldNode, startOldNode } from "../test/epochs/old-node.ts";
import { read } from "../test/support/ask.ts";
import { startGatewayProcess } from "../test/support/gateway-process.ts";
import { until } from "../test/support/processes.ts";

const EPOCHS = 10_000;
const PAGE = 1_000;
const WANTED = 10;
const ROUNDS = 20;
const PRESET = 5_000;

const chain = new GeneratedEpochs({ seed: 1, oneOf: 3, logs: [1, 6] });
chain.extend(EPOCHS);
const node = await startOldNode(chain, { preset: PRESET, gap: PAGE });
const network = { family: "conflux", chainId: NETWORK_ID, upstreams: [{ url: node.url }] };
const limits = { logs: { blocks: EPOCHS, results: PRESET } };
const gateway = await startGatewayProcess({
  log: { level: "info" },
  networks: {
    passed: { ...network, limits, window: { blocks: 0 } },
    followed: { ...network, limits, window: { blocks: 1_000 } },
  },
});
const [passed, followed] = ["passed", "followed"].map((name) => gateway.endpoint(name)) as [
  string,
  string,
];

/** Filters from one that matches most epochs to one that matches one epoch in a thousand. */
const filters: readonly (readonly [string, Filter])[] = [
  ["any", {}],
  ["one contract", { address: chain.contracts[0] ?? "" }],
  ["four topics", { topics: chain.topics }],
];
try {
  const oldest = toQuantity(EPOCHS - PAGE);
  await until("the window is followed", async () => {
    const filter = { fromEpoch: oldest, toEpoch: oldest };
    return (await askNoted(followed, "cfx_getLogs", [filter])).source === "store";
  });
  await compare();
} finally {
  await gateway.stop();
  await node.close();
}

async function compare(): Promise<void> {
  print(`The last ${WANTED} logs of ${EPOCHS} epochs, the middle of ${ROUNDS} times:`);
  print();
  print("| logs | how | ms | queries to the node | logs from it |");
  print("|---|---|---:|---:|---:|");
  for (const [title, filter] of filters) {
    const ways = [
      ["paged by hand", () => pagedByHand(node.url, filter)],
      ["gateway, not followed", () => lastOf(passed, filter)],
      ["gateway, 1,000 epochs followed", () => lastOf(followed, filter)],
    ] as const;
    const answers = [];
    for (const [way, ask] of ways) {
      const { ms, calls, logs, answer } = await measured(node, ask);
      answers.push(JSON.stringify(answer));
      print(`| ${title} | ${way} | ${ms.toFixed(1)} | ${calls} | ${logs} |`);
    }
    if (new Set(answers).size > 1) throw new Error(`${title}: the ways differ`);
  }
}

function lastOf(url: string, filter: Filter): Promise<EpochLog[]> {
  return read(url, "cfx_getLogs", { fromEpoch: "0x0", limit: toQuantity(WANTED), ...filter });
}

/** Reads all pages: only then is it known which epochs have the last logs. */
async function pagedByHand(url: string, filter: Filter): Promise<EpochLog[]> {
  const all: EpochLog[] = [];
  for (let from = 0; from < EPOCHS; from += PAGE) {
    const range = { fromEpoch: toQuantity(from), toEpoch: toQuantity(from + PAGE - 1) };
    all.push(...(await read<EpochLog[]>(url, "cfx_getLogs", { ...range, ...filter })));
  }
  return all.slice(-WANTED);
}

async function measured(asked: OldNode, ask: () => Promise<EpochLog[]>) {
  let answer = await ask();
  const before = { calls: asked.countOf("cfx_getLogs"), logs: asked.logsGiven() };
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedAt = performance.now();
    answer = await ask();
    times.push(performance.now() - startedAt);
  }
  const each = (now: number, then: number): number => Math.round((now - then) / ROUNDS);
  return {
    answer,
    ms: times.toSorted((a, b) => a - b)[ROUNDS / 2] ?? 0,
    calls: each(asked.countOf("cfx_getLogs"), before.calls),
    logs: each(asked.logsGiven(), before.logs),
  };
}

function print(line = ""): void {
  process.stdout.write(`${line}\n`);
}
