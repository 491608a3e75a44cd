// The development nodes: real anvil and conflux-rust processes, with their activity.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, globSync, statSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Devnet, type DevnetNode, startDevnet } from "../../packages/devnet/src/devnet.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { ask, type Envelope, fetchCaller } from "../support/ask.ts";
import { isAlive, nodesListeningOn, until } from "../support/processes.ts";

const nodeOf = (devnet: Devnet, network: DevnetNode["network"]): DevnetNode => {
  const node = devnet.nodes.find((one) => one.network === network);
  if (!node) throw new Error(`no ${network} on this platform`);
  return node;
};

const answersOf = async (node: DevnetNode): Promise<Record<string, Envelope>> => {
  const samples = await node.samples;
  const answers = samples.map(
    async ({ method, params }) => [method, await ask(node.url, method, params)] as const,
  );
  return Object.fromEntries(await Promise.all(answers));
};

/** The node's answer as a number; -1 while no node answers. */
const numberFrom = (url: string, method: string): Promise<number> =>
  ask(url, method).then(
    ({ result }) => Number(result),
    () => -1,
  );

/** The temporary folder, from conflux-rust's command line. */
const folderOf = (pid: number): string => {
  const command = execFileSync("ps", ["-ww", "-o", "args=", "-p", String(pid)]).toString();
  return /"confluxDataDir":"(.*?)\/conflux"/.exec(command)?.[1] ?? "";
};

/** anvil's states of old blocks, with their sizes in bytes. */
const statesIn = (folder: string): { size: number }[] =>
  globSync("anvil-state-*/*.json", { cwd: folder })
    .map((name) => statSync(join(folder, name), { throwIfNoEntry: false }))
    .filter((state) => state !== undefined);

/** Code that returns the hash of a block: PUSH2 number, BLOCKHASH, PUSH0, MSTORE, PUSH1 32, PUSH0, RETURN. */
const hashOfBlock = (number: number): string =>
  `0x61${number.toString(16).padStart(4, "0")}405f5260205ff3`;

const fiveLogs = { logs: [0, 1, 2, 3, 4].map((topics) => ({ topics: { length: topics } })) };

