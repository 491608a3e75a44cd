import { describe, expect, it } from "vitest";
import { checkClaims, fetchProven, type ProvingParts, upstreamCallsFor } from "./proven-blocks.ts";

function fetching(options: { lacks?: boolean; inStore?: boolean; found?: unknown } = {}) {
  const paid: string[] = [];
  const block = options.found ?? { proof: "full", outline: { transactions: 3 } };
  const parts = {
    view: {
      blockAt: () => (options.inStore ? block : undefined),
      blockOf: () => (options.inStore ? block : undefined),
      fetch: async () => block,
      logsOf: () => [],
    },
    context: {
      isMissing: () => options.lacks ?? false,
      payFor: async (method: string) => void paid.push(method),
      upstreamCallsLeft: 100,
    },
  } as unknown as ProvingParts;
  return { parts, paid };
}

const HASH = { hash: `0x${"aa".repeat(32)}` };
const ONE_BY_ONE = Array.from({ length: 3 }, () => "eth_getTransactionReceipt");

describe("a block that is fetched to prove logs", () => {
  it("is paid for with its receipts", async () => {
    const { parts, paid } = fetching();
    await fetchProven(HASH, 3, parts);
    expect(paid).toEqual(["eth_getBlockByHash", "eth_getBlockReceipts"]);
    expect(upstreamCallsFor(3, parts)).toBe(2);
  });

  it("costs a question for each receipt where no node gives those of a block", async () => {
    const { parts, paid } = fetching({ lacks: true });
    await fetchProven(HASH, 3, parts);
    expect(paid).toEqual(["eth_getBlockByHash", ...ONE_BY_ONE]);
    expect(upstreamCallsFor(3, parts)).toBe(4);
  });

  it("is paid for afterwards where it was not known how many these are", async () => {
    const { parts, paid } = fetching({ lacks: true });
    await fetchProven({ number: 7 }, undefined, parts);
    expect(paid).toEqual(["eth_getBlockByNumber", ...ONE_BY_ONE]);
  });

  it("costs nothing when it is in the store", async () => {
    const { parts, paid } = fetching({ inStore: true });
    await fetchProven(HASH, 3, parts);
    expect(paid).toEqual([]);
  });

  it.each(["unknown", "unproven", "refused", "unanswered", { proof: "none" }])(
    "is refused when it is %j",
    async (found) => {
      await expect(fetchProven(HASH, 1, fetching({ found }).parts)).rejects.toMatchObject({
        ...{ status: 502, code: -32603 },
      });
    },
  );
});

describe("logs that stand beside a caught node's answer", () => {
  const logs = Buffer.from(JSON.stringify([{ blockNumber: "0x7", logIndex: "0x0" }]));
  const outline = { transactions: 1 };
  const check = (proof: string) =>
    checkClaims(logs, {} as never, fetching({ found: { proof, outline }, inStore: true }).parts);

  it.each(["full", "partial"])("are refuted by a block whose proof is %s", async (proof) => {
    await expect(check(proof)).rejects.toMatchObject({ status: 502 });
  });

  it("are not refuted by a block of a chain whose hashes nobody can repeat", async () => {
    await expect(check("none")).resolves.toBeUndefined();
  });
});
