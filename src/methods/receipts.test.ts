import { describe, expect, it } from "vitest";
import { call, refusing } from "../../test/support/scripted-context.ts";

const hashOf = (digit: string): string => `0x${digit.repeat(64)}`;
const blockHash = hashOf("b");
const receiptOf = (transactionHash: string, of = blockHash) => ({ transactionHash, blockHash: of });

describe("a receipt", () => {
  it.each([
    { why: "the node says null", node: null },
    { why: "the transaction is pending", node: receiptOf(hashOf("1"), null as never) },
    {
      why: "the node has no such transaction",
      node: refusing({ code: -32000, message: "transaction not found" }),
    },
  ])("is null when $why", async ({ node }) => {
    const script = { eth_getTransactionReceipt: node };
    expect((await call("eth_getTransactionReceipt", [hashOf("1")], script)).result).toBeNull();
  });

  it("is not null when the node only does not know yet", async () => {
    const message = "transaction indexing is in progress";
    const script = { eth_getTransactionReceipt: refusing({ code: -32000, message }) };
    await expect(call("eth_getTransactionReceipt", [hashOf("1")], script)).rejects.toMatchObject({
      message,
    });
  });
});

describe.each(["eth_getTransactionReceiptsByBlock", "eth_getBlockReceipts"])("%s", (name) => {
  const receipts = [receiptOf(hashOf("1")), receiptOf(hashOf("2"))];

  it.each([
    { block: "0x5", want: "0x5" },
    { block: blockHash, want: blockHash },
    { block: { blockHash }, want: blockHash },
    { block: { blockNumber: "0x5" }, want: "0x5" },
    { block: "latest", want: "0x64" },
    { block: "earliest", want: "0x0" },
  ])("asks for $block as $want", async ({ block, want }) => {
    const told = await call(name, [block], { eth_getBlockReceipts: receipts });
    expect(told).toEqual({ result: receipts, asked: [["eth_getBlockReceipts", [want]]] });
  });

  it("asks what is finalized", async () => {
    const script = { eth_getBlockReceipts: [], eth_getBlockByNumber: { number: "0x3" } };
    const { result, asked } = await call(name, ["finalized"], script);
    expect(result).toEqual([]);
    expect(asked.at(-1)).toEqual(["eth_getBlockReceipts", ["0x3"]]);
    const young = { eth_getBlockByNumber: null };
    await expect(call(name, ["finalized"], young)).rejects.toThrow("finalized block not found");
  });

  it.each(["pending", { blockNumber: "pending" }, `0x${"f".repeat(40)}`])(
    "gives null for %j without asking",
    async (block) => {
      expect(await call(name, [block])).toEqual({ result: null, asked: [] });
    },
  );

  it("gives null for an unknown block", async () => {
    for (const node of [null, refusing({ code: -32000, message: "block not found" })]) {
      expect((await call(name, ["0x5"], { eth_getBlockReceipts: node })).result).toBeNull();
    }
    const oneByOne = { eth_getBlockByNumber: null };
    expect((await call(name, ["0x5"], oneByOne)).result).toBeNull();
  });

  it("speaks the other dialect", async () => {
    const script = { eth_getTransactionReceiptsByBlock: receipts };
    expect((await call(name, ["0x5"], script)).result).toEqual(receipts);
  });

  it("collects receipts one by one, in the order of the block", async () => {
    const transactions = [..."123456789abcdef0123456789"].map(hashOf);
    const { result, asked } = await call(name, [blockHash], {
      eth_getBlockByHash: { number: "0x5", hash: blockHash, transactions },
      eth_getTransactionReceipt: ([hash]: [string]) => receiptOf(hash),
    });
    expect(result).toEqual(transactions.map((hash) => receiptOf(hash)));
    expect(asked).toHaveLength(2 + 1 + transactions.length);
  });

  it("gives [] for an empty block", async () => {
    const empty = { number: "0x5", hash: blockHash, transactions: [] };
    expect((await call(name, ["0x5"], { eth_getBlockByNumber: empty })).result).toEqual([]);
  });

  it("begins again when the block changes meanwhile, once", async () => {
    const other = hashOf("c");
    let reads = 0;
    const script = (settles: boolean) => ({
      eth_getBlockByNumber: () => {
        reads += 1;
        const hash = settles && reads > 1 ? other : blockHash;
        return { number: "0x5", hash, transactions: [hashOf("1")] };
      },
      eth_getTransactionReceipt: receiptOf(hashOf("1"), other),
    });
    expect((await call(name, ["0x5"], script(true))).result).toEqual([
      receiptOf(hashOf("1"), other),
    ]);
    await expect(call(name, ["0x5"], script(false))).rejects.toMatchObject({
      code: -32000,
      message: "the block changed while its receipts were read",
    });
  });

  it("refuses a block that is not canonical, if it must be", async () => {
    const block = { blockHash, requireCanonical: true };
    const script = (canonical: string, known = true) => ({
      eth_getBlockByHash: known ? { number: "0x5", hash: blockHash } : null,
      eth_getBlockByNumber: { number: "0x5", hash: canonical },
      eth_getBlockReceipts: receipts,
    });
    expect((await call(name, [block], script(blockHash))).result).toEqual(receipts);
    expect((await call(name, [block], script(blockHash, false))).result).toBeNull();
    await expect(call(name, [block], script(hashOf("c")))).rejects.toMatchObject({
      code: -32000,
      message: "hash is not currently canonical",
    });
  });

  it("does not take any other failure for a dialect", async () => {
    const script = { eth_getBlockReceipts: refusing({ code: -32005, message: "slow down" }) };
    await expect(call(name, ["0x5"], script)).rejects.toMatchObject({ message: "slow down" });
  });
});
