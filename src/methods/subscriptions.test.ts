import { describe, expect, it } from "vitest";
import { contextOf } from "../../test/support/scripted-context.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { checkParams } from "./method.ts";
import { subscriptionMethods } from "./subscriptions.ts";

const [subscribe] = subscriptionMethods;
const EMITTER = `0x${"aa".repeat(20)}`;

/** The parameters of the subscription that nodes are asked for, or the error; `paid` are the counted questions. */
async function begun(params: readonly unknown[], refusal?: Error) {
  const asked: unknown[][] = [];
  const told: unknown[] = [];
  const context = {
    ...contextOf(params, {}, {}, asked),
    channel: {} as never,
    relayed: {
      begin: async (given: readonly unknown[]) => {
        told.push(given);
        if (refusal) throw refusal;
        return "0x1";
      },
      end: () => false,
    },
  };
  if (!subscribe) throw new Error("no method");
  const answer = await Promise.resolve(
    subscribe.answer(checkParams(subscribe, params), context),
  ).catch(({ code, message }: { code: number; message: string }) => ({ code, message }));
  return { answer, told, paid: asked };
}

describe("a kind of subscriptions that only nodes know", () => {
  it.each([
    [["newFlashblocks"], ["newFlashblocks"]],
    [
      ["newFlashblockTransactions", true],
      ["newFlashblockTransactions", true],
    ],
    [["monadNewHeads"], ["monadNewHeads"]],
    [
      ["pendingLogs", { address: EMITTER }],
      ["pendingLogs", { address: EMITTER }],
    ],
    [
      ["pendingLogs", { address: EMITTER, fromBlock: "0x1" }],
      ["pendingLogs", { address: EMITTER }],
    ],
    [["pendingLogs"], ["pendingLogs", {}]],
  ])("is asked of nodes: %j", async (params, want) => {
    const { answer, told, paid } = await begun(params);
    expect([answer, told, paid]).toEqual(['"0x1"', [want], [["eth_subscribe"]]]);
  });

  it("does not exist where no node has it", async () => {
    const { answer } = await begun(["newTypos"], errors.noPushSource());
    expect(answer).toMatchObject({ code: -32602, message: "no such subscription kind" });
  });

  it.each(["", "a b", "new-heads", "x".repeat(65), '"],["newHeads'])(
    "has a name: %j is not asked of nodes",
    async (kind) => {
      const { answer, told } = await begun([kind]);
      expect([answer, told]).toMatchObject([{ code: -32602 }, []]);
    },
  );

  it("cannot be resumed, and takes no wrong criteria", async () => {
    const resumed = await begun(["newFlashblocks", { resume: "0x1", received: 1 }]);
    expect(resumed.answer).toMatchObject({ code: -32000, message: "subscription not found" });
    expect((await begun(["pendingLogs", { address: "x" }])).answer).toMatchObject({ code: -32602 });
  });

  it.each([
    [["newHeads"], []],
    [["logs", { address: EMITTER }], [EMITTER]],
    [["pendingLogs", { address: EMITTER }], [EMITTER]],
    [["pendingLogs"], undefined],
    [["newFlashblocks"], undefined],
    [["newFlashblockTransactions", true], undefined],
    [["monadLogs", { address: EMITTER }], undefined],
  ])("reads contracts as it may: %j → %j", (params, want) => {
    expect(subscribe?.contractsOf?.(params)).toEqual(want);
  });
});
