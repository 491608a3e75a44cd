import { describe, expect, it } from "vitest";
import { call, refusing } from "../../test/support/scripted-context.ts";

const hash = `0x${"ab".repeat(32)}`;
const place = { blockHash: hash, blockNumber: "0x5", transactionIndex: "0x0" };
const block = {
  number: "0x5",
  hash,
  nonce: "0x0000000000000000",
  logsBloom: "0x00",
  extra: "kept",
};

describe("a block by number", () => {
  it("is asked as it came when the call stands alone", async () => {
    const { result, asked } = await call("eth_getBlockByNumber", ["latest", true], {
      eth_getBlockByNumber: block,
    });
    expect(result).toEqual(block);
    expect(asked).toEqual([["eth_getBlockByNumber", ["latest", true]]]);
  });

  it("is the one head of the batch", async () => {
    const { asked } = await call(
      "eth_getBlockByNumber",
      ["latest", false],
      { eth_getBlockByNumber: block },
      { isBatch: true, head: 256 },
    );
    expect(asked).toEqual([["eth_getBlockByNumber", ["0x100", false]]]);
  });

  it("is null where no chain reaches, and where the node says it is unknown", async () => {
    const far = `0x${"f".repeat(64)}`;
    expect(await call("eth_getBlockByNumber", [far, false])).toEqual({ result: null, asked: [] });
    const unknown = {
      eth_getBlockByNumber: refusing({ code: -32000, message: "block not found" }),
    };
    expect((await call("eth_getBlockByNumber", ["0x9", false], unknown)).result).toBeNull();
  });

  it("has no number, hash, nonce and bloom while pending, whatever the node says", async () => {
    const transactions = [{ hash, ...place }];
    const { result } = await call("eth_getBlockByNumber", ["pending", true], {
      eth_getBlockByNumber: { ...block, transactions },
    });
    const nowhere = { blockHash: null, blockNumber: null, transactionIndex: null };
    expect(result).toEqual({
      number: null,
      hash: null,
      nonce: null,
      logsBloom: null,
      extra: "kept",
      transactions: [{ hash, ...nowhere }],
    });
  });

  it("has the node's number and bloom while pending where the network is set so", async () => {
    const script = { eth_getBlockByNumber: { ...block, transactions: [{ hash, ...place }] } };
    const network = { pending: "node" } as const;
    const params = ["pending", true];
    const { result } = await call("eth_getBlockByNumber", params, script, { network });
    const nowhere = { blockHash: null, blockNumber: null, transactionIndex: null };
    expect(result).toEqual({
      ...{ ...block, hash: null, nonce: null },
      transactions: [{ hash, ...nowhere }],
    });
  });

  it("keeps hashes of pending transactions", async () => {
    const { result } = await call("eth_getBlockByNumber", ["pending", false], {
      eth_getBlockByNumber: { ...block, transactions: [hash] },
    });
    expect(result).toMatchObject({ transactions: [hash] });
  });
});

describe("the total difficulty", () => {
  const totalDifficulty = "0xc70d808a128d7380000";
  const network = { totalDifficulty };

  it.each([
    { node: { difficulty: "0x0" }, want: totalDifficulty },
    { node: { difficulty: "0x0", totalDifficulty: null }, want: totalDifficulty },
    { node: { totalDifficulty: null, difficulty: "0x0" }, want: totalDifficulty },
    { node: { difficulty: "0x0", totalDifficulty: "0x7" }, want: "0x7" },
    { node: { difficulty: "0x4" }, want: undefined }, // before the merge, every block has another total difficulty
    { node: {}, want: undefined },
  ])("of $node is $want", async ({ node, want }) => {
    const script = { eth_getBlockByHash: { ...block, ...node } };
    const { result } = await call("eth_getBlockByHash", [hash, false], script, { network });
    expect(result).toEqual({ ...block, ...node, ...(want && { totalDifficulty: want }) });
  });

  it("is not invented where the configuration does not say it, or there is no block", async () => {
    const script = { eth_getBlockByHash: { ...block, difficulty: "0x0" } };
    const { result } = await call("eth_getBlockByHash", [hash, false], script);
    expect(result).not.toHaveProperty("totalDifficulty");
    const none = { eth_getBlockByHash: null };
    expect((await call("eth_getBlockByHash", [hash, false], none, { network })).result).toBeNull();
  });
});
