import { expect, it } from "vitest";
import type { ChainView } from "../chain/chain-view.ts";
import type { Position } from "../chain/stored-block.ts";
import type { CursorPosition } from "./filter-record.ts";
import type { Formatter } from "./formatters.ts";
import { retrace } from "./retrace.ts";
import { CursorLost } from "./walk.ts";

/** A block: blocks 0 to 4 are on both branches, blocks 5 to 9 on branch a or b. */
const block = (number: number, branch = "a") => {
  const position = (at: number): Position => ({
    number: at,
    hash: `${at}${at > 4 ? branch : ""}`,
  });
  return { ...position(number), outline: { parentHash: position(number - 1).hash } };
};
const formatter: Formatter = {
  dropped: ({ hash }) => [`-${hash}`],
  added: ({ hash }) => [`+${hash}`],
  restored: (item) => String(item).replace("-", "+"),
  addedWithin: async ({ from, to }, _most, view) => ({
    to,
    items: Array.from({ length: to - from + 1 }, (_, at) => `+${view.hashAt(from + at)}`),
  }),
};
/** A view of branch b up to the block `head`. */
const viewOf = (head: number, has: (hash: string) => boolean = () => true): ChainView => {
  const blocks = ["a", "b"].flatMap((branch) =>
    Array.from({ length: 10 }, (_, number) => block(number, branch)),
  );
  return {
    hashAt: (number: number) => (number <= head ? block(number, "b").hash : undefined),
    droppedBlock: (hash: string) =>
      has(hash) ? blocks.find((each) => each.hash === hash) : undefined,
    fetch: async () => "unknown",
  } as unknown as ChainView;
};
const toldBetween = async (
  from: CursorPosition,
  to: CursorPosition,
  view = viewOf(9),
  by = formatter,
): Promise<readonly string[]> => {
  const within = <Value>(promise: Promise<Value>) => promise;
  const fetch = async () => "unknown" as const;
  const { items } = await retrace({ from, to }, { view, formatter: by, fetch, within });
  return items.map(String);
};

it.each([
  ["on the chain", block(3), block(6, "b"), ["+4", "+5b", "+6b"]],
  ["of which the chain left the end", block(3), block(6), ["+4", "+5a", "+6a"]],
  ["that the chain left wholly", block(5), block(7), ["+6a", "+7a"]],
  ["over a reorganisation to the chain", block(6), block(6, "b"), ["-6a", "-5a", "+5b", "+6b"]],
  ["over one that was undone since", block(7, "b"), block(6), ["-7b", "-6b", "-5b", "+5a", "+6a"]],
  ["to a lower head", block(7), block(5), ["-7a", "-6a"]],
  ["nowhere", block(5), block(5), []],
])("changes %s are told again as they were", async (_, from, to, want) => {
  expect(await toldBetween(from, to)).toEqual(want);
});

it("an epoch network's changes begin at the fork", async () => {
  const reverted = ({ number }: Position) => [`revert to ${number + 1}`];
  const told = await toldBetween(block(6), block(5, "b"), viewOf(9), { ...formatter, reverted });
  expect(told).toEqual(["revert to 5", "+5b"]);
});

it("blocks that this gateway never had are told by the path that was kept", async () => {
  const view = viewOf(9, (hash) => !hash.endsWith("a"));
  const pathFrom = (number: number) =>
    [number, number - 1].map((at) => ({
      ...{ hash: block(at).hash, parentHash: block(at - 1).hash },
      items: [`-${block(at).hash}`],
    }));
  const told = (number: number): CursorPosition => ({ ...block(number), path: pathFrom(number) });
  expect(await toldBetween(told(6), block(5, "b"), view)).toEqual(["-6a", "-5a", "+5b"]);
  expect(await toldBetween(block(4), told(6), view)).toEqual(["+5a", "+6a"]);
  await expect(toldBetween(block(4), block(6), view)).rejects.toBeInstanceOf(CursorLost);
});
