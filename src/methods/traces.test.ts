import { describe, expect, it } from "vitest";
import { call, refusing, type Script } from "../../test/support/scripted-context.ts";
import { errors } from "../jsonrpc/rpc-error.ts";

const word = (byte: string): string => `0x${byte.repeat(32)}`;
const account = (byte: string): string => `0x${byte.repeat(20)}`;
const hash = word("aa");
const blockHash = word("bb");
const [sender, contract, other] = [account("01"), account("02"), account("03")];

const transaction = {
  ...{ hash, blockHash, blockNumber: "0x5", transactionIndex: "0x0" },
  ...{ from: sender, to: contract, input: "0x", value: "0x0", gas: "0x10000" },
};
const block = {
  hash: blockHash,
  number: "0x5",
  gasLimit: "0x1000000",
  withdrawalsRoot: word("cc"),
};
const chain: Script = {
  eth_getTransactionByHash: ([asked]: [string]) => (asked === hash ? transaction : null),
  eth_getBlockByHash: (params: unknown[]) =>
    params[1] ? { ...block, transactions: [transaction] } : block,
  eth_getBlockByNumber: ([number]: [string]) =>
    number === "0x5" ? { ...block, transactions: [transaction] } : null,
};

/** The results of geth's tracers for the transaction: a call that makes a call, and the sender's new nonce. */
const frame = {
  ...{ type: "CALL", from: sender, to: contract, value: "0x0", input: "0x", output: "0x2a" },
  ...{ gas: "0x10000", gasUsed: "0x5300" },
  calls: [
    { type: "STATICCALL", from: contract, to: other, gas: "0x100", gasUsed: "0x1", input: "0x12" },
  ],
};
const diff = { pre: { [sender]: { balance: "0x64", nonce: 1 } }, post: { [sender]: { nonce: 2 } } };

type Tracing = { tracer?: string; tracerConfig?: { diffMode?: boolean } };
const debug = (tracing: Tracing): unknown => {
  if (tracing.tracer === "callTracer") return frame;
  if (tracing.tracer === "prestateTracer")
    return tracing.tracerConfig?.diffMode ? diff : { [contract]: { code: "0x602a00" } };
  return refusing({ code: -32000, message: "tracer not found" })();
};
const geth: Script = {
  ...chain,
  debug_traceTransaction: ([, tracing]: [string, Tracing]) => debug(tracing),
};

const top = {
  action: {
    from: sender,
    callType: "call",
    gas: "0xadf8",
    input: "0x",
    to: contract,
    value: "0x0",
  },
  result: { gasUsed: "0xf8", output: "0x2a" },
  ...{ subtraces: 1, traceAddress: [], type: "call" },
};
const child = {
  action: {
    from: contract,
    callType: "staticcall",
    gas: "0x100",
    input: "0x12",
    to: other,
    value: "0x0",
  },
  result: { gasUsed: "0x1", output: "0x" },
  ...{ subtraces: 0, traceAddress: [0], type: "call" },
};
const place = { blockHash, blockNumber: 5, transactionHash: hash, transactionPosition: 0 };

