import { expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { answerOf } from "../../test/support/generated-chain/answers.ts";
import { GeneratedChain } from "../../test/support/generated-chain.ts";
import { Turns } from "../lib/turns.ts";
import type { BlockRecord } from "./block-record.ts";
import { blockDialect } from "./fetch-block.ts";
import { HeldBlocks, ingestHere } from "./writing.ts";

const block = (hash: string, bytes: number): BlockRecord =>
  ({ hash, outline: { transactionBytes: bytes, receiptBytes: 0 } }) as BlockRecord;

it("holds a block until it is released, once", () => {
  const held = new HeldBlocks({ bytes: 100 });
  held.hold(1, block("0x1", 10));
  expect(held.release(1).hash).toBe("0x1");
  expect(() => held.release(1)).toThrow("no longer exists");
});

it("forgets the oldest when all together are too much, and holds one block however large it is", () => {
  const held = new HeldBlocks({ bytes: 100 });
  held.hold(1, block("0x1", 60));
  held.hold(2, block("0x2", 40));
  held.hold(3, block("0x3", 30));
  expect(() => held.release(1)).toThrow();
  expect(held.release(2).hash).toBe("0x2");
  held.hold(4, block("0x4", 1_000));
  expect(() => held.release(3)).toThrow();
  expect(held.release(4).hash).toBe("0x4");
});

it("receipts that cannot be proven leave the block proven", async () => {
  const chain = new GeneratedChain({ seed: 5, transactions: [2, 2] });
  chain.extend(1);
  const node = {
    name: "node",
    isMissing: () => false,
    ask: async (method: string, paramsJson: string) => {
      const json = answerOf(chain, method, JSON.parse(paramsJson)) ?? "null";
      // As Erigon gives them: without the state roots that receipts of so old a block are encoded with.
      const told =
        method === "eth_getBlockReceipts"
          ? json.replaceAll(/"status":"0x[01]"/g, '"status":null')
          : json;
      return { kind: "result", json: Buffer.from(told) } as const;
    },
  };
  const turns = new Turns({ clock: new FakeClock() });
  const ingested = await ingestHere({ dialect: blockDialect, turns })({ number: 1 }, node, {
    limits: { bytes: 1e9, transactions: 1e9, logs: 1e9 },
    rules: { chainId: 1 },
    ...{ receipts: "needed", signal: new AbortController().signal },
  });
  expect(ingested).toMatchObject({
    kind: "ingested",
    block: { outline: { hasReceipts: true, proof: "partial", blockProof: "full" } },
  });
});
