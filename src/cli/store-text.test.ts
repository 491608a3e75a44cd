// What `headgate store show` tells of a store.
import { describe, expect, it } from "vitest";
import { describeStore, storeText } from "./store-text.ts";

type Store = Parameters<typeof describeStore>[0];

const emptyStore = {
  head: undefined,
  tail: undefined,
  bytes: 0,
  hashAt: () => undefined,
  outline: () => undefined,
} as unknown as Store;

const proofs = ["full", "full", "partial", "none"];
const filled = {
  head: { number: 14, hash: "0xe" },
  tail: 10,
  bytes: 2_340_000,
  hashAt: (number: number) => (number === 12 ? undefined : `0x${number.toString(16)}`), // a gap
  outline: (hash: string) => ({ proof: proofs[(Number(hash) - 10) % 4] }),
} as unknown as Store;

const segments = [
  { upstreams: ["a", "b"], bytes: 1_000_000 },
  { upstreams: [], bytes: 100_000 },
  { upstreams: ["a", "b"], bytes: 500_000 },
].map((kept) => ({ from: 0, to: 1, ...kept }));

describe("a store", () => {
  it("of nothing has no blocks", () => {
    const view = describeStore(emptyStore, []);
    expect(view).toMatchObject({ head: undefined, blocks: 0, segments: [] });
    expect(storeText({ network: "main", ...view })).toBe(
      "main: no blocks, 0.0 MB\n  proof: full 0, partial 0, none 0",
    );
  });

  it("counts the blocks that are there by their proof, and segments by who told them", () => {
    const view = describeStore(filled, segments);
    expect(view).toMatchObject({ head: 14, tail: 10, blocks: 4 });
    expect(view.proofs).toEqual({ full: 3, partial: 0, none: 1 });
    expect(storeText({ network: "main", ...view }).split("\n")).toEqual([
      "main: 4 blocks, 10 to 14, 2.3 MB",
      "  proof: full 3, partial 0, none 1",
      "  old logs told by a, b: 2 segments, 1.5 MB",
      "  old logs told by ?: 1 segments, 0.1 MB",
    ]);
  });
});
