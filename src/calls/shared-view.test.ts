// Which chain and which head a call sees: the followed one, or what nodes tell where that is behind.
import { describe, expect, it } from "vitest";
import type { Caller } from "./caller.ts";
import { viewOf } from "./shared-view.ts";

const nodesHead = { latest: async () => 9 };

function callerOver(view: { isBehind: boolean; staleness?: { ms: number } } | undefined) {
  const asked: string[] = [];
  const chain = view && { ...view, latest: () => 7, pin: (tag: unknown) => `pinned ${tag}` };
  const network = {
    chain: chain && { view: () => chain },
    head: {
      loneView: () => asked.push("lone") && nodesHead,
      batchView: () => asked.push("batch") && nodesHead,
    },
  };
  const scope = { signal: () => new AbortController().signal };
  return { asked, chain, caller: { network, scope } as unknown as Caller };
}

describe("what a call sees", () => {
  it("is the followed chain, whose head it is: no node is asked", () => {
    const { caller, chain, asked } = callerOver({ isBehind: false });
    const seen = viewOf(caller);
    expect(seen.chain).toBe(chain);
    expect([seen.head.latest(), seen.head.pin("latest" as never)]).toEqual([7, "pinned latest"]);
    expect([seen.session, seen.past, asked]).toEqual([undefined, undefined, []]);
  });

  it("is what nodes tell where nothing is followed", () => {
    const { caller, asked } = callerOver(undefined);
    expect(viewOf(caller)).toMatchObject({ head: nodesHead, chain: undefined });
    expect(asked).toEqual(["lone"]);
  });

  it("is what nodes tell where they may be further; what is stored is the past", () => {
    const { caller, chain, asked } = callerOver({ isBehind: true, staleness: { ms: 5_000 } });
    const seen = viewOf(caller);
    expect(seen).toMatchObject({ head: nodesHead, chain: undefined, staleness: { ms: 5_000 } });
    expect(seen.past?.chain).toBe(chain);
    expect(seen.past?.head.latest()).toBe(7);
    expect(asked).toEqual(["lone"]);
  });

  it("is for all members of a batch what one node says", () => {
    const { caller, asked } = callerOver(undefined);
    expect(viewOf(caller, true).session).toEqual({ node: undefined });
    expect(asked).toEqual(["batch"]);
  });
});
