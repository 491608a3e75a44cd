// What is said of a batch, out of what is said of its members.
import { describe, expect, it } from "vitest";
import type { Provenance } from "../methods/method.ts";
import { commonProvenance } from "./common-provenance.ts";

const block = (number: number) => ({ number, hash: `0x${number}` });
const stored = (number: number, more: Partial<Provenance> = {}): Provenance =>
  ({ source: "store", proof: "full", block: block(number), ...more }) as Provenance;
const asked: Provenance = { source: "upstream", proof: "none" };
const local: Provenance = { source: "local" };

describe("the provenance of a batch", () => {
  it.each<{ what: string; all: readonly (Provenance | undefined)[]; want: object | undefined }>([
    { what: "of nothing that says anything", all: [undefined, undefined], want: undefined },
    { what: "of what was made here", all: [local, undefined, local], want: local },
    {
      what: "of what is stored, with the newest block",
      all: [stored(7), stored(9), local],
      want: { source: "store", proof: "full", block: block(9) },
    },
    {
      what: "of what is stored, but for one that a node told",
      all: [stored(7), asked],
      want: { source: "upstream", proof: "none", block: block(7) },
    },
    {
      what: "of blocks of which one is proven in part",
      all: [stored(7), stored(8, { proof: "partial" })],
      want: { source: "store", proof: "partial" },
    },
    {
      what: "of an answer that was cut",
      all: [stored(7), stored(8, { isCut: true })],
      want: { isCut: true },
    },
    {
      what: "of heads of which one is the stalest",
      all: [stored(7, { staleMs: 10 }), stored(8, { staleMs: 4_000 })],
      want: { staleMs: 4_000 },
    },
  ])("$what", ({ all, want }) => {
    if (want === undefined) expect(commonProvenance(all)).toBeUndefined();
    else expect(commonProvenance(all)).toMatchObject(want);
  });

  it("has no age where nothing is stale", () => {
    expect(commonProvenance([stored(7)])).not.toHaveProperty("staleMs");
  });
});