describe("the call tree of a transaction", () => {
  const sources: Record<string, Script> = {
    trace_transaction: {
      trace_transaction: [
        { ...top, ...place },
        { ...child, ...place },
      ],
    },
    trace_replayTransaction: { trace_replayTransaction: { output: "0x2a", trace: [top, child] } },
    callTracer: geth,
    trace_block: {
      trace_block: [
        { ...top, ...place },
        { ...child, ...place },
      ],
    },
    debug_traceBlockByHash: { debug_traceBlockByHash: [{ txHash: hash, result: frame }] },
    "debug_traceBlockByHash without names": { debug_traceBlockByHash: [{ result: frame }] },
    debug_traceBlockByNumber: { debug_traceBlockByNumber: [{ txHash: hash, result: frame }] },
    trace_replayBlockTransactions: {
      trace_replayBlockTransactions: [
        { output: "0x2a", trace: [top, child], transactionHash: hash },
      ],
    },
  };

  it.each(Object.keys(sources))("is the same from %s", async (name) => {
    const script = { ...chain, ...sources[name] };
    const traces = await call("trace_transaction", [hash], script);
    expect(traces.result).toEqual([
      { ...top, ...place },
      { ...child, ...place },
    ]);
    const replay = await call("trace_replayTransaction", [hash, ["trace"]], script);
    expect(replay.result).toEqual({
      ...{ output: "0x2a", stateDiff: null, trace: [top, child], vmTrace: null },
    });
  });

  it.each([
    [["0x0"], { ...child, ...place }],
    [[], { ...top, ...place }],
    [["0x1"], null],
    [["0x0", "0x0"], null],
  ])("has at %j what trace_get gives", async (path, want) => {
    expect((await call("trace_get", [hash, path], geth)).result).toEqual(want);
  });

  it("is not that of another transaction of the block", async () => {
    const script = { ...chain, debug_traceBlockByHash: [{ txHash: word("ee"), result: frame }] };
    await expect(call("trace_transaction", [hash], script)).rejects.toMatchObject({
      code: -32601,
      message: expect.stringContaining("debug_traceTransaction with callTracer"),
    });
  });

  it("is not that of another branch of the chain", async () => {
    const elsewhere = { ...top, subtraces: 0, ...place, blockHash: word("dd") };
    const script = { ...geth, trace_block: [elsewhere] };
    expect((await call("trace_transaction", [hash], script)).result).toHaveLength(2);
  });
});

describe("a replay", () => {
  it("has the parts that were asked for", async () => {
    const { result } = await call("trace_replayTransaction", [hash, ["stateDiff"]], geth);
    expect(result).toEqual({
      ...{ output: "0x2a", trace: [], vmTrace: null },
      stateDiff: {
        [sender]: {
          ...{ balance: "=", code: "=", storage: {} },
          nonce: { "*": { from: "0x1", to: "0x2" } },
        },
      },
    });
  });

  it("makes each part once, however often it is named", async () => {
    const { result, asked } = await call(
      "trace_replayTransaction",
      [hash, ["trace", "trace", "stateDiff", "trace"]],
      { ...geth, trace_replayTransaction: { output: "0x2a", trace: [top, child], stateDiff: {} } },
    );
    expect(result).toMatchObject({ trace: [top, child], stateDiff: {} });
    expect(asked).toEqual([["trace_replayTransaction", [hash, ["trace", "stateDiff"]]]]);
  });

  it("goes on to other ways when one of them fails", async () => {
    const failing = () => {
      throw errors.upstreamsFailed();
    };
    const script = { ...geth, trace_transaction: failing, trace_replayTransaction: failing };
    const { result } = await call("trace_replayTransaction", [hash, ["trace"]], script);
    expect(result).toMatchObject({ output: "0x2a", trace: [top, child] });
  });

  it("of nothing has its output", async () => {
    const { result } = await call("trace_replayTransaction", [hash, []], geth);
    expect(result).toEqual({ output: "0x2a", stateDiff: null, trace: [], vmTrace: null });
  });

  it("of a reverted transaction has what it returned, where its traces do not say", async () => {
    const failed = { ...top, subtraces: 0, ...place, error: "Reverted", result: undefined };
    const reverted = { ...frame, calls: [], error: "execution reverted", output: "0x08c379a0" };
    const script = {
      ...{ ...chain, trace_transaction: [failed] },
      debug_traceTransaction: reverted,
    };
    const { result } = await call("trace_replayTransaction", [hash, ["trace"]], script);
    expect(result).toMatchObject({ output: "0x08c379a0", trace: [{ error: "Reverted" }] });
  });

  it.each([[word("ff")], [hash]])("of %s that no block has is refused", async (unknown) => {
    const pending = { ...transaction, blockHash: null, blockNumber: null, transactionIndex: null };
    const script = { ...geth, eth_getTransactionByHash: unknown === hash ? pending : null };
    await expect(
      call("trace_replayTransaction", [unknown, ["trace"]], script),
    ).rejects.toMatchObject({ code: -32000, message: "transaction not found" });
    expect((await call("trace_get", [unknown, []], script)).result).toBeNull();
  });

  it("is refused in the node's words where the state is pruned", async () => {
    const pruned = { code: -32000, message: "missing trie node 0x12" };
    const script = { ...chain, trace_replayTransaction: refusing(pruned) };
    await expect(call("trace_replayTransaction", [hash, ["trace"]], script)).rejects.toMatchObject(
      pruned,
    );
  });

  it("says what is missing where no node traces", async () => {
    await expect(call("trace_replayTransaction", [hash, ["vmTrace"]], chain)).rejects.toMatchObject(
      {
        code: -32601,
        message: expect.stringContaining("steps"),
      },
    );
  });

  it.each([["trace"], [["call"]], [["trace", 1]]])("with the types %j is -32602", async (types) => {
    await expect(call("trace_replayTransaction", [hash, types], geth)).rejects.toMatchObject({
      code: -32602,
    });
  });
});

