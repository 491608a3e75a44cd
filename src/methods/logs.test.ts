import { describe, expect, it } from "vitest";
import { logOf, select } from "../../test/support/fake-log-selection.ts";
import {
  call,
  contextOf,
  refusing,
  type Surroundings,
} from "../../test/support/scripted-context.ts";
import { whole } from "../../test/support/scripted-log-nodes.ts";
import type { ChainView } from "../chain/chain-view.ts";
import { LogSelection } from "../chain/log-selection.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { answerLogs } from "./logs.ts";

const hash = `0x${"ab".repeat(32)}`;
const address = `0x${"cd".repeat(20)}`;
const logsAt = (...blocks: number[]) =>
  blocks
    .map((block) => ({ address, blockNumber: `0x${block.toString(16)}`, data: "0x" }))
    .map(whole);

const ask = (filter: unknown, logs: unknown = [], surroundings: Surroundings = {}) =>
  call(
    "eth_getLogs",
    [filter],
    { eth_getLogs: logs, eth_getBlockByNumber: { number: "0x62" }, eth_getBlockByHash: null },
    surroundings,
  );

describe("logs that are stored", () => {
  /** A chain whose store holds blocks from its tail on, up to the head 100. */
  const chainFrom = (tail: () => number, searched: unknown[]) =>
    ({
      head: { number: 100, hash },
      get tail() {
        return tail();
      },
      latest: () => 100,
      blockAt: () => undefined,
      keptLogs: () => undefined,
      keepLogs: async () => undefined,
      positionAt: () => undefined,
      logs: ({ range }: { range: unknown }) => {
        searched.push(range);
        return new LogSelection({ store: { part: () => undefined } });
      },
    }) as unknown as ChainView;

  it.each([
    { filter: { fromBlock: "0x60", toBlock: "latest" }, want: { from: 0x60, to: 100 } },
    { filter: { fromBlock: "0x60", toBlock: "0x61" }, want: { from: 0x60, to: 0x61 } },
    { filter: {}, want: { from: 100, to: 100 } },
  ])("are answered at once: $filter", ({ filter, want }) => {
    const searched: unknown[] = [];
    const chain = chainFrom(() => 0, searched);
    const outcome = answerLogs(filter, { ...contextOf([], {}, {}, []), chain });
    expect([String(outcome), searched]).toEqual(["[]", [want]]);
  });

  /** Asks for stored logs of so many bytes in all, with a payment that the key makes or not. */
  const askMany = async (bytes: number, pay: (units: number) => Promise<void>) => {
    const { found } = select(Array.from({ length: 20 }, (_, at) => logOf(at, bytes / 20 - 20)));
    const chain = { ...chainFrom(() => 0, []), logs: () => found } as unknown as ChainView;
    const network = { limits: { logs: { blocks: 50, results: 100 } } } as never;
    const context = contextOf([], {}, { network }, []);
    return answerLogs({ fromBlock: "0x60" }, { ...context, chain, payForWork: pay });
  };

  it.each([
    [200_000, []],
    [1_000_000, [12]],
  ])("of %i bytes cost %j units beyond the price of the call", async (bytes, want) => {
    const paid: number[] = [];
    await askMany(bytes, async (units) => void paid.push(units));
    expect(paid).toEqual(want);
  });

  it("are not given to a key that cannot pay for them", async () => {
    const refused = errors.rateLimited({ limit: 1, remaining: 0, retryAfter: 1, rule: "rate" });
    await expect(askMany(1_000_000, () => Promise.reject(refused))).rejects.toBe(refused);
  });

  it("are those behind what nodes were asked for, also when the window moves meanwhile", async () => {
    let tail = 70;
    const searched: unknown[] = [];
    const asked: unknown[][] = [];
    const older = () => {
      tail = 75;
      return logsAt(0x45);
    };
    const context = contextOf([], { eth_getLogs: older }, {}, asked);
    const filter = { fromBlock: "0x45", toBlock: "0x64" };
    await answerLogs(filter, { ...context, chain: chainFrom(() => tail, searched) });
    expect(asked.at(-1)).toEqual(["eth_getLogs", [{ fromBlock: "0x45", toBlock: "0x45" }]]);
    expect(searched).toEqual([{ from: 70, to: 100 }]);
  });
});

