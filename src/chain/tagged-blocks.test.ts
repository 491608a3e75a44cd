import { expect, it } from "vitest";
import type { AskedUpstream } from "./dialect.ts";
import { blockDialect } from "./fetch-block.ts";
import { TaggedBlocks } from "./tagged-blocks.ts";

const hashAt = (number: number): string => `0x${number.toString(16).padStart(64, "0")}`;
const headAt = (number: number) => ({ head: { number, hash: hashAt(number) }, hashAt });

/** A node that tells these numbers for the tag, one after the other. A number is on the chain, "fork" is not. */
function nodeTelling(...numbers: readonly (number | string)[]) {
  const left = [...numbers];
  let asked = 0;
  const node: AskedUpstream = {
    name: "node",
    isMissing: () => false,
    ask: async () => {
      asked += 1;
      const told = left.length > 1 ? left.shift() : left[0];
      const block =
        typeof told === "number"
          ? { number: `0x${told.toString(16)}`, hash: hashAt(told) }
          : { number: "0x5", hash: `0x${"f".repeat(64)}` };
      return { kind: "result", json: Buffer.from(JSON.stringify(told === "null" ? null : block)) };
    },
  };
  return { node, asked: () => asked };
}

it("asks once for each head", async () => {
  const { node, asked } = nodeTelling(4, 5);
  const blocks = new TaggedBlocks({ dialect: blockDialect, nodes: () => [node] });
  const told = await Promise.all([1, 2, 3].map(() => blocks.find("safe", headAt(10))));
  expect(told.map((position) => position?.number)).toEqual([4, 4, 4]);
  expect((await blocks.find("safe", headAt(11)))?.number).toBe(5);
  expect(asked()).toBe(2);
});

it("does not go backwards, whatever a node says next", async () => {
  const { node } = nodeTelling(7, 3);
  const blocks = new TaggedBlocks({ dialect: blockDialect, nodes: () => [node] });
  expect((await blocks.find("finalized", headAt(10)))?.number).toBe(7);
  expect((await blocks.find("finalized", headAt(11)))?.number).toBe(7);
});

it.each([
  { what: "of another fork", told: "fork" },
  { what: "above the head", told: 12 },
  { what: "that is null", told: "null" },
])("does not believe a block $what, and asks the next node", async ({ told }) => {
  const liar = nodeTelling(told);
  const honest = nodeTelling(6);
  const both = new TaggedBlocks({ dialect: blockDialect, nodes: () => [liar.node, honest.node] });
  expect(await both.find("safe", headAt(10))).toEqual({ number: 6, hash: hashAt(6) });
  const alone = new TaggedBlocks({ dialect: blockDialect, nodes: () => [liar.node] });
  expect(await alone.find("safe", headAt(10))).toBeUndefined();
});

it("takes the head for what a node that is further calls so, where the head is on its chain", async () => {
  const further = nodeTelling(12, 10);
  const blocks = new TaggedBlocks({ dialect: blockDialect, nodes: () => [further.node] });
  expect(await blocks.find("finalized", headAt(10))).toEqual({ number: 10, hash: hashAt(10) });
  expect(further.asked()).toBe(2);
});

it("never has `safe` behind `finalized`, whichever a node told last", async () => {
  const { node } = nodeTelling(8, 5);
  const blocks = new TaggedBlocks({ dialect: blockDialect, nodes: () => [node] });
  expect((await blocks.find("finalized", headAt(10)))?.number).toBe(8);
  expect((await blocks.find("safe", headAt(11)))?.number).toBe(8);
});

it("has no more `finalized` than was called `safe` at the same head", async () => {
  const { node } = nodeTelling(6, 9, 9);
  const blocks = new TaggedBlocks({ dialect: blockDialect, nodes: () => [node] });
  expect((await blocks.find("safe", headAt(10)))?.number).toBe(6);
  expect((await blocks.find("finalized", headAt(10)))?.number).toBe(6);
  expect((await blocks.find("finalized", headAt(11)))?.number).toBe(9);
  const other = nodeTelling(5, 8);
  const together = new TaggedBlocks({ dialect: blockDialect, nodes: () => [other.node] });
  const told = await Promise.all([
    together.find("safe", headAt(10)),
    together.find("finalized", headAt(10)),
  ]);
  expect(told.map((position) => position?.number)).toEqual([5, 5]);
});
