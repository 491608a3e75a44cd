// The development nodes themselves: real anvil and conflux-rust processes, with their activity.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SampleCall } from "../../src/devnet/activity.ts";
import { type Devnet, type DevnetNode, startDevnet } from "../../src/devnet/devnet.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { ask, type Envelope, fetchCaller } from "../support/ask.ts";
import { isAlive, nodesListeningOn, until } from "../support/processes.ts";

const nodeOf = (devnet: Devnet, network: DevnetNode["network"]): DevnetNode => {
  const node = devnet.nodes.find((one) => one.network === network);
  if (!node) throw new Error(`no ${network} on this platform`);
  return node;
};

const answersOf = async (node: DevnetNode): Promise<Map<string, Envelope>> => {
  const samples: readonly SampleCall[] = await node.samples;
  const answers = await Promise.all(
    samples.map(
      async ({ method, params }) => [method, await ask(node.url, method, params)] as const,
    ),
  );
  return new Map(answers);
};

describe("the development nodes", { timeout: 90_000 }, () => {
  let devnet: Devnet;

  beforeAll(async () => {
    const log = pino({ level: "silent" });
    devnet = await startDevnet({ clock: systemClock, log, connect: fetchCaller });
  });

  afterAll(async () => {
    const urls = devnet.nodes.map(({ url }) => url);
    await devnet.stop();
    await until("no node is left", async () => (await nodesListeningOn(urls)).length === 0);
  });

  it("anvil has something to show for each sample", async () => {
    const answers = await answersOf(nodeOf(devnet, "eth-devnet"));
    expect(answers.get("eth_getBlockByNumber")?.result).toMatchObject({ hash: expect.any(String) });
    expect(answers.get("eth_getTransactionReceipt")?.result).toMatchObject({
      logs: [0, 1, 2, 3, 4].map((topics) => ({ topics: { length: topics } })),
    });
    expect(answers.get("eth_getLogs")?.result).toHaveLength(4); // all but the one without topics
    expect(answers.get("eth_getTransactionByHash")?.result).toMatchObject({
      hash: expect.any(String),
      blockHash: null,
    });
    expect(answers.get("eth_estimateGas")?.error).toMatchObject({
      code: 3,
      message: expect.stringContaining("the gate is closed"),
    });
  });

  it("conflux-rust has something to show for each sample", async () => {
    const answers = await answersOf(nodeOf(devnet, "cfx-devnet"));
    const logs = answers.get("cfx_getLogs")?.result as unknown[];
    expect(logs.length).toBeGreaterThanOrEqual(8);
    expect(answers.get("cfx_getBalance")?.result).toMatch(/^0x[1-9a-f]/);
  });

  it("a node that dies is started again, on the same port, and gets its activity back", async () => {
    const { url } = nodeOf(devnet, "eth-devnet");
    const [pid] = await nodesListeningOn([url]);
    process.kill(pid ?? 0, "SIGKILL");
    await until("anvil is another process", async () => {
      const [now] = await nodesListeningOn([url]);
      return now !== undefined && now !== pid;
    });
    await until(
      "its head moves",
      async () => Number((await ask(url, "eth_blockNumber", [])).result) > 3,
    );
  });
});

it("kill -9 of the process that started them leaves no node behind", async () => {
  const parent = spawn(process.execPath, ["test/support/devnet-process.ts"], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [line] = (await once(parent.stdout, "data")) as [Buffer];
  const urls = JSON.parse(line.toString()) as string[];
  const pids = await until("anvil listens", async () => {
    const found = await nodesListeningOn(urls.slice(0, 1));
    return found.length > 0 && found;
  });
  parent.kill("SIGKILL");
  await until("they are gone", async () => pids.every((pid) => !isAlive(pid)));
});
