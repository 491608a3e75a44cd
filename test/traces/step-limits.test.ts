// The gateway refuses transactions of more steps than the limits allow, and does not read all of their steps.
import { afterAll, describe, expect, it } from "vitest";
import { ask } from "../support/ask.ts";
import { startOverSteps, stopOverSteps } from "./over-steps.ts";

afterAll(stopOverSteps);

describe("beyond the limits", () => {
  it.each([
    [{ steps: 999 }, "999 steps"],
    [{ bytes: 50_000 }, "50000 bytes"],
  ])(
    "%j it is -32005, and the node is not listened to any longer",
    async (limits, what) => {
      const { node, url } = await startOverSteps(1_000_000, limits);
      const { error } = await ask(url, "trace_replayTransaction", [node.transaction, ["vmTrace"]]);
      expect(error).toMatchObject({
        code: -32005,
        message: `the vmTrace of this transaction has more than ${what}; ask only for trace and stateDiff`,
      });
      expect(node.sentBytes).toBeLessThan(500_000_000);
      const { result } = await ask(url, "trace_replayTransaction", [node.transaction, ["trace"]]);
      expect(result).toMatchObject({ vmTrace: null });
    },
    60_000,
  );

  it("exactly at the limit it is told", async () => {
    const { node, url } = await startOverSteps(1000, { steps: 1000 });
    const { result } = await ask(url, "trace_replayTransaction", [node.transaction, ["vmTrace"]]);
    expect((result as { vmTrace: { ops: unknown[] } }).vmTrace.ops).toHaveLength(1000);
  });
});
