import { expect, it } from "vitest";
import { isUnknownSaying } from "./passing-on.ts";

const says = (message: string): boolean => isUnknownSaying({ code: -32000, message });

it.each([
  ["block not found", true],
  ["the transaction could not be found", true],
  ["unknown block", true],
  ["execution reverted: block not found", false],
  ["block is fine", false],
])("a node that says %j knows no such thing: %s", (message, want) => {
  expect(says(message)).toBe(want);
});

it("very many words of a node are read at once", () => {
  const startedAt = performance.now();
  expect(says("block ".repeat(200_000))).toBe(false); // the square of it would take minutes
  expect(performance.now() - startedAt).toBeLessThan(2_000);
});
