// Files that are damaged between two runs of the gateway: it builds a store anew, and refuses to open a state.
import {
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, post } from "../support/ask.ts";
import {
  type RunningGateway,
  runCommand,
  startGatewayProcess,
} from "../support/gateway-process.ts";
import { startGeneratedNode } from "../support/generated-chain/serve.ts";
import { GeneratedChain } from "../support/generated-chain.ts";
import { until } from "../support/processes.ts";
import type { ScriptedNode } from "../support/scripted-node.ts";

const PAGE = 4_096;

const chain = new GeneratedChain({ seed: 3, transactions: [5, 9], logs: [5, 9], blockSeconds: 0 });
let node: ScriptedNode;
let data: string;

beforeAll(async () => {
  data = mkdtempSync(join(tmpdir(), "headgate-damaged-"));
  chain.extend(30);
  node = await startGeneratedNode(chain);
});
afterAll(async () => {
  await node.close();
  rmSync(data, { recursive: true });
});

const settings = (processes = 1) => ({
  ...{ data, processes },
  networks: {
    main: { family: "evm", chainId: 1, window: { blocks: 20 }, upstreams: [{ url: node.url }] },
  },
});

async function startFollowing(processes = 1): Promise<RunningGateway> {
  const gateway = await startGatewayProcess(settings(processes));
  await followed(gateway);
  return gateway;
}

const followed = (gateway: RunningGateway): Promise<unknown> =>
  until("the head is the store's", async () => {
    const call = {
      jsonrpc: "2.0",
      id: 1,
      method: "eth_getBlockByNumber",
      params: ["latest", false],
    };
    const response = await post(gateway.endpoint("main"), JSON.stringify(call)).catch(
      () => undefined,
    );
    const block = (await response?.json()) as { result?: { hash?: string } } | undefined;
    return (
      response?.headers.get("x-headgate-source") === "store" &&
      block?.result?.hash === chain.head.hash
    );
  });

const store = (): string => join(data, "main", "data.mdb");

const fillWithGarbage = (): void => writeFileSync(store(), Buffer.alloc(100_000, "garbage"));

/** Overwrites the second half of the pages. */
function flipPages(): void {
  const bytes = readFileSync(store());
  bytes.fill(0xee, Math.floor(bytes.length / PAGE / 2) * PAGE);
  writeFileSync(store(), bytes);
}

describe("a store", () => {
  it("that is cut off, garbage, or has other pages in it is set aside, and built anew", async () => {
    await (await startFollowing()).stop();
    for (const damage of [() => truncateSync(store(), 3 * PAGE), fillWithGarbage, flipPages]) {
      damage();
      const gateway = await startFollowing();
      const told = gateway.log.filter(({ msg }) => msg?.includes("the store is damaged"));
      expect(told).toMatchObject([
        { level: 50, keptAs: expect.stringContaining("data.mdb.damaged-") },
      ]);
      const names = readdirSync(join(data, "main")).filter((name) => name.includes("damaged"));
      expect(names).toEqual([told[0]?.["keptAs"]]);
      const metrics = await (await fetch(gateway.metricsUrl)).text();
      expect(metrics).toMatch(/^headgate_stores_set_aside_total\{network="main"\} 1$/m);
      await gateway.stop();
    }
  });

  it("that is damaged when its writer dies is another one, which all processes read", async () => {
    const gateway = await startFollowing(2);
    const writer = await writerOf(gateway);
    flipPages();
    process.kill(writer, "SIGKILL");
    await until("the store is built anew", async () =>
      gateway.log.some(({ msg }) => msg?.includes("the store is damaged")),
    );
    await until("the servers are told", async () =>
      gateway.log.some(({ msg }) => msg?.includes("the store was replaced")),
    );
    chain.extend(2);
    await followed(gateway);
    await gateway.stop();
  });
});

describe("a state", () => {
  it("that is damaged is not opened, and the text says which and what to do", async () => {
    const running = await startFollowing();
    await ask(running.endpoint("main"), "eth_newBlockFilter");
    await running.stop();
    truncateSync(join(data, "_state", "data.mdb"), 3 * PAGE);
    const config = join(data, "headgate.yaml");
    writeFileSync(config, JSON.stringify(settings()));
    for (const command of [["serve"], ["keys", "list"]]) {
      const { code, stderr } = await runCommand([...command, "--config", config]);
      expect([command, code]).toEqual([command, 1]);
      expect(stderr).toContain(`the state in ${join(data, "_state")} is damaged`);
      expect(stderr).toContain("move it away");
      expect(stderr.split("\n").length).toBe(2);
    }
  });
});

async function writerOf(gateway: RunningGateway): Promise<number> {
  const pid = gateway.log.find(({ process: name }) => name === "writer")?.["pid"];
  return typeof pid === "number"
    ? pid
    : Number(readFileSync(join(data, "main", "writer.pid"), "utf8").split(" ")[0]);
}
