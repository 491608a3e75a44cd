// Filters of epoch networks over real nodes of two generations and the real process: their items, the order of the
// items, and the failures that filters survive.
import { afterAll, beforeAll, expect, it } from "vitest";
import { toQuantity } from "../../src/evm/values.ts";
import { ask, read } from "../support/ask.ts";
import type { Generation } from "../support/conflux-nodes.ts";
import { describeEach, startEach, stopEach } from "./each-generation.ts";
import { type Block, type FilterNetwork, startFilterNetwork, toWord } from "./filter-network.ts";

const NOT_FOUND = { code: -32000, message: "filter not found" };
let networks: ReadonlyMap<Generation, FilterNetwork>;

beforeAll(async () => {
  networks = await startEach(startFilterNetwork);
});

afterAll(() => networks && stopEach(networks));

describeEach("filters over conflux-rust", (generation) => {
  let network: FilterNetwork;

  beforeAll(() => {
    network = networks.get(generation) as FilterNetwork;
  });

  it("tells new logs once, in order, and nothing of what was before", async () => {
    const { contract } = network;
    await network.emit(1);
    await network.settled();
    const [id, topic, other] = await Promise.all([
      network.newFilter({ address: contract.toLowerCase(), fromEpoch: "0x1" }),
      network.newFilter({ topics: [[toWord(2), toWord(3)]] }),
      network.newFilter({ topics: [toWord(9)] }),
    ]);
    expect(await network.told(id)).toEqual([]);
    const logs = [...(await network.emit(2)), ...(await network.emit(3))];
    expect(await network.told(id)).toEqual(logs);
    expect(await network.told(topic)).toEqual(logs.filter(({ topics }) => topics.length > 0));
    expect(await network.told(other)).toEqual([]);
    expect(await network.told(id)).toEqual([]);
  });

  it("tells all blocks of each new epoch, in the order of execution", async () => {
    const { node, sender } = network;
    const before = await network.settled();
    const id = await read<string>(network.url, "cfx_newBlockFilter");
    const fork = await sender.tip();
    const first = await sender.putBlock(fork);
    const second = await sender.putBlock(first);
    const side = await sender.putBlock(fork);
    const merging = await sender.putBlock(second, { referees: [side] });
    await sender.bury(merging);
    const told = await network.told<string>(id);
    const { epochNumber } = await network.settled();
    const wanted: unknown[] = [];
    for (let number = Number(before.epochNumber) + 1; number <= Number(epochNumber); number += 1)
      wanted.push(...(await read<string[]>(node.url, "cfx_getBlocksByEpoch", toQuantity(number))));
    expect(told).toEqual(wanted);
    expect(told.slice(-3, -1)).toEqual([side, merging]);
  });

  it("tells of a pivot change by the first epoch of the new branch, then of that branch", async () => {
    const { node, sender } = network;
    await sender.learnNonce();
    const fork = await sender.tip();
    const { epochNumber } = await read<Block>(node.url, "cfx_getBlockByHash", fork, false);
    const changed = toQuantity(Number(epochNumber) + 1);
    await network.settled();
    const [id, unpolled] = [await network.newFilter(), await network.newFilter()];
    const { nonce } = sender;
    const dropped = await sender.putBlock(fork, { sendings: [network.emitting(10)] });
    let tip = await sender.putBlock(dropped, { sendings: [network.emitting(11)] });
    await sender.bury(tip);
    const old = await network.told(id);
    expect(old).toEqual(await network.logsFrom(changed));
    expect(old).toHaveLength(4);
    sender.nonce = nonce;
    tip = fork;
    for (let length = 0; length < 14; length += 1) {
      const sendings = length === 1 || length === 4 ? [network.emitting(20 + length)] : [];
      tip = await sender.putBlock(tip, { sendings });
    }
    await sender.bury(tip);
    const fresh = await network.logsFrom(changed);
    expect(fresh).toHaveLength(4);
    expect(fresh[0]).not.toMatchObject({ data: "0x000a" });
    expect(await network.told(id)).toEqual([{ revertTo: changed }, ...fresh]);
    expect(await network.told(id)).toEqual([]);
    // This filter had told no item of the dropped branch.
    expect(await network.told(unpolled)).toEqual(fresh);
  });

  it("gives all logs of its range to cfx_getFilterLogs", async () => {
    await network.sender.learnNonce();
    const [log] = await network.emit(30);
    const range = { fromEpoch: log?.epochNumber, toEpoch: log?.epochNumber };
    const id = await network.newFilter({ ...range, address: network.contract });
    const open = await network.newFilter({ fromEpoch: log?.epochNumber, limit: "0x1" });
    await network.emit(31);
    await network.settled();
    expect(await read(network.url, "cfx_getFilterLogs", id)).toHaveLength(2);
    expect(await read(network.url, "cfx_getFilterLogs", open)).toEqual(
      (await network.logsFrom("0x0")).slice(-1),
    );
  });

  it.each([
    ["cfx_newFilter", [{}]],
    ["cfx_newBlockFilter", []],
    ["cfx_newPendingTransactionFilter", []],
  ] as const)("%s: found until it is uninstalled, and by no other id", async (create, params) => {
    const id = await read<string>(network.url, create, ...params);
    expect(await read(network.url, "cfx_getFilterChanges", id)).toEqual([]);
    expect(await read(network.url, "cfx_uninstallFilter", id)).toBe(true);
    expect(await read(network.url, "cfx_uninstallFilter", id)).toBe(false);
    for (const unknown of [id, "0x1", `0x${"1".repeat(32)}`]) {
      const { error } = await ask(network.url, "cfx_getFilterChanges", [unknown]);
      expect(error).toEqual(NOT_FOUND);
      expect((await ask(network.url, "cfx_getFilterLogs", [unknown])).error).toEqual(NOT_FOUND);
    }
  });

  it("is found by its id with a zero before it, as js-conflux-sdk makes the digits even", async () => {
    const id = await network.newFilter();
    const { result } = await ask(network.url, "cfx_getFilterChanges", [`0x0${id.slice(2)}`]);
    expect(result).toEqual([]);
  });

  it("survives kill -9 of the gateway: nothing is lost, nothing is told twice", async () => {
    await network.settled();
    const [polled, waiting] = [await network.newFilter(), await network.newFilter()];
    const before = await network.emit(40);
    expect(await network.told(polled)).toEqual(before);
    await network.kill();
    const meanwhile = await network.emit(41);
    await network.startAgain();
    expect(await network.told(polled)).toEqual(meanwhile);
    expect(await network.told(waiting)).toEqual([...before, ...meanwhile]);
  });

  it("survives the death of one of two nodes", async () => {
    await network.settled();
    const id = await network.newFilter();
    const before = await network.emit(50);
    expect(await network.told(id)).toEqual(before);
    await network.upstreams[0]?.close();
    const after = await network.emit(51);
    expect(await network.told(id)).toEqual(after);
  });
});
