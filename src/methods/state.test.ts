import { describe, expect, it } from "vitest";
import { call, refusing } from "../../test/support/scripted-context.ts";

const address = `0x${"cd".repeat(20)}`;
const hash = `0x${"ab".repeat(32)}`;

describe("the block of a state method", () => {
  it.each([
    { params: [address, "latest"], want: [address, "latest"] },
    { params: [address], want: [address, "latest"] },
    { params: [address, null], want: [address, "latest"] },
    { params: [address, "0x5"], want: [address, "0x5"] },
    { params: [address, { blockNumber: "0x5" }], want: [address, "0x5"] },
    { params: [address, { blockHash: hash, x: 1 }], want: [address, { blockHash: hash, x: 1 }] },
    { params: [address], isBatch: true, want: [address, "0x64"] },
    { params: [address, "latest"], isBatch: true, want: [address, "0x64"] },
    { params: [address, "pending"], isBatch: true, want: [address, "pending"] },
  ])("of $params goes as $want", async ({ params, isBatch = false, want }) => {
    const told = await call("eth_getCode", params, { eth_getCode: "0x" }, { isBatch });
    expect(told).toEqual({ result: "0x", asked: [["eth_getCode", want]] });
  });

  it.each([
    { code: -32000, message: "header not found" },
    { code: -32000, message: "block not found: 999" },
    { code: -39001, message: "Unknown block" },
    { code: -32602, message: "BlockOutOfRangeError: block height is 2 but requested was 999" },
    { code: -32001, message: "Resource not found" },
  ])("that is unknown is `header not found`, also when the node says $message", async (error) => {
    const script = { eth_getBalance: refusing(error) };
    await expect(call("eth_getBalance", [address, "0x999"], script)).rejects.toMatchObject({
      code: -32001,
      message: "header not found",
    });
  });

  const known = { number: "0x5", hash };

  it.each([
    [
      "anvil",
      "0x5",
      { code: -32602, message: "BlockOutOfRangeError: block height is 9 but requested was 5" },
    ],
    ["geth", "0x5", { code: -32000, message: "header not found" }],
    ["geth, by hash", { blockHash: hash }, { code: -32000, message: "header for hash not found" }],
    ["anvil, of its first block", "earliest", { code: -32001, message: "Resource not found" }],
  ])("that is known is no `header not found`, whatever %s says", async (_, block, error) => {
    const blocks = { eth_getBlockByNumber: known, eth_getBlockByHash: known };
    const script = { eth_getBalance: refusing(error), ...blocks };
    await expect(call("eth_getBalance", [address, block], script)).rejects.toMatchObject({
      code: -32000,
      message: expect.stringMatching(
        /^missing trie node: the state of block 0x\w+ is not available$/,
      ),
    });
  });

  it("that is known has no state where Besu says null", async () => {
    const script = { eth_getBalance: null, eth_getBlockByNumber: known };
    await expect(call("eth_getBalance", [address, "0x5"], script)).rejects.toMatchObject({
      code: -32000,
    });
    await expect(
      call("eth_getBalance", [address, "0x5"], { ...script, eth_getBlockByNumber: null }),
    ).rejects.toMatchObject({ code: -32001 });
  });

  it("that no chain reaches is not asked for", async () => {
    const far = { blockNumber: `0x${"f".repeat(32)}` };
    await expect(call("eth_getCode", [address, far])).rejects.toThrow("header not found");
  });

  it("whose state is pruned is told in the node's own words", async () => {
    const message = "missing trie node 0abc (path )";
    const script = { eth_getCode: refusing({ code: -32000, message }) };
    await expect(call("eth_getCode", [address, "0x1"], script)).rejects.toMatchObject({ message });
  });
});
