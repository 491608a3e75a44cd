import { describe, expect, it } from "vitest";
import { call, refusing } from "../../test/support/scripted-context.ts";

const hash = `0x${"ab".repeat(32)}`;
const mined = { blockHash: hash, blockNumber: "0x5", transactionIndex: "0x0" };
const pending = { blockHash: null, blockNumber: null, transactionIndex: null };

describe("a transaction", () => {
  it.each([
    { node: mined, want: mined },
    { node: pending, want: pending },
    { node: {}, want: pending },
    { node: { blockHash: null }, want: pending },
    { node: { blockHash: null, blockNumber: "0x5", transactionIndex: "0x0" }, want: pending },
    { node: { blockHash: hash, blockNumber: null, transactionIndex: null }, want: pending },
    {
      node: { blockHash: hash, blockNumber: "0x5" },
      want: { blockHash: hash, blockNumber: "0x5" },
    },
  ])("that a node places at $node is at $want", async ({ node, want }) => {
    const script = { eth_getTransactionByHash: { hash, extra: 1, ...node } };
    const { result } = await call("eth_getTransactionByHash", [hash], script);
    expect(result).toEqual({ hash, extra: 1, ...want });
  });

  it("is null when it is unknown", async () => {
    const nodes = [null, refusing({ code: -32000, message: "transaction not found" })];
    for (const node of nodes) {
      const script = { eth_getTransactionByHash: node };
      expect((await call("eth_getTransactionByHash", [hash], script)).result).toBeNull();
    }
  });

  it("of the pending block has no place", async () => {
    const script = { eth_getTransactionByBlockNumberAndIndex: { hash, ...mined } };
    const params = ["pending", "0x0"];
    const { result } = await call("eth_getTransactionByBlockNumberAndIndex", params, script);
    expect(result).toEqual({ hash, ...pending });
  });

  it("is null at an index that no block has", async () => {
    const params = [hash, `0x${"f".repeat(32)}`];
    const told = await call("eth_getTransactionByBlockHashAndIndex", params);
    expect(told).toEqual({ result: null, asked: [] });
  });

  it("goes out as it came, and a refusal comes back", async () => {
    const script = {
      eth_sendRawTransaction: refusing({ code: -32000, message: "nonce too low" }),
    };
    await expect(call("eth_sendRawTransaction", ["0x02ab"], script)).rejects.toMatchObject({
      code: -32000,
      message: "nonce too low",
    });
  });
});
