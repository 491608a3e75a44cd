import { describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import type { BlockFetch, ChainView } from "../chain/chain-view.ts";
import { blockFormatters } from "./formatters.ts";
import type { NodeChain } from "./node-chain.ts";
import { CursorLost, walk } from "./walk.ts";

const WINDOW_BEGINS = 8;

/** Blocks 0 to 5, and on them 6 to 8 of one branch or another. The store has only the head; the nodes have all blocks. */
class Nodes {
  branch = "a";
  hurried = 0;
  /** Called before `fetch` returns a block. */
  onFetch: (number: number) => void = () => undefined;
  /** Why `fetch` fails. */
  failure: BlockFetch | undefined;

  readonly view = (): ChainView => {
    const head = this.block(8);
    return {
      head,
      tail: WINDOW_BEGINS,
      holds: true,
      hashAt: (number: number) => (number === WINDOW_BEGINS ? head.hash : undefined),
      blockAt: (number: number) => (number === WINDOW_BEGINS ? head : undefined),
      droppedBlock: () => undefined,
      hurry: () => {
        this.hurried += 1;
      },
      fetch: async ({ number = 0 }: { number?: number }) => {
        const block = this.block(number);
        this.onFetch(number);
        return this.failure ?? (block as unknown as BlockFetch);
      },
    } as unknown as ChainView;
  };

  block(number: number) {
    return { ...this.place(number), outline: { parentHash: this.place(number - 1).hash } };
  }

  place(number: number): { number: number; hash: string } {
    return { number, hash: `0x${number}${number > 5 ? this.branch : ""}` };
  }
}

/** A clock whose sleeps end at once. */
class HastyClock extends FakeClock {
  override async sleep(): Promise<void> {}
}

const walkOver = (nodes: Nodes) =>
  walk(
    [nodes.place(5)],
    { formatter: blockFormatters.blocks, most: 100, isShared: false },
    { view: nodes.view, clock: new HastyClock(), within: (promise) => promise },
  );

describe("a walk over blocks older than the window", () => {
  it("tells them, each linked to the one before", async () => {
    const nodes = new Nodes();
    const walked = await walkOver(nodes);
    expect(walked).toEqual({ items: ['"0x6a"', '"0x7a"', '"0x8a"'], at: nodes.place(8) });
  });

  it("is begun again when a reorganisation comes between two of them", async () => {
    const nodes = new Nodes();
    nodes.onFetch = (number) => {
      if (number === 6) nodes.branch = "b";
    };
    const walked = await walkOver(nodes);
    expect(walked?.items).toEqual(['"0x6b"', '"0x7b"', '"0x8b"']);
    expect(nodes.hurried).toBeGreaterThan(0);
  });

  it("is lost when they never fit", async () => {
    const nodes = new Nodes();
    nodes.onFetch = (number) => {
      if (number === 6) nodes.branch += "x";
    };
    await expect(walkOver(nodes)).rejects.toBeInstanceOf(CursorLost);
  });
});

describe("a block that the writer cannot take in", () => {
  /** Gives each block as a node does, without a proof. */
  const unproven = (nodes: Nodes) => {
    const asked: number[] = [];
    const blockAt = async (number: number) => {
      asked.push(number);
      return { ...nodes.place(number), parentHash: nodes.place(number - 1).hash };
    };
    return { asked, chain: { blockAt } as unknown as NodeChain };
  };
  const walkWith = (nodes: Nodes, chain: NodeChain) =>
    walk(
      [nodes.place(5)],
      { formatter: blockFormatters.blocks, most: 100, isShared: false },
      { view: nodes.view, clock: new HastyClock(), within: (promise) => promise, nodes: chain },
    );

  it("is taken from a node where nothing refutes it", async () => {
    const nodes = new Nodes();
    nodes.failure = "unproven";
    const { asked, chain } = unproven(nodes);
    expect(await walkWith(nodes, chain)).toMatchObject({
      ...{ items: ['"0x6a"', '"0x7a"', '"0x8a"'], isOfNodes: true },
    });
    expect(asked).toEqual([5, 6, 7]);
  });

  it("is taken from no node where a proof refuted what nodes give, and the cursor is kept", async () => {
    const nodes = new Nodes();
    nodes.failure = "refused";
    const { asked, chain } = unproven(nodes);
    await expect(walkWith(nodes, chain)).rejects.toMatchObject({ status: 502 });
    expect(asked).toEqual([]);
    nodes.failure = undefined;
    expect((await walkWith(nodes, chain))?.items).toHaveLength(3);
  });
});
