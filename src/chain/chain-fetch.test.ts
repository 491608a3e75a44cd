import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { followChain, ModelNode } from "../../test/support/followed-chain.ts";
import { GeneratedChain } from "../../test/support/generated-chain.ts";

const OLD = 3;
const WINDOW = 8;

it.each([
  ["an honest node", {}, { hash: expect.any(String) }],
  ["a node that lies about it", { gasLimit: "0x7" }, "refused"],
  ["a node that gives no block in its place", { transactions: null }, "unproven"],
])("a block below the window, from %s", async (_, changes, want) => {
  const model = new GeneratedChain({ seed: 7 });
  model.extend(2 * WINDOW);
  const node = new ModelNode("node", model);
  const path = await mkdtemp(join(tmpdir(), "headgate-fetch-"));
  const { chain, settled } = await followChain(model, {
    path,
    windowBlocks: WINDOW,
    nodes: [node],
  });
  await settled();
  node.change = (honest) =>
    Number((honest as { number?: string } | null)?.number) === OLD
      ? { ...(honest as object), ...changes }
      : honest;
  expect(await chain.fetch({ number: OLD }, "needed")).toEqual(want);
  await chain.close();
  await rm(path, { recursive: true, force: true });
});
