import { expect, it } from "vitest";
import type { CallContext } from "../method.ts";
import { askSource, type Source } from "./sources.ts";

type Asked = { readonly reference: string; readonly block?: { readonly hash: string } };

/** Traces of a block, of which no more can be told without the block than that they are a list. */
const ofBlock: Source<Asked, readonly unknown[]> = {
  name: "trace_block",
  params: ({ reference }) => [reference],
  read: (result, { block }) => {
    const entries = result as { blockHash: string }[];
    return !block || entries.every(({ blockHash }) => blockHash === block.hash)
      ? entries
      : undefined;
  },
};

it("a result that two calls share is held against the block of each of them", async () => {
  const shared = Buffer.from('[{"blockHash":"0xa"}]');
  const context = { ask: async () => shared } as unknown as CallContext;
  const ask = (asked: Asked) => askSource(ofBlock, asked, context);
  const reference = "0x5";
  expect(await ask({ reference })).toMatchObject({ kind: "result" });
  expect(await ask({ reference, block: { hash: "0xb" } })).toMatchObject({ kind: "missing" });
  expect(await ask({ reference, block: { hash: "0xa" } })).toMatchObject({ kind: "result" });
});