describe("the traces of a block", () => {
  const reward = {
    action: { author: other, rewardType: "block", value: "0x1" },
    ...{ blockHash, blockNumber: 5, result: null, subtraces: 0, traceAddress: [], type: "reward" },
  };

  it("are a node's own, with the rewards as it gives them", async () => {
    const script = { ...chain, trace_block: [{ ...top, subtraces: 0, ...place }, reward] };
    const { result } = await call("trace_block", ["0x5"], script);
    expect(result).toEqual([{ ...top, subtraces: 0, ...place }, reward]);
  });

  it("are put together where no node has the method", async () => {
    const want = [
      { ...top, ...place },
      { ...child, ...place },
    ];
    expect((await call("trace_block", ["0x5"], geth)).result).toEqual(want);
    const inOne = { ...chain, debug_traceBlockByHash: [{ txHash: hash, result: frame }] };
    expect((await call("trace_block", [blockHash], inOne)).result).toEqual(want);
  });

  it("are null of a block that nobody knows", async () => {
    expect((await call("trace_block", ["0x6"], geth)).result).toBeNull();
    expect((await call("trace_replayBlockTransactions", ["0x6", []], geth)).result).toBeNull();
  });

  it("are replayed one by one", async () => {
    const types = ["trace", "stateDiff"];
    const { result } = await call("trace_replayBlockTransactions", ["0x5", types], geth);
    expect(result).toMatchObject([
      { output: "0x2a", trace: [top, child], transactionHash: hash, vmTrace: null },
    ]);
  });
});

