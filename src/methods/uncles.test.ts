import { describe, expect, it } from "vitest";
import { call } from "../../test/support/scripted-context.ts";

const hash = `0x${"ab".repeat(32)}`;
const header = { number: "0x5", hash, uncles: [] };

describe("an uncle", () => {
  it.each([
    { block: hash, want: ["eth_getUncleByBlockHashAndIndex", [hash, "0x0"]] },
    { block: "0x5", want: ["eth_getUncleByBlockNumberAndIndex", ["0x5", "0x0"]] },
    { block: "latest", want: ["eth_getUncleByBlockNumberAndIndex", ["0x64", "0x0"]] },
    { block: { blockHash: hash }, want: ["eth_getUncleByBlockHashAndIndex", [hash, "0x0"]] },
  ])("of $block is asked as $want", async ({ block, want }) => {
    const script = {
      eth_getUncleByBlockHashAndIndex: header,
      eth_getUncleByBlockNumberAndIndex: { ...header, transactions: [] },
    };
    for (const name of Object.keys(script)) {
      const told = await call(name, [block, "0x0"], script);
      expect(told).toEqual({ result: header, asked: [want] });
    }
  });

  it("is null at an index that no block has", async () => {
    const params = [hash, `0x${"f".repeat(20)}`];
    const told = await call("eth_getUncleByBlockHashAndIndex", params);
    expect(told).toEqual({ result: null, asked: [] });
  });
});

describe("uncles of a node without the methods", () => {
  const script = (uncles: readonly string[] | undefined) => ({
    eth_getBlockByHash: { ...header, uncles },
    eth_getBlockByNumber: null,
  });

  it.each([
    { name: "eth_getUncleCountByBlockHash", params: [hash], uncles: [hash], want: "0x1" },
    { name: "eth_getUncleCountByBlockHash", params: [hash], uncles: [], want: "0x0" },
    { name: "eth_getUncleCountByBlockHash", params: [hash], uncles: undefined, want: "0x0" },
    { name: "eth_getUncleCountByBlockNumber", params: ["0x9"], uncles: [], want: null },
    { name: "eth_getUncleByBlockHashAndIndex", params: [hash, "0x1"], uncles: [hash], want: null },
    { name: "eth_getUncleByBlockNumberAndIndex", params: ["0x9", "0x0"], uncles: [], want: null },
  ])("$name $params beside $uncles is $want", async ({ name, params, uncles, want }) => {
    expect((await call(name, params, script(uncles))).result).toBe(want);
  });

  it("are not to be had when there are some", async () => {
    const params = [hash, "0x0"];
    await expect(
      call("eth_getUncleByBlockHashAndIndex", params, script([hash])),
    ).rejects.toMatchObject({ code: -32601 });
  });
});