describe("the range of a log query (the head is 100, 50 blocks are allowed)", () => {
  it.each([
    { filter: {}, want: ["0x64", "0x64"] },
    { filter: { fromBlock: null, toBlock: null }, want: ["0x64", "0x64"] },
    { filter: { fromBlock: "0x60" }, want: ["0x60", "0x64"] },
    { filter: { fromBlock: "earliest", toBlock: "0x1" }, want: ["0x0", "0x1"] },
    { filter: { fromBlock: "pending", toBlock: "pending" }, want: ["0x64", "0x64"] },
    { filter: { fromBlock: "finalized", toBlock: "latest" }, want: ["0x62", "0x64"] },
    { filter: { fromBlock: "0x33", toBlock: "0x64" }, want: ["0x33", "0x64"] },
  ])("$filter is $want", async ({ filter, want: [fromBlock, toBlock] }) => {
    const { asked } = await ask(filter);
    expect(asked.at(-1)).toEqual(["eth_getLogs", [{ fromBlock, toBlock }]]);
  });

  it.each([
    { filter: { fromBlock: "0x5", toBlock: "0x4" }, want: "invalid block range params" },
    { filter: { toBlock: "earliest" }, want: "invalid block range params" },
    { filter: { fromBlock: "0x65" }, want: "invalid block range params" },
    {
      filter: { fromBlock: "0x60", toBlock: "0x65" },
      want: "block range extends beyond current head block",
    },
    {
      filter: { fromBlock: "0x0", toBlock: `0x${"f".repeat(64)}` },
      want: "block range extends beyond current head block",
    },
    { filter: { fromBlock: "0x32" }, want: "exceed maximum block range 50" },
    {
      filter: { blockHash: hash, fromBlock: "0x1" },
      want: "cannot specify both BlockHash and FromBlock/ToBlock, choose one or the other",
    },
  ])("$filter is refused: $want", async ({ filter, want }) => {
    await expect(ask(filter)).rejects.toMatchObject({ code: -32602, message: want });
  });

  it("may end at a head that this gateway has not seen yet", async () => {
    const newer = { newerHead: 102 };
    expect((await ask({ fromBlock: "0x60", toBlock: "0x66" }, [], newer)).result).toEqual([]);
    const { asked } = await ask({ fromBlock: "0x65" }, [], newer);
    expect(asked).toEqual([["eth_getLogs", [{ fromBlock: "0x65", toBlock: "0x66" }]]]);
  });

  it("is asked for in pieces when it is wide, and answered in order", async () => {
    const asWide = { head: 4_000, network: { limits: { logs: { blocks: 10_000, results: 100 } } } };
    const first = ([{ fromBlock }]: [{ fromBlock: string }]) =>
      fromBlock === "0x3e8" ? [] : logsAt(Number(fromBlock));
    const { asked, result } = await ask({ fromBlock: "0x1", toBlock: "0xdac" }, first, asWide);
    const range = (fromBlock: string, toBlock: string) => ["eth_getLogs", [{ fromBlock, toBlock }]];
    expect(asked).toEqual([
      range("0x1", "0x3e7"),
      range("0x3e8", "0x7cf"),
      range("0x7d0", "0xbb7"),
      range("0xbb8", "0xdac"),
    ]);
    expect(result).toMatchObject(logsAt(1, 2000, 3000).map(({ blockNumber }) => ({ blockNumber })));
  });

  it("is not asked for to its end when there are too many logs before", async () => {
    const asWide = { head: 9_000, network: { limits: { logs: { blocks: 10_000, results: 3 } } } };
    let pieces = 0;
    const two = ([{ fromBlock }]: [{ fromBlock: string }]) => {
      pieces += 1;
      return logsAt(Number(fromBlock), Number(fromBlock) + 5);
    };
    await expect(ask({ fromBlock: "0x1", toBlock: "0x2328" }, two, asWide)).rejects.toMatchObject({
      code: -32005,
      data: { from: "0x1", to: "0x3ec" },
    });
    expect(pieces).toBe(5);
  });

  it("goes with the conditions, without what is null or unknown", async () => {
    const { asked } = await ask({ address, topics: [null, [hash]], blockHash: null, other: 1 });
    const range = { fromBlock: "0x64", toBlock: "0x64" };
    expect(asked).toEqual([["eth_getLogs", [{ ...range, address, topics: [null, [hash]] }]]]);
  });
});

