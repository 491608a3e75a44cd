// Traces of transactions that are not mined, and of unknown ones.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ask, read } from "../../support/ask.ts";
import { calling } from "./case.ts";
import { isAnvilHere, type Mined } from "./chain.ts";
import { startGatewayOver, startWatchedChain, type WatchedChain } from "./watched-chain.ts";

const NOT_FOUND = { code: -32000, message: "transaction not found" };
const unknown = `0x${"77".repeat(32)}`;
const all = ["trace", "stateDiff", "vmTrace"];

describe.skipIf(!isAnvilHere)("traces that are not there (skipped: there is no anvil)", () => {
  let node: WatchedChain;
  let gateway: Awaited<ReturnType<typeof startGatewayOver>>;
  let mined: Mined;
  let pending: string;

  beforeAll(async () => {
    node = await startWatchedChain([calling("one", "0x2a 0x00 MSTORE 0x20 0x00 RETURN")]);
    mined = node.byName.get("one") as Mined;
    await read(node.url, "evm_setAutomine", false);
    const { from } = mined.receipt;
    pending = await read(node.url, "eth_sendTransaction", { from, to: from, gas: "0x10000" });
    gateway = await startGatewayOver(node.url);
  });

  afterAll(async () => {
    await gateway.stop();
    node.close();
  });

  const answer = (method: string, ...params: unknown[]) =>
    ask(gateway.endpoint("main"), method, params);

  it.each(["an unknown", "a pending"])("cannot replay %s transaction", async (which) => {
    const hash = which === "a pending" ? pending : unknown;
    for (const types of [all, []])
      expect((await answer("trace_replayTransaction", hash, types)).error).toEqual(NOT_FOUND);
  });

  it.each(["an unknown", "a pending"])("are null of %s transaction", async (which) => {
    const hash = which === "a pending" ? pending : unknown;
    expect(await answer("trace_transaction", hash)).toMatchObject({ result: null });
    for (const path of [[], ["0x0"]])
      expect(await answer("trace_get", hash, path)).toMatchObject({ result: null });
  });

  it("are refused when their type is unknown", async () => {
    for (const types of [["trace", "everything"], ["TRACE"], "trace", [1]])
      expect((await answer("trace_replayTransaction", mined.hash, types)).error).toMatchObject({
        code: -32602,
      });
  });

  it("are empty but for the output when nothing is asked for", async () => {
    const output = `0x${"2a".padStart(64, "0")}`;
    const { result } = await answer("trace_replayTransaction", mined.hash, []);
    expect(result).toEqual({ output, stateDiff: null, trace: [], vmTrace: null });
  });

  it("are the same one by one and all together", async () => {
    const { result: together } = await answer("trace_replayTransaction", mined.hash, all);
    const parts = await Promise.all(
      all.map(async (type) => {
        const { result } = await answer("trace_replayTransaction", mined.hash, [type]);
        return [type, (result as Record<string, unknown>)[type]] as const;
      }),
    );
    expect(together).toMatchObject(Object.fromEntries(parts));
  });

  it("are not at paths that lead nowhere", async () => {
    for (const path of [["0x0"], ["0x0", "0x0"], ["0xffffffffffffffff"]])
      expect(await answer("trace_get", mined.hash, path)).toMatchObject({ result: null });
    for (const path of [[0], ["0x"], "0x0", [null]])
      expect((await answer("trace_get", mined.hash, path)).error).toMatchObject({ code: -32602 });
  });
});
