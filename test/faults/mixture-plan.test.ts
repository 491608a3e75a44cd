import fc from "fast-check";
import { expect, it } from "vitest";
import { planMixture } from "./mixture-plan.ts";

it("one node at least is healthy at each moment, and was mended two seconds ago or more", () => {
  const plans = fc.record({
    seed: fc.integer(),
    ms: fc.integer({ min: 5_000, max: 300_000 }),
    nodes: fc.integer({ min: 2, max: 4 }),
  });
  fc.assert(
    fc.property(plans, (options) => {
      const healthySince = new Map(
        Array.from({ length: options.nodes }, (_, node) => [node, -2_000]),
      );
      for (const { atMs, node, fault } of planMixture(options)) {
        if (fault.kind === "none") healthySince.set(node, atMs);
        else healthySince.delete(node);
        const settled = [...healthySince.values()].filter((since) => atMs - since >= 2_000);
        expect(settled.length).toBeGreaterThan(0);
      }
      expect(healthySince.size).toBe(options.nodes);
    }),
  );
});

it("a seed gives the same plan again", () => {
  const options = { seed: 7, ms: 60_000, nodes: 4 };
  expect(planMixture(options)).toEqual(planMixture(options));
  expect(planMixture(options).length).toBeGreaterThan(20);
});
