// A process that only reads a store, and checks that it holds a consistent chain.
import { recordedProblems } from "./stored-problems.ts";

/** Answers each message with the problems that it found, and the heads that it saw. */
process.on("message", ({ path, looks, heads }: { path: string; looks: number; heads: number }) => {
  void recordedProblems(path, looks, heads).then((seen) => process.send?.(seen));
});
