import { describe, expect, it } from "vitest";
import { contextOf } from "../../test/support/scripted-context.ts";
import { unknownMethod } from "../namespaces/known-methods.ts";
import { forwardedMethod, forwardedMethods } from "./catalogue.ts";

const METHODS = ["erigon_getLogs", "erigon_getLatestLogs"];
/** Asks for logs of a network with the head 100 and at most 50 blocks in one query. */
async function asked(name: string, params: readonly unknown[], isLimited = true) {
  const method =
    forwardedMethods.find((each) => each.name === name) ??
    forwardedMethod(unknownMethod(name, "evm"));
  const calls: unknown[][] = [];
  const limits = { logs: { blocks: isLimited ? 50 : undefined, results: 3 } };
  const context = contextOf(params, { [name]: [] }, { network: { limits } as never }, calls);
  const answer = async (): Promise<unknown> => method.answer({}, context);
  return answer().then(
    () => calls,
    ({ code, message }) => `${code} ${message}`,
  );
}

describe.each(METHODS)("%s", (name) => {
  it.each([
    [{ fromBlock: "0x33", toBlock: "0x64" }],
    [{ fromBlock: "0x33" }],
    [{ blockHash: `0x${"ab".repeat(32)}` }],
    [{ fromBlock: "0x0", toBlock: "0x31", topics: [] }, { logCount: 5 }],
  ])("is passed on unchanged within the limit: %j", async (...params) => {
    expect(await asked(name, params)).toEqual([[name, params]]);
  });

  it.each([
    [{ fromBlock: "0x32", toBlock: "0x64" }],
    [{ fromBlock: "0x32" }],
    [{}],
    [{ fromBlock: "latest" }],
    [{ fromBlock: "earliest" }],
    [{ fromBlock: null, toBlock: "latest" }],
    [{ fromBlock: 5 }],
    [{ toBlock: "0x64" }, { blockCount: 1 }],
  ])("is refused beyond it: %j", async (...params) => {
    expect(await asked(name, params)).toBe("-32602 exceed maximum block range 50");
  });

  it("is refused with members that nodes may read in place of the range", async () => {
    expect(await asked(name, [{ fromBlock: "0x60", fromblock: "0x0" }])).toBe(
      "-32602 invalid argument 0: want fromBlock, toBlock, blockHash in this spelling",
    );
  });

  it("is not limited where the network has no limit", async () => {
    const { length } = (await asked(name, [{}], false)) as unknown[];
    expect(length).toBe(1);
  });
});

it.each(["erigon_getLogsByHash", "eth_call2"])("%s has no range to be limited", async (name) => {
  const params = [`0x${"ab".repeat(32)}`];
  expect(await asked(name, params)).toEqual([[name, params]]);
});

it.each(["bor_getLogs", "bor_getLatestLogs"])(
  "an unknown log query is limited, too: %s",
  async (name) => {
    expect(await asked(name, [{}])).toBe("-32602 exceed maximum block range 50");
  },
);
