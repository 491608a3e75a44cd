// The provenance of the response to a batch.
import type { Provenance } from "../methods/method.ts";

const PROOFS = ["none", "partial", "full"] as const;

/** The source that all members share, the weakest proof, and the newest block. */
export function commonProvenance(all: readonly (Provenance | undefined)[]): Provenance | undefined {
  const known = all.filter((each) => each !== undefined);
  const chained = known.filter(({ source }) => source !== "local");
  const [first] = chained;
  if (!first) return known[0];
  const isStored = chained.every(({ source }) => source === "store");
  const proofs = chained.map(({ proof }) => proof ?? "none");
  const blocks = chained.map(({ block }) => block).filter((block) => block !== undefined);
  const stale = known.map(({ staleMs }) => staleMs).filter((ms) => ms !== undefined);
  return {
    ...(stale.length > 0 ? { staleMs: Math.max(...stale) } : {}),
    source: isStored ? "store" : "upstream",
    proof: PROOFS.find((level) => proofs.includes(level)) ?? "none",
    block: blocks.toSorted((a, b) => b.number - a.number)[0],
    isCut: chained.some(({ isCut }) => isCut),
  };
}
