// Filters over a real anvil and the real process: their items, their owners and their lifetime.
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inputWord } from "../../packages/devnet/src/contracts.ts";
import { anvilCommand } from "../../packages/devnet/src/node-process.ts";
import { LmdbState } from "../../src/state/lmdb-state.ts";
import { latest, settled } from "../support/anvil-chain.ts";
import { type AnvilNode, startAnvil } from "../support/anvil-node.ts";
import { ask, post, read } from "../support/ask.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";

const isHere = anvilCommand({ port: 1, chainId: 1 }) !== undefined;
const NOT_FOUND = { code: -32000, message: "filter not found" };

type Log = {
  transactionHash: string;
  blockHash: string;
  blockNumber: string;
  logIndex: string;
  removed: boolean;
};

describe.skipIf(!isHere)("filters over anvil", () => {
  let anvil: AnvilNode;
  let gateway: RunningGateway;
  let data: string;
  let url: string;
  let from: string;

  const start = () =>
    startGatewayProcess({
      data,
      keys: [
        { name: "test", key: "test-key" },
        { name: "other", key: "other-key" },
      ],
      limits: { filters: 20 },
      networks: {
        main: { family: "evm", chainId: anvil.chainId, upstreams: [{ url: anvil.url }] },
        twin: { family: "evm", chainId: anvil.chainId, upstreams: [{ url: anvil.url }] },
      },
    });

  beforeAll(async () => {
    data = await mkdtemp(join(tmpdir(), "headgate-filters-"));
    anvil = (await startAnvil()) as AnvilNode;
    gateway = await start();
    url = gateway.endpoint("main");
    from = ((await ask(anvil.url, "eth_accounts")).result as string[])[0] ?? "";
    await settled(url, anvil);
  });

  afterAll(async () => {
    await gateway.stop();
    anvil.close();
    await rm(data, { recursive: true, force: true });
  });

  /** Emits five logs, in a block of its own; returns the transaction's hash. */
  const emit = async (): Promise<string> => {
    const transaction = { from, to: anvil.emitter, data: inputWord(9), gas: "0x100000" };
    const hash = await read<string>(anvil.url, "eth_sendTransaction", transaction);
    await until("it is mined", () => read(url, "eth_getTransactionReceipt", hash));
    return hash;
  };
  const newFilter = (filter: object = {}, at = url): Promise<string> =>
    read(at, "eth_newFilter", filter);
  const poll = <T = Log>(id: string, at = url): Promise<T[]> =>
    read<T[]>(at, "eth_getFilterChanges", id);

  it("tells new logs once, and nothing of what was before", async () => {
    await emit();
    const id = await newFilter({ fromBlock: "0x0", address: anvil.emitter });
    expect(id).toMatch(/^0x[1-9a-f][0-9a-f]{20,31}$/);
    expect(await poll(id)).toEqual([]);
    const hash = await emit();
    const receipt = await read<{ logs: Log[] }>(url, "eth_getTransactionReceipt", hash);
    expect(await poll(id)).toEqual(receipt.logs);
    expect(await poll(id)).toEqual([]);
  });

  it("tells of the contracts and topics that were asked for only", async () => {
    const nowhere = `0x${"77".repeat(20)}`;
    const ids = await Promise.all([
      newFilter({ address: nowhere }),
      newFilter({ address: [nowhere, anvil.emitter] }),
      newFilter({ topics: [null, null, null, null] }),
      newFilter({ topics: [[`0x${"00".repeat(32)}`]] }),
      newFilter({ fromBlock: "0xffffff" }),
    ]);
    await emit();
    const counts = await Promise.all(ids.map(async (id) => (await poll(id)).length));
    expect(counts).toEqual([0, 5, 1, 0, 0]);
  });

  it("tells dropped logs with `removed`, newest block first, then the new ones", async () => {
    await read(anvil.url, "anvil_mine", "0x1");
    await settled(url, anvil);
    const id = await newFilter({ address: anvil.emitter });
    const hashes = [await emit(), await emit()];
    const told = await poll(id);
    expect(told.map(({ transactionHash }) => transactionHash)).toEqual(
      hashes.flatMap((hash) => Array(5).fill(hash)),
    );
    await read(anvil.url, "anvil_reorg", 2, []);
    await settled(url, anvil);
    const fresh = await emit();
    const after = await poll(id);
    const gone = after.filter(({ removed }) => removed);
    expect(gone).toEqual(
      [...told.slice(5), ...told.slice(0, 5)].map((log) => ({ ...log, removed: true })),
    );
    expect(after.slice(0, gone.length)).toEqual(gone);
    expect(after.slice(gone.length).at(-1)?.transactionHash).toBe(fresh);
  });

  it("tells each new canonical block's hash, in order", async () => {
    const id = await read<string>(url, "eth_newBlockFilter");
    await read(anvil.url, "anvil_mine", "0x3");
    await settled(url, anvil);
    const told = await poll<string>(id);
    const head = Number(await read(url, "eth_blockNumber"));
    const wanted = await Promise.all(
      [2, 1, 0].map(
        async (back) =>
          (
            await read<{ hash: string }>(
              anvil.url,
              "eth_getBlockByNumber",
              `0x${(head - back).toString(16)}`,
              false,
            )
          ).hash,
      ),
    );
    expect(told).toEqual(wanted);
    await read(anvil.url, "anvil_reorg", 2, []);
    await settled(url, anvil);
    const branch = await poll<string>(id);
    expect(branch).toHaveLength(2);
    expect(branch.at(-1)).toBe((await latest(anvil.url)).hash);
    expect(await read(url, "eth_getFilterLogs", id).catch(String)).toContain("filter not found");
  });

  it("gives all logs of its range to eth_getFilterLogs, and polls go on as if nothing was", async () => {
    const hash = await emit();
    const { blockNumber } = await read<Log>(url, "eth_getTransactionReceipt", hash);
    const criteria = { fromBlock: blockNumber, toBlock: blockNumber, address: anvil.emitter };
    const closed = await newFilter(criteria);
    const open = await newFilter({ fromBlock: blockNumber, address: anvil.emitter });
    await emit();
    expect(await read(url, "eth_getFilterLogs", closed)).toEqual(
      await read(url, "eth_getLogs", criteria),
    );
    expect(await read<Log[]>(url, "eth_getFilterLogs", open)).toHaveLength(10);
    expect(await poll(open)).toHaveLength(5);
    expect(await poll(closed)).toEqual([]);
  });

  it("belongs to its network and its key, and ends when it is uninstalled", async () => {
    const id = await newFilter();
    const calls = ["eth_getFilterChanges", "eth_getFilterLogs"];
    for (const method of calls) {
      expect((await ask(gateway.endpoint("twin"), method, [id])).error).toEqual(NOT_FOUND);
      expect((await ask(gateway.endpoint("main", "other-key"), method, [id])).error).toEqual(
        NOT_FOUND,
      );
    }
    expect(await read(gateway.endpoint("main", "other-key"), "eth_uninstallFilter", id)).toBe(
      false,
    );
    expect(await poll(`0x${id.slice(2).toUpperCase()}`)).toEqual([]);
    expect(await read(url, "eth_uninstallFilter", id)).toBe(true);
    expect(await read(url, "eth_uninstallFilter", id)).toBe(false);
    for (const method of calls) expect((await ask(url, method, [id])).error).toEqual(NOT_FOUND);
  });

  it.each([
    [[{ fromBlock: "0x2", toBlock: "0x1" }], -32602, "invalid block range params"],
    [[{ blockHash: `0x${"11".repeat(32)}`, fromBlock: "0x1" }], -32602, "cannot specify both"],
    [[{ topics: Array(5).fill(null) }], -32602, "want at most 4 topics"],
    [[{ address: "0x12" }], -32602, "invalid argument 0"],
    [["latest"], -32602, "want a log filter object"],
    [[], -32602, "missing value for required argument 0"],
  ])("is refused with %j", async (params, code, words) => {
    const { error } = await ask(url, "eth_newFilter", params);
    expect(error).toMatchObject({ code, message: expect.stringContaining(words) });
  });

  it.each(["0x0", "0x1", `0x${"f".repeat(64)}`])("is not found by the id %s", async (id) => {
    expect((await ask(url, "eth_getFilterChanges", [id])).error).toEqual(NOT_FOUND);
    expect(await read(url, "eth_uninstallFilter", id)).toBe(false);
  });

  it("is refused when the key has too many, and only then", async () => {
    const at = gateway.endpoint("twin", "other-key");
    const made = await Promise.all(Array.from({ length: 25 }, () => ask(at, "eth_newBlockFilter")));
    const ids = made.flatMap(({ result }) => (result ? [String(result)] : []));
    expect(ids).toHaveLength(20);
    expect(made.find(({ error }) => error)?.error).toMatchObject({
      code: -32005,
      message: expect.stringContaining("no more than 20 filters for one key"),
    });
    expect(await read(at, "eth_uninstallFilter", ids[0])).toBe(true);
    ids[0] = await read<string>(at, "eth_newBlockFilter");
    for (const id of ids) expect(await read(at, "eth_uninstallFilter", id)).toBe(true);
  });

  it("tells each thing to one of many who poll at once", async () => {
    const id = await newFilter({ address: anvil.emitter });
    const hashes = [await emit(), await emit(), await emit()];
    const answers = await Promise.all(Array.from({ length: 20 }, () => poll(id)));
    expect(answers.flat().map(({ transactionHash }) => transactionHash)).toEqual(
      hashes.flatMap((hash) => Array(5).fill(hash)),
    );
  });

  it("tells each thing once within a batch", async () => {
    const id = await newFilter({ address: anvil.emitter });
    await emit();
    const call = { jsonrpc: "2.0", id: 1, method: "eth_getFilterChanges", params: [id] };
    const response = await post(url, JSON.stringify([call, call, call]));
    const counts = ((await response.json()) as { result: Log[] }[]).map(
      ({ result }) => result.length,
    );
    expect(counts.toSorted()).toEqual([0, 0, 5]);
    expect(await poll(id)).toEqual([]);
  });

  it("survives kill -9: no filter is lost, and nothing that was not told", async () => {
    const ids = await Promise.all(
      Array.from({ length: 5 }, () => newFilter({ address: anvil.emitter })),
    );
    const blocks = await read<string>(url, "eth_newBlockFilter");
    const [first = ""] = ids;
    await emit();
    expect(await poll(first)).toHaveLength(5);
    await emit();
    const dead = once(gateway.process, "exit");
    gateway.process.kill("SIGKILL");
    await dead;
    const transaction = { from, to: anvil.emitter, data: inputWord(9), gas: "0x100000" };
    await read(anvil.url, "eth_sendTransaction", transaction);
    gateway = await start();
    url = gateway.endpoint("main");
    await settled(url, anvil);
    expect(await poll(first)).toHaveLength(10);
    for (const id of ids.slice(1)) expect(await poll(id)).toHaveLength(15);
    expect(await poll<string>(blocks)).toHaveLength(3);
  });

  it("is kept without members that nobody knows", async () => {
    await newFilter({ address: anvil.emitter, junk: "x".repeat(10_000) });
    const state = new LmdbState({ path: join(data, "_state") });
    const kept = await state.list("filter main ");
    await state.close();
    expect(kept.length).toBeGreaterThan(0);
    for (const { text } of kept) expect(text.length).toBeLessThan(1_000);
  });

  it("is counted", async () => {
    const text = await (await fetch(gateway.metricsUrl)).text();
    expect(text).toMatch(/^headgate_filters\{network="main",kind="logs"\} [1-9]/m);
  });
});
