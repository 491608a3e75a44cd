// Old blocks of nodes that keep blocks longer than receipts: the block is stored alone, and its receipts later.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import {
  type FollowedChain,
  followChain,
  ModelNode,
  UNLIMITED,
} from "../../test/support/followed-chain.ts";
import { GeneratedChain } from "../../test/support/generated-chain.ts";
import { matcherOf } from "../evm/log-filter.ts";
import type { ChainView } from "./chain-view.ts";
import type { StoredBlock } from "./stored-block.ts";

const OLD = 12;
/** The lowest block whose receipts the nodes keep. */
const KEPT_FROM = 40;
const WINDOW = 8;

const model = new GeneratedChain({ seed: 3, transactions: [2, 4], logs: [1, 3] });
model.extend(60);
const old = model.block(OLD) as NonNullable<ReturnType<typeof model.block>>;
const everything = matcherOf({});
const settings = { bytes: 2 ** 30, proof: "strict", upstreams: [] } as const;

const isOld = (given: unknown): boolean =>
  Number((Object(given) as { blockNumber?: unknown }).blockNumber) < KEPT_FROM;

/** How nodes tell of receipts that they have removed. */
const PRUNINGS: Readonly<Record<string, (honest: unknown, method: string) => unknown>> = {
  null: (honest, method) => (/Receipt/.test(method) && isOld([honest].flat()[0]) ? null : honest),
  "an empty list": (honest, method) =>
    /Receipt/.test(method) && isOld([honest].flat()[0])
      ? method === "eth_getBlockReceipts"
        ? []
        : null
      : honest,
  "a part of the list": (honest, method) =>
    /Receipt/.test(method) && isOld([honest].flat()[0])
      ? method === "eth_getBlockReceipts"
        ? (honest as unknown[]).slice(1)
        : null
      : honest,
};

describe.each(Object.keys(PRUNINGS))("where %s stands for receipts that a node removed", (how) => {
  const undo: (() => unknown)[] = [];
  afterEach(async () => {
    for (const each of undo.splice(0).reverse()) await each();
  });

  async function following(
    kinds: string,
  ): Promise<FollowedChain & { nodes: ModelNode[]; view: ChainView }> {
    const path = mkdtempSync(join(tmpdir(), "pruned-receipts-"));
    undo.push(() => rmSync(path, { recursive: true }));
    const nodes = [...kinds].map((kind, index) => {
      const node = new ModelNode(`${kind}${index}`, model);
      if (kind === "p") node.change = PRUNINGS[how];
      return node;
    });
    const followed = await followChain(model, { path, windowBlocks: WINDOW, nodes });
    undo.push(() => followed.chain.close());
    return { ...followed, nodes, view: await followed.settled() };
  }

  const receiptsIn = (block: unknown): string | undefined =>
    (block as StoredBlock).receipts()?.toString();

  // p: a node that removed old receipts; w: one that has them.
  it.each(["p", "pp", "pw", "wp", "ppw", "pwp", "wpp", "ppp"])(
    "an old block is whole, and its receipts are told where a node has them: %s",
    async (kinds) => {
      const { view } = await following(kinds);
      for (const wanted of [{ number: OLD }, { hash: old.hash }]) {
        const alone = (await view.fetch(wanted, "if held")) as StoredBlock;
        expect(alone.withTransactions().toString()).toBe(old.blockJson);
        expect(alone.blockProof).toBe("full");
      }
      const whole = await view.fetch({ hash: old.hash }, "needed");
      if (!kinds.includes("w")) expect(whole).toBe("no receipts");
      else expect(receiptsIn(whole)).toBe(old.receiptsJson);
    },
  );

  it("a block without receipts is found only where it is asked for as such", async () => {
    const { view } = await following("p");
    await view.fetch({ number: OLD }, "if held");
    expect(view.blockAt(OLD, "if held")?.hasReceipts).toBe(false);
    expect(view.blockOf(old.hash, "if held")?.hash).toBe(old.hash);
    for (const found of [view.blockAt(OLD), view.blockOf(old.hash), view.droppedBlock(old.hash)])
      expect(found).toBeUndefined();
    const bare = view.transaction(old.signed[0]?.hash ?? "");
    expect(bare?.block.transaction(0)).toBeDefined();
    expect(bare?.block.receipt(0)).toBeUndefined();
    expect(bare?.block.receiptsToSend()).toBeUndefined();
  });

  it("a block gets its receipts when a node gives them later, and stays as it was else", async () => {
    const { view, nodes } = await following("p");
    await view.fetch({ number: OLD }, "if held");
    for (const node of nodes) node.change = undefined;
    const whole = (await view.fetch({ number: OLD })) as StoredBlock;
    expect(receiptsIn(whole)).toBe(old.receiptsJson);
    expect(whole.proof).toBe("full");
    expect(whole.withTransactions().toString()).toBe(old.blockJson);
    expect(view.logsOf(whole, everything).map(String)).toEqual(old.logs.map(({ json }) => json));
    expect(receiptsIn(view.blockAt(OLD))).toBe(old.receiptsJson);
    expect(String(whole.receipt(1))).toBe(JSON.stringify(JSON.parse(old.receiptsJson)[1]));
  });

  it("a block gets its receipts when the window grows over it", async () => {
    const { view, nodes, chain, settled } = await following("p");
    await view.fetch({ number: OLD }, "if held");
    for (const node of nodes) node.change = undefined;
    const windowBlocks = model.head.number - OLD + 3;
    chain.reconfigure({ ...settings, limits: UNLIMITED, windowBlocks });
    const grown = await settled(windowBlocks);
    expect(receiptsIn(grown.blockAt(OLD))).toBe(old.receiptsJson);
    const range = { from: OLD, to: OLD };
    const found = await grown.logs({ matcher: everything, range, most: 100 });
    expect(found?.count).toBe(old.logs.length);
  });
});
