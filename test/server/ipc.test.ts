// A real node that listens on a Unix socket only.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anvilCommand, freePorts, SupervisedNode } from "../../packages/devnet/src/node-process.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { ask, read } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { nodesListeningOn, until } from "../support/processes.ts";

const CHAIN_ID = 31_337;
const { port } = await freePorts("port");
const command = anvilCommand({ port, chainId: CHAIN_ID });
const nodeUrl = `http://127.0.0.1:${port}`;

let folder: string;
let node: SupervisedNode;
let gateway: RunningGateway;
let url: string;

describe.skipIf(!command)("a node behind a Unix socket", () => {
  beforeAll(async () => {
    if (!command) return;
    folder = await mkdtemp(join(tmpdir(), "headgate-ipc-"));
    const path = join(folder, "anvil.ipc");
    const withSocket = { ...command, args: [...command.args, "--ipc", path] };
    const parts = { clock: systemClock, log: pino({ level: "silent" }) };
    node = new SupervisedNode({ name: "anvil", command: withSocket }, parts);
    node.start();
    const upstreams = [{ url: `ipc://${path}`, name: "local" }];
    const over = (address: string) => ({
      ...{ family: "evm", chainId: CHAIN_ID, window: { blocks: 0 } },
      upstreams: [{ url: address, name: "local" }],
    });
    gateway = await startGatewayProcess({
      networks: {
        local: { family: "evm", chainId: CHAIN_ID, upstreams },
        http: over(nodeUrl),
        ws: over(nodeUrl.replace("http", "ws")),
        ipc: over(`ipc://${path}`),
      },
    });
    url = gateway.endpoint("local");
    await isUp();
  });

  afterAll(async () => {
    await gateway?.stop();
    await node?.stop();
    if (folder) await rm(folder, { recursive: true, force: true });
  });

  const isUp = (): Promise<unknown> =>
    until("the gateway answers from the node", async () => (await ask(url, "eth_gasPrice")).result);
  const atNode = <T>(method: string, ...params: unknown[]): Promise<T> =>
    read(nodeUrl, method, ...params);

  it("answers what it would answer itself", async () => {
    const [account] = await atNode<string[]>("eth_accounts");
    const calls: [string, ...unknown[]][] = [
      ["eth_getBalance", account, "latest"],
      ["eth_getBlockByNumber", "0x0", true],
      ["eth_getTransactionCount", account, "latest"],
    ];
    for (const [method, ...params] of calls)
      expect(await read(url, method, ...params)).toEqual(await atNode(method, ...params));
  });

  it("answers many callers at once, each with what is its own", async () => {
    const accounts = Array.from(
      { length: 200 },
      (_, at) => `0x${`${at + 1_000}`.padStart(40, "0")}`,
    );
    await Promise.all(
      accounts.map((account, at) =>
        atNode("anvil_setBalance", account, `0x${(at + 1).toString(16)}`),
      ),
    );
    const balances = accounts.map((account) =>
      read<string>(url, "eth_getBalance", account, "latest"),
    );
    expect((await Promise.all(balances)).map(Number)).toEqual(accounts.map((_, at) => at + 1));
  });

  it.each(["http", "ws", "ipc"])("says alike over %s what it lacks", async (network) => {
    const at = gateway.endpoint(network);
    const [account] = await atNode<string[]>("eth_accounts");
    const transfer = { from: account, to: account, value: "0x1" };
    const hash = await atNode<string>("eth_sendTransaction", transfer);
    await until("it is mined", () => atNode("eth_getTransactionReceipt", hash));
    // anvil lacks this method; the gateway answers it with another one.
    expect(await read(at, "eth_getTransactionReceiptsByBlock", "latest")).toMatchObject([
      { transactionHash: hash },
    ]);
    expect(await read(at, "trace_get", hash, ["0x0"])).toBeNull();
    expect((await ask(at, "eth_nope")).error).toEqual({
      code: -32601,
      message: "the method eth_nope does not exist/is not available",
    });
    // One caller's invalid parameters must not make the gateway refuse the next caller's.
    expect((await ask(at, "eth_feeHistory", [{}])).error).toBeDefined();
    expect(await read(at, "eth_feeHistory", "0x1", "latest", [])).toHaveProperty("oldestBlock");
  });

  it("announces its blocks", async () => {
    const before = Number(await atNode<string>("eth_blockNumber"));
    await atNode("anvil_mine", "0x3");
    await until(
      "the gateway has heard of them",
      async () => Number(await read<string>(url, "eth_blockNumber")) === before + 3,
    );
  });

  it("is found again after it was away", async () => {
    expect(Number(await read<string>(url, "eth_blockNumber"))).toBeGreaterThan(0);
    for (const pid of await nodesListeningOn([nodeUrl])) process.kill(pid, "SIGKILL");
    // The node restarts with a new chain.
    await until(
      "the gateway tells of the new chain",
      async () => (await ask(url, "eth_blockNumber")).result === "0x0",
    );
    await isUp();
  });
});
