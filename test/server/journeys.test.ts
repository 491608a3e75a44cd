// A call's journey must pass few files, so that a developer finds a line of it soon; the limit was decided.
import { expect, it } from "vitest";
import { journeys } from "../support/journeys.ts";

it("a call passes no more files than it may", async () => {
  const passed = await journeys();
  expect(passed).toHaveLength(3);
  for (const { name, most, files } of passed) {
    expect([name, [...files.keys()]]).toEqual([name, expect.arrayContaining(["calls/call.ts"])]);
    expect(`${name}: ${files.size}`).toBe(`${name}: ${Math.min(files.size, most)}`);
  }
});