describe("too many logs (3 are allowed)", () => {
  it.each([
    { from: 1, logs: logsAt(1, 2, 3, 4), to: 3 },
    { from: 1, logs: logsAt(1, 2, 4, 4), to: 3 },
    { from: 1, logs: logsAt(1, 3, 3, 3), to: 2 },
    { from: 1, logs: logsAt(1, 1, 1, 1, 5), to: 1 }, // one block never has too many logs
  ])("from $from are refused with a range to $to that works", async ({ from, logs, to }) => {
    const range = { from: `0x${from}`, to: `0x${to}` };
    await expect(ask({ fromBlock: range.from, toBlock: "0x9" }, logs)).rejects.toMatchObject({
      code: -32005,
      message: `query returned more than 3 results. Try with this block range [${range.from}, ${range.to}].`,
      data: { ...range, limit: 3 },
    });
    const within = logs.filter(({ blockNumber }) => Number(blockNumber) <= to);
    const again = await ask({ fromBlock: range.from, toBlock: range.to }, within);
    expect(again.result).toEqual(within);
  });

  it("are not, when they are no more than that, or all of one block", async () => {
    expect((await ask({ fromBlock: "0x1", toBlock: "0x9" }, logsAt(1, 2, 3))).result).toHaveLength(
      3,
    );
    expect(
      (await ask({ fromBlock: "0x1", toBlock: "0x1" }, logsAt(1, 1, 1, 1))).result,
    ).toHaveLength(4);
  });
});

describe("logs that cannot be the answer", () => {
  it.each([
    {
      what: "of another contract",
      logs: logsAt(5).map((log) => ({ ...log, address: `0x${"ee".repeat(20)}` })),
    },
    { what: "of another block", logs: logsAt(10) },
    { what: "of which one is there twice", logs: [...logsAt(5), ...logsAt(5)] },
  ])("are not passed on: some $what", async ({ logs }) => {
    const range = { fromBlock: "0x1", toBlock: "0x9", address };
    await expect(ask(range, logs)).rejects.toMatchObject({ status: 502 });
    const ofBlock = logs.map((log) => ({ ...log, blockHash: `0x${"ef".repeat(32)}` }));
    await expect(ask({ blockHash: hash }, ofBlock)).rejects.toMatchObject({ status: 502 });
  });
});

it.each([
  { of: "from the newest to the oldest", given: logsAt(5, 6, 6).toReversed() },
  { of: "in no order", given: [logsAt(5, 6, 6)[1], logsAt(5, 6, 6)[0], logsAt(5, 6, 6)[2]] },
])("logs $of are answered in the order of the chain", async ({ given }) => {
  const { result } = await ask({ fromBlock: "0x1", toBlock: "0x9", address }, given);
  expect(result).toEqual(logsAt(5, 6, 6));
});

it("logs whose index begins anew in each transaction are answered", async () => {
  const [first, second, third] = logsAt(5, 5, 5);
  const logs = [first, second, { ...third, transactionIndex: "0x1", logIndex: "0x0" }];
  const { result } = await ask({ fromBlock: "0x1", toBlock: "0x9", address }, logs);
  expect(result).toEqual(logs);
  const ofBlock = logs.map((log) => ({ ...log, blockHash: hash }));
  const byHash = await ask({ blockHash: hash, address }, ofBlock.toReversed());
  expect(byHash.result).toEqual(ofBlock);
});

describe("the logs of one block", () => {
  it("are asked by its hash", async () => {
    const logs = logsAt(1).map((one) => ({ ...one, blockHash: hash }));
    const { result, asked } = await ask({ blockHash: hash, address }, logs);
    expect(result).toEqual(logs);
    expect(asked[0]).toEqual(["eth_getLogs", [{ blockHash: hash, address }]]);
  });

  it.each([
    ["is another block", { number: "0x1", hash: `0x${"9".repeat(64)}` }, true],
    ["is this block", { number: "0x1", hash }, false],
    ["is no block that is known", null, false],
    ["is nothing that nodes tell", refusing({ code: -32603, message: "no" }), false],
  ])("are removed when at its number there %s", async (_, canonical, removed) => {
    const logs = logsAt(1, 1).map((one) => ({ ...one, blockHash: hash }));
    const script = { eth_getLogs: logs, eth_getBlockByNumber: canonical };
    const { result } = await call("eth_getLogs", [{ blockHash: hash }], script);
    expect(result).toEqual(logs.map((one) => ({ ...one, removed })));
  });

  it("are none only when the block is known", async () => {
    const unknown = { code: -32000, message: "unknown block" };
    await expect(ask({ blockHash: hash }, [])).rejects.toMatchObject(unknown);
    const refused = refusing({ code: -32001, message: "header not found" });
    await expect(ask({ blockHash: hash }, refused)).rejects.toMatchObject(unknown);
    const script = { eth_getLogs: [], eth_getBlockByHash: { number: "0x5", hash } };
    expect((await call("eth_getLogs", [{ blockHash: hash }], script)).result).toEqual([]);
  });
});
