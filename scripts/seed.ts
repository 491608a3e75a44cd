// The seed of random tests: constant in `npm test`, different in each `npm run test:deep`. HEADGATE_SEED repeats a run.
const { HEADGATE_SEED } = process.env;
const anotherEachTime = Date.now() % 1_000_000;

export const seedOf = (run: "quick" | "deep"): number =>
  Number(HEADGATE_SEED ?? (run === "quick" ? 1 : anotherEachTime));
