import { describe, expect, it } from "vitest";
import { call } from "../../test/support/scripted-context.ts";
import { declaredMethods } from "./catalogue.ts";
import type { CallContext } from "./method.ts";

const data = "0x68656c6c6f20776f726c64"; // hello world
const keccak = "0x47173285a8d7341e5e972fc677286384f802f8ef42a5ec5f03bbfa254cb01fad";

describe("what the gateway knows itself", () => {
  it.each([
    { name: "eth_chainId", params: [], want: "0x1" },
    { name: "eth_accounts", params: [], want: [] },
    { name: "web3_sha3", params: [data], want: keccak },
  ])("$name is $want, and nobody is asked", async ({ name, params, want }) => {
    expect(await call(name, params)).toEqual({ result: want, asked: [] });
  });

  it("is answered at once when it is a hash", () => {
    const method = declaredMethods.find(({ name }) => name === "web3_sha3");
    expect(method?.answer({ data }, {} as CallContext)).toBe(`"${keccak}"`);
  });
});

describe("the head", () => {
  it("is the node's newest for a lone call", async () => {
    const told = await call("eth_blockNumber", [], { eth_blockNumber: "0x65" });
    expect(told).toEqual({ result: "0x65", asked: [["eth_blockNumber", []]] });
  });

  it("is the one that all members of a batch see", async () => {
    const told = await call("eth_blockNumber", [], {}, { isBatch: true });
    expect(told).toEqual({ result: "0x64", asked: [] });
  });
});

describe("what is passed on", () => {
  it.each([
    { name: "eth_getFilterChanges", params: ["0x1"], want: ["0x1"] },
    { name: "eth_newPendingTransactionFilter", params: [null], want: [] },
    { name: "trace_rawTransaction", params: ["0x", ["trace"]], want: ["0x", ["trace"]] },
    { name: "trace_callMany", params: [[]], want: [[], "0x64"] },
    { name: "eth_feeHistory", params: [4, "latest", null], want: [4, "0x64"] },
    { name: "cfx_epochNumber", params: [], want: [] },
  ])("$name $params goes as $want", async ({ name, params, want }) => {
    const { asked } = await call(name, params, { [name]: null }, { isBatch: true });
    expect(asked).toEqual([[name, want]]);
  });

  it("is -32601 when no upstream has it", async () => {
    await expect(call("trace_get", [keccak, []])).rejects.toMatchObject({ code: -32601 });
  });
});
