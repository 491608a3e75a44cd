// Whether what is stored is a chain: looked at from outside, by a process that only reads.
import { recordedProblems } from "./stored-problems.ts";

/** `node stored-chain.ts <folder>`: looks again and again until it is killed; says what it saw at each "look". */
process.on("message", ({ path, looks, heads }: { path: string; looks: number; heads: number }) => {
  void recordedProblems(path, looks, heads).then((seen) => process.send?.(seen));
});
