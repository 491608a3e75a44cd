import { describe, expect, it } from "vitest";
import { call, refusing, type Script } from "../../test/support/scripted-context.ts";

const CHAIN_ID = 1234;
const contract = "net1234:accevwy4mh5ewcfbz777wggwj3rxy68yya5whpve87";
const hashOf = (number: number): string => `0x${number.toString(16).padStart(64, "0")}`;
const epochText = (epoch: number): string => `0x${epoch.toString(16)}`;

/** Epoch n has one block, with one log that has the topic n. */
const logAt = (epoch: number) => ({
  address: contract.toUpperCase(),
  topics: [hashOf(epoch)],
  blockHash: hashOf(epoch),
  epochNumber: epochText(epoch),
  data: "0x",
  transactionHash: hashOf(epoch),
  transactionIndex: "0x0",
  logIndex: "0x0",
  transactionLogIndex: "0x0",
});

const NEWEST = 2000;
type Filter = { fromEpoch: string; toEpoch: string; blockHashes?: string[]; limit?: string };
const range = ({ fromEpoch, toEpoch }: Filter) => {
  const [from, to] = [Number(fromEpoch), Number(toEpoch)];
  return Array.from({ length: to - from + 1 }, (_, index) => logAt(from + index));
};

/** A node that answers every epoch tag, and log queries with the given function. */
const nodeWith = (logs: (filter: Filter) => unknown): Script => ({
  cfx_epochNumber: ([tag]: [string]) =>
    epochText({ latest_state: NEWEST, latest_mined: NEWEST + 4 }[tag] ?? 0),
  cfx_getLogs: ([filter]: [Filter]) => logs(filter),
});

type Limits = { readonly blocks?: number; readonly results: number };
const ask = (
  filter: object,
  script: Script,
  logs: Limits = { results: 100 },
  upstreamCalls: number | undefined = 200,
) =>
  call("cfx_getLogs", [filter], script, {
    head: NEWEST,
    network: {
      ...{ chainId: CHAIN_ID, family: "conflux" },
      limits: { logs: { blocks: undefined, ...logs }, upstreamCalls },
    },
  });
const epochsOf = (result: unknown): number[] =>
  (result as { epochNumber: string }[]).map(({ epochNumber }) => Number(epochNumber));
const askedFor = (asked: readonly unknown[][]) =>
  asked.flatMap(([method, params]) => (method === "cfx_getLogs" ? [(params as [Filter])[0]] : []));