describe("trace_filter", () => {
  const all = [
    { ...top, ...place },
    { ...child, ...place },
  ];
  it.each([
    [{}, all],
    [{ fromAddress: [sender] }, all.slice(0, 1)],
    [{ toAddress: [other.toUpperCase().replace("X", "x"), contract] }, all],
    [{ fromAddress: [sender], toAddress: [other] }, []],
    [{ fromAddress: [sender], toAddress: [other], mode: "union" }, all],
    [{ after: 1 }, all.slice(1)],
    [{ count: 1 }, all.slice(0, 1)],
    [{ fromAddress: [other] }, []],
  ])("%j", async (filter, want) => {
    const range = { fromBlock: "0x5", toBlock: "0x5" };
    expect((await call("trace_filter", [{ ...range, ...filter }], geth)).result).toEqual(want);
  });

  describe("with both lists, over nodes that have the method", () => {
    const at = (path: number[], from: string, to: string) => {
      const action = { ...top.action, from, to };
      return { ...top, ...place, action, traceAddress: path };
    };
    const [both, onlyFrom, onlyTo] = [
      at([1], sender, other),
      at([2], sender, contract),
      at([0], contract, other),
    ];
    type Asked = { fromAddress?: string[]; toAddress?: string[]; after?: number; count?: number };
    const paged = (list: object[], { after = 0, count = 9 }: Asked) =>
      list.slice(after, after + count);
    /** The traces that nodes give for both lists, in the order of the chain. */
    const nodes: Record<string, (asked: Asked & { mode?: string }) => object[]> = {
      "as Erigon and reth: a union unless told otherwise": ({ mode, ...asked }) => {
        if (mode === "intersection") return paged([both], asked);
        if (!asked.toAddress) return paged([both, onlyFrom], asked);
        if (!asked.fromAddress) return paged([onlyTo, both], asked);
        return paged([onlyTo, both, onlyFrom], asked);
      },
      "as Nethermind: an intersection, whatever the mode": (asked) => {
        if (!asked.toAddress) return paged([both, onlyFrom], asked);
        return paged(asked.fromAddress ? [both] : [onlyTo, both], asked);
      },
      "a union, and no mode is known": ({ mode, ...asked }) => {
        if (mode) refusing({ code: -32602, message: "unknown field `mode`" })();
        if (!asked.toAddress) return paged([both, onlyFrom], asked);
        return paged(asked.fromAddress ? [onlyTo, both, onlyFrom] : [onlyTo, both], asked);
      },
    };

    it.each(
      Object.keys(nodes).flatMap((node) => [
        { node, filter: {}, want: [both] },
        { node, filter: { mode: "intersection" }, want: [both] },
        { node, filter: { after: 0, count: 1 }, want: [both] },
        { node, filter: { after: 1 }, want: [] },
        { node, filter: { mode: "union" }, want: [onlyTo, both, onlyFrom] },
        { node, filter: { mode: "union", after: 1, count: 1 }, want: [both] },
      ]),
    )("$filter, $node", async ({ node, filter, want }) => {
      const script = { ...chain, trace_filter: ([asked]: [Asked]) => nodes[node]?.(asked) };
      const lists = { fromAddress: [sender], toAddress: [other] };
      const range = { fromBlock: "0x5", toBlock: "0x5" };
      const told = await call("trace_filter", [{ ...range, ...lists, ...filter }], script);
      expect(told.result).toEqual(want);
    });
  });

  it.each([
    [{ fromBlock: "0x0", toBlock: "0xa" }, "exceed maximum block range 10"],
    [{ fromBlock: "0x5", toBlock: "0x4" }, "invalid block range params"],
    [{ fromBlock: "0x5", toBlock: "0x65" }, "block range extends beyond current head block"],
    [{ fromAddress: sender }, /^invalid argument 0: .*want an array of addresses/],
    [{ mode: "both" }, /^invalid argument 0/],
  ])("%j is -32602", async (filter, message) => {
    await expect(call("trace_filter", [filter], geth)).rejects.toMatchObject({
      code: -32602,
      message: typeof message === "string" ? message : expect.stringMatching(message),
    });
  });
});

describe("trace_call", () => {
  const script: Script = {
    ...geth,
    debug_traceCall: ([, , tracing]: [object, string, Tracing]) => debug(tracing),
  };
  const asked = { from: sender, to: contract, gas: "0x10000" };

  it("is put together from debug_traceCall", async () => {
    const { result } = await call("trace_call", [asked, ["trace", "stateDiff"], "0x5"], script);
    expect(result).toMatchObject({ output: "0x2a", trace: [top, child], vmTrace: null });
  });

  it("tells a node that is given no gas the block's", async () => {
    const told = await call("trace_call", [{ to: contract }, ["trace"], "0x5"], script);
    const [, sent] = told.asked.find(([method]) => method === "debug_traceCall") ?? [];
    expect(sent).toMatchObject([
      { to: contract, gas: "0x1000000" },
      "0x5",
      { tracer: "callTracer" },
    ]);
  });

  it("of a block that nobody knows is -32001", async () => {
    await expect(call("trace_call", [asked, ["trace"], "0x6"], script)).rejects.toMatchObject({
      ...{ code: -32001, message: "header not found" },
    });
  });
});