describe("the development nodes", () => {
  const lines: { msg: string; node: string; code?: number | string; lastWords?: string }[] = [];
  let devnet: Devnet;

  beforeAll(async () => {
    const log = pino({ level: "info" }, { write: (line) => lines.push(JSON.parse(line)) });
    devnet = await startDevnet({ clock: systemClock, log, connect: fetchCaller });
  });

  afterAll(() => devnet.stop());

  it("anvil has something to show for each sample", async () => {
    const node = nodeOf(devnet, "eth-devnet");
    const answers = await answersOf(node);
    const logs = answers["eth_getLogs"]?.result as { blockNumber: string; topics: unknown[] }[];
    expect(logs.map(({ topics }) => topics.length)).toEqual([1, 2, 3, 4]); // the filter requires one topic
    expect(answers).toMatchObject({
      eth_getBlockByNumber: { result: { transactions: [{ hash: expect.any(String) }] } },
      eth_getTransactionReceipt: { result: fiveLogs },
      eth_getTransactionByHash: { result: { hash: expect.any(String), blockHash: null } },
      eth_getCode: { result: expect.stringMatching(/^0x[0-9a-f]{200}/) },
      eth_estimateGas: {
        error: { code: 3, message: expect.stringContaining("the gate is closed") },
      },
      web3_sha3: { result: "0x47173285a8d7341e5e972fc677286384f802f8ef42a5ec5f03bbfa254cb01fad" },
    });
    // anvil lacks this method; the gateway answers it with eth_getBlockReceipts.
    expect(answers["eth_getTransactionReceiptsByBlock"]?.error?.code).toBe(-32601);
    const receipts = await ask(node.url, "eth_getBlockReceipts", [logs[0]?.blockNumber]);
    expect(receipts.result).toMatchObject([fiveLogs]);
  });

  it("anvil keeps the state of old blocks, on disk", async () => {
    const { url } = nodeOf(devnet, "eth-devnet");
    await ask(url, "anvil_mine", ["0x7d0"]);
    const [from] = (await ask(url, "eth_accounts")).result as string[];
    const first = await ask(url, "eth_getTransactionCount", [from, "0x1"]);
    expect(first).toMatchObject({ result: "0x1" });
    const [confluxPid] = await nodesListeningOn([nodeOf(devnet, "cfx-devnet").url]);
    const folder = folderOf(confluxPid ?? 0);
    expect(statesIn(folder).length).toBeGreaterThan(1_900);
    await until(
      "each of them is small",
      async () => statesIn(folder).every(({ size }) => size < 40_000),
      150_000, // two gigabytes are read and written again, beside other tests
    );
  }, 180_000);

  it("and answers from what was made small: calls, balances, the hashes that a block reaches", async () => {
    const { url } = nodeOf(devnet, "eth-devnet");
    const [from] = (await ask(url, "eth_accounts")).result as string[];
    for (const number of [2, 300, 1_500, 1_900]) {
      const block = `0x${number.toString(16)}`;
      const balance = await ask(url, "eth_getBalance", [from, block]);
      expect(balance, block).toMatchObject({ result: expect.stringMatching(/^0x21e19/) });
      const reached = Math.max(0, number - 256);
      const called = await ask(url, "eth_call", [{ data: hashOfBlock(reached) }, block]);
      const { result } = await ask(url, "eth_getBlockByNumber", [
        `0x${reached.toString(16)}`,
        false,
      ]);
      expect(called, block).toMatchObject({ result: (result as { hash: string }).hash });
    }
  });

  it("conflux-rust has something to show for each sample", async () => {
    const answers = await answersOf(nodeOf(devnet, "cfx-devnet"));
    const logs = answers["cfx_getLogs"]?.result as { topics: unknown[] }[];
    expect(logs.slice(0, 5).map(({ topics }) => topics.length)).toEqual([0, 1, 2, 3, 4]);
    expect(answers).toMatchObject({
      cfx_epochNumber: { result: expect.stringMatching(/^0x[1-9a-f]/) },
      cfx_getBalance: { result: expect.stringMatching(/^0x[1-9a-f]/) },
      cfx_getTransactionReceipt: { result: fiveLogs },
      cfx_getBlockByEpochNumber: { result: { transactions: expect.any(Array) } },
    });
  });

  it.each([
    { network: "eth-devnet", head: "eth_blockNumber", beyond: 4 },
    { network: "cfx-devnet", head: "cfx_epochNumber", beyond: 15 },
  ] as const)(
    "$network dies: started again on its port, active again",
    async ({ network, head, beyond }) => {
      const { url, samples } = nodeOf(devnet, network);
      await samples;
      const readyBefore = lines.length;
      const [pid] = await nodesListeningOn([url]);
      process.kill(pid ?? 0, "SIGKILL");
      await until("it is another process", async () => {
        const [now] = await nodesListeningOn([url]);
        return now !== undefined && now !== pid;
      });
      await until("it answers", async () => (await numberFrom(url, head)) >= 0);
      await until("its head moves", async () => (await numberFrom(url, head)) > beyond);
      expect(lines.slice(readyBefore)).toContainEqual(
        expect.objectContaining({
          msg: "development node died, restarting",
          node: network,
          code: 137,
        }),
      );
    },
  );

  it("stop() leaves no process and no folder", async () => {
    const urls = devnet.nodes.map(({ url }) => url);
    const [confluxPid] = await nodesListeningOn([nodeOf(devnet, "cfx-devnet").url]);
    const folder = folderOf(confluxPid ?? 0);
    expect(existsSync(folder)).toBe(true);
    await devnet.stop();
    expect(await nodesListeningOn(urls)).toEqual([]);
    expect(existsSync(folder)).toBe(false);
  });
});

it("kill -9 of the process that started them leaves no node and no folder behind", async () => {
  const parent = spawn(process.execPath, ["test/support/devnet-process.ts"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  const urls = JSON.parse(line.toString()) as string[];
  const pids = await until("both nodes run", async () => {
    const found = await nodesListeningOn(urls);
    return found.length === urls.length && found;
  });
  const folder = pids.map(folderOf).join("");
  expect(existsSync(folder)).toBe(true);
  parent.kill("SIGKILL");
  await until("they are gone", async () => pids.every((pid) => !isAlive(pid)));
  await until("their folder is gone", async () => !existsSync(folder));
});

it("two sets of development nodes run side by side", async () => {
  const parts = { clock: systemClock, log: pino({ level: "silent" }), connect: fetchCaller };
  const sets = await Promise.all([startDevnet(parts), startDevnet(parts)]);
  const nodes = sets.flatMap((set) => set.nodes);
  const samples = await Promise.all(nodes.map((node) => node.samples));
  expect(samples.every((calls) => calls.length > 0)).toBe(true);
  await Promise.all(sets.map((set) => set.stop()));
});

it("the samples of nodes that are stopped before are refused", async () => {
  const parts = { clock: systemClock, log: pino({ level: "silent" }), connect: fetchCaller };
  const devnet = await startDevnet(parts);
  await devnet.stop();
  await expect(nodeOf(devnet, "cfx-devnet").samples).rejects.toThrow("were stopped");
});