describe("cfx_getLogs over nodes that keep no epochs here", () => {
  it("sends both epochs, never limit and offset", async () => {
    const { result, asked } = await ask(
      { limit: "0x2", offset: "0x1", address: contract },
      nodeWith(range),
    );
    expect(epochsOf(result)).toEqual([1998, 1999]);
    expect(askedFor(asked)[0]).toEqual({
      ...{ address: contract, fromEpoch: "0x3e9", toEpoch: "0x7d0" },
    });
  });

  it("fetches from the newest end, and stops when it has enough", async () => {
    const { asked } = await ask({ fromEpoch: "0x0", limit: "0x1" }, nodeWith(range));
    expect(askedFor(asked).map(({ toEpoch }) => toEpoch)).toEqual(["0x7d0"]);
  });

  it("asks for smaller pieces of a node that has too many logs in one", async () => {
    const node = nodeWith((filter) => {
      const logs = range(filter);
      if (logs.length <= 300) return logs;
      const data = '"This query results in too many logs, max limitation is 300, please filter"';
      return refusing({ code: -32602, message: "Invalid parameters: filter", data })();
    });
    const { result } = await ask({ fromEpoch: "0x0", offset: "0x64", limit: "0x40" }, node);
    expect(epochsOf(result)).toEqual(Array.from({ length: 64 }, (_, index) => 1837 + index));
  });

  it("asks for as much as a node says that it takes at most", async () => {
    const node = nodeWith((filter) => {
      if (Number(filter.toEpoch) - Number(filter.fromEpoch) < 900) return [];
      const data = "block_range_too_large: max_gap 900";
      const message = "Filter error: to_epoch - from_epoch exceeds max_gap: 900";
      return refusing({ code: -32602, message, data })();
    });
    const { asked } = await ask({ fromEpoch: "0x0" }, node);
    expect(
      askedFor(asked).map(({ fromEpoch, toEpoch }) => [fromEpoch, toEpoch].map(Number)),
    ).toEqual([
      [1001, 2000],
      [1101, 2000],
      [201, 1100],
      [0, 200],
    ]);
  });

  it("asks for wider pieces again below an epoch that has too many logs", async () => {
    const dense = [logAt(NEWEST)];
    const refused = refusing({
      code: -32602,
      message: "Invalid parameters: filter",
      data: "too many logs",
    });
    const node: Script = {
      ...nodeWith((filter) => {
        if (filter.blockHashes) return dense;
        return Number(filter.toEpoch) === NEWEST ? refused() : [];
      }),
      cfx_getBlocksByEpoch: [hashOf(NEWEST)],
    };
    const { result, asked } = await ask({ fromEpoch: "0x0" }, node);
    expect(epochsOf(result)).toEqual([NEWEST]);
    expect(askedFor(asked).length).toBeLessThan(30);
  });

  it("seldom asks for more than a node takes that does not say how much", async () => {
    const node = nodeWith((filter) => {
      if (Number(filter.toEpoch) - Number(filter.fromEpoch) < 62) return [];
      return refusing({ code: -32602, message: "the block range is too large" })();
    });
    const { asked } = await ask({ fromEpoch: "0x0" }, node);
    expect(askedFor(asked).length).toBeLessThan(50); // 33 if the width were known
  });

  it("does not take what a node of 2021 cut for the whole", async () => {
    const node = nodeWith((filter) => range(filter).slice(-100)); // its last hundred logs, without telling that it cut them
    const { result } = await ask({ fromEpoch: "0x0", offset: "0xc8", limit: "0x5" }, node);
    expect(epochsOf(result)).toEqual([1796, 1797, 1798, 1799, 1800]);
  });

  it("sends no epochs beside block hashes, and counts limit and offset there too", async () => {
    const hashes = [hashOf(7), hashOf(8), hashOf(9)];
    const node = nodeWith(({ blockHashes }) => blockHashes?.map((hash) => logAt(Number(hash))));
    const filter = { blockHashes: hashes, fromEpoch: "0x1", toEpoch: "0x2", offset: "0x1" };
    const { result, asked } = await ask(filter, node);
    expect(epochsOf(result)).toEqual([7, 8]);
    expect(askedFor(asked)).toEqual([{ blockHashes: hashes }]);
  });

  it("puts blocks with too many logs together one by one, in chain order", async () => {
    const node = nodeWith(({ blockHashes = [] }) =>
      blockHashes.length > 1
        ? refusing({ code: -32602, message: "Invalid parameters: filter", data: "too many logs" })()
        : [logAt(Number(blockHashes[0]))],
    );
    const { result } = await ask({ blockHashes: [hashOf(9), hashOf(7), hashOf(8)] }, node);
    expect(epochsOf(result)).toEqual([7, 8, 9]);
  });

  it("asks for an epoch by its blocks when even that may be cut", async () => {
    const dense = Array.from({ length: 150 }, (_, index) => ({
      ...logAt(NEWEST),
      logIndex: `0x${index.toString(16)}`,
    }));
    const all = (filter: Filter) =>
      range(filter).flatMap((log) => (Number(log.epochNumber) === NEWEST ? dense : [log]));
    const node: Script = {
      ...nodeWith((filter) => (filter.blockHashes ? dense : all(filter).slice(-100))),
      cfx_getBlocksByEpoch: [hashOf(NEWEST)],
    };
    const { result } = await ask({ offset: "0x96", limit: "0x2" }, node);
    expect(epochsOf(result)).toEqual([1998, 1999]);
  });

  it("leaves out null, and does not take what a node says of unknown members for its limits", async () => {
    const nulls = await ask({ fromEpoch: "0x7d0", fromBlock: null, topics: null }, nodeWith(range));
    expect(askedFor(nulls.asked)).toEqual([{ fromEpoch: "0x7d0", toEpoch: "0x7d0" }]);
    const refusal = {
      code: -32602,
      message: "Invalid params: unknown field `max_gap: 1`, expected",
    };
    const node = nodeWith(() => refusing(refusal)());
    const asked = ask({ fromEpoch: "0x1", toEpoch: "0x64", "max_gap: 1": 1 }, node);
    await expect(asked).rejects.toMatchObject(refusal);
  });

  it.each([null, {}, "abc", 5, "0xffffffffffffffffff"])(
    "is 502 over a node whose epochs are %j",
    async (epoch) => {
      const node = { ...nodeWith(range), cfx_epochNumber: epoch };
      await expect(ask({ fromEpoch: "latest_finalized" }, node)).rejects.toMatchObject({
        status: 502,
      });
    },
  );

  it.each([[[null]], [[1, "x"]], [{}], [null]])(
    "is 502 over a node whose logs are %j",
    async (logs) => {
      await expect(
        ask(
          { fromEpoch: "0x7d0" },
          nodeWith(() => logs),
        ),
      ).rejects.toMatchObject({ status: 502 });
    },
  );

  it("passes on what it does not know", async () => {
    const { asked } = await ask({ fromEpoch: "0x7d0", spice: 1 }, nodeWith(range));
    expect(askedFor(asked)).toEqual([{ fromEpoch: "0x7d0", toEpoch: "0x7d0", spice: 1 }]);
    const byNumber = { fromBlock: "0x1", toBlock: "0x2", limit: "0x1" };
    const blocks = await ask(
      byNumber,
      nodeWith(() => [logAt(1), logAt(2)]),
    );
    expect(askedFor(blocks.asked)).toEqual([{ fromBlock: "0x1", toBlock: "0x2" }]);
    expect(epochsOf(blocks.result)).toEqual([2]);
  });

  const filterError = (why: string) => `Error processing request: Filter error: ${why}`;
  it.each([
    [
      { fromEpoch: "0x20", toEpoch: "0x10" },
      -32016,
      filterError("Filter has wrong epoch numbers set (from: 32, to: 16)"),
    ],
    [
      { fromEpoch: "0x7d1", toEpoch: "0x7d1" },
      -32016,
      filterError("Filter has wrong epoch numbers set (from: 2001, to: 2000)"),
    ],
    [
      { fromEpoch: "0x900" },
      -32016,
      filterError("Invalid params: expected a numbers with less than largest epoch number."),
    ],
    [
      { blockHashes: Array.from({ length: 129 }, (_, index) => hashOf(index)) },
      -32602,
      "filter.block_hashes can contain up to 128 hashes; 129 were provided.",
    ],
  ])("%o is refused in the nodes' words", async (filter, code, message) => {
    await expect(ask(filter, nodeWith(range))).rejects.toMatchObject({ code, message });
  });

  const taking = (most: number, logs: (filter: Filter) => readonly unknown[]) =>
    nodeWith((filter) => {
      const [from, to] = [Number(filter.fromEpoch), Number(filter.toEpoch)];
      const words = `is larger than max_gap (from: ${from}, to: ${to}, max_gap: ${most})`;
      const message = filterError(`The gap between from_epoch and to_epoch ${words}`);
      return to - from < most ? logs(filter) : refusing({ code: -32016, message })();
    });

  it("has no widest range of its own: the calls of nodes bound it, with newest epochs that work", async () => {
    const none = taking(5, () => []);
    const wide = ask({ fromEpoch: "0x0" }, none, { results: 100 }, 50);
    const told = await wide.then(
      () => undefined,
      (error: unknown) => error,
    );
    expect(told).toMatchObject({
      code: -32005,
      message: expect.stringMatching(
        /^query needs more than 50 calls to nodes. Try with this epoch range \[0x[0-9a-f]+, 0x7d0\].$/,
      ),
      data: { rule: "upstreamCalls", to: "0x7d0", limit: 50 },
    });
    const { from: fromEpoch, to: toEpoch } = (told as { data: { from: string; to: string } }).data;
    expect(Number(toEpoch) - Number(fromEpoch)).toBeGreaterThan(100);
    const { result } = await ask({ fromEpoch, toEpoch }, none, { results: 100 }, 50);
    expect(result).toEqual([]);
  });

  it("answers as many as are wanted, though nobody knows whether there are more", async () => {
    const newest = taking(20, (filter) =>
      range(filter).filter(({ epochNumber }) => Number(epochNumber) > 1_990),
    );
    const { result } = await ask({ fromEpoch: "0x0" }, newest, { results: 10 }, 50);
    expect(epochsOf(result)).toEqual(Array.from({ length: 10 }, (_, index) => 1_991 + index));
  });

  it("refuses a range that is wider than the network's", async () => {
    const limits = { blocks: 100, results: 100 };
    const message = filterError(
      "The gap between from_epoch and to_epoch is larger than max_gap (from: 1, to: 101, max_gap: 100)",
    );
    const wide = ask({ fromEpoch: "0x1", toEpoch: "0x65" }, nodeWith(range), limits);
    await expect(wide).rejects.toMatchObject({ code: -32016, message });
    const { result } = await ask({ fromEpoch: "0x1", toEpoch: "0x64" }, nodeWith(range), limits);
    expect(epochsOf(result)).toHaveLength(100);
  });

  it("throws a node's other refusals as they are", async () => {
    const refusal = {
      code: -32016,
      message: filterError("Epoch is smaller than the earliest epoch stored"),
    };
    const refused = ask(
      { fromEpoch: "0x1" },
      nodeWith(() => refusing(refusal)()),
    );
    await expect(refused).rejects.toMatchObject(refusal);
  });
});
