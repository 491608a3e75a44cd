import { describe, expect, it } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { refused } from "../../../test/support/scripted-call.ts";
import { traitsOf } from "../../methods/catalogue.ts";
import type { Reply } from "../reply.ts";
import { Capabilities } from "./capabilities.ts";
import { WordCheck } from "./word-check.ts";

const declared = traitsOf("evm");

function checked(reply: Reply) {
  const clock = new FakeClock();
  const asked: string[] = [];
  const capabilities = new Capabilities({ clock, traitsOf: declared });
  const check = new WordCheck(
    { family: "evm" },
    {
      clock,
      capabilities,
      ask: async (method, paramsJson, purpose) => {
        asked.push(`${purpose} ${method} ${paramsJson}`);
        return reply;
      },
    },
  );
  return { check, clock, asked, capabilities };
}

const head = 1_000_000;
const unknown: Reply = { ...refused, code: -32000, message: "no flux", doubt: "unknown" };

describe("whether a node is busy", () => {
  it.each<[Reply, boolean]>([
    [{ kind: "busy", retryAfterMs: undefined }, true],
    [{ kind: "result", json: Buffer.from('"0x1"') }, false],
    [{ kind: "failed", reason: "HTTP 500" }, false],
  ])("is what it says to a cheap call of the gateway: %o", async (reply, want) => {
    const { check, asked } = checked(reply);
    expect(await check.askIfBusy()).toBe(want);
    expect(asked).toEqual(["check eth_blockNumber []"]);
  });

  it("is asked once a second, however many calls would know it", async () => {
    const { check, clock, asked } = checked({ kind: "busy", retryAfterMs: undefined });
    await Promise.all([check.askIfBusy(), check.askIfBusy(), check.askIfBusy()]);
    await clock.advance(999);
    await check.askIfBusy();
    expect(asked).toHaveLength(1);
    await clock.advance(1);
    await check.askIfBusy();
    expect(asked).toHaveLength(2);
  });

  it("is not asked of a node that is closed", async () => {
    const { check, asked } = checked({ kind: "busy", retryAfterMs: undefined });
    check.close();
    expect(await check.askIfBusy()).toBe(false);
    expect(asked).toEqual([]);
  });
});

describe("whether a node has a method", () => {
  it("is asked without the caller's parameters, once a minute", async () => {
    const { check, clock, asked } = checked({ kind: "missing" });
    const ask = (name: string): void => check.method(name, declared(name));
    for (let each = 0; each < 5; each += 1) ask("debug_traceCall");
    ask("debug_traceTransaction");
    expect(asked).toEqual([
      "probe debug_traceCall []",
      `probe debug_traceTransaction ["0x${"0".repeat(64)}"]`,
    ]);
    await clock.advance(60_000);
    ask("debug_traceCall");
    expect(asked).toHaveLength(3);
  });

  it("is not asked where a call would do something", () => {
    const { check, asked } = checked({ kind: "missing" });
    for (const name of ["eth_sendRawTransaction", "eth_sendBundle", "anvil_mine", "debug_setHead"])
      check.method(name, declared(name));
    expect(asked).toEqual([]);
  });
});

it("a node that seems to fail runs a call of the gateway, once a second", async () => {
  const { check, clock, asked } = checked({ kind: "failed", reason: "internal" });
  for (let each = 0; each < 3; each += 1) check.execution({ workKind: "execution" });
  check.execution({ workKind: "traces" });
  expect(asked).toEqual([`check eth_call [{"to":"0x${"0".repeat(40)}"},"latest"]`]);
  await clock.advance(1_000);
  check.execution({ workKind: "execution" });
  expect(asked).toHaveLength(2);
});

describe("whether a node has the state of a block", () => {
  it.each<[string, Reply, string]>([
    ["known words", { ...refused, code: -32000, message: "pruned", lacks: "state" }, "part"],
    ["unknown words", unknown, "part"],
    ["a result", { kind: "result", json: Buffer.from('"0x1"') }, "unknown"],
    ["that it is busy", { kind: "busy", retryAfterMs: undefined }, "unknown"],
  ])("is learned from its own refusal: %s", async (_what, reply, want) => {
    const { check, clock, asked, capabilities } = checked(reply);
    check.reach({ workKind: "execution" }, { block: 5, head });
    check.reach({ workKind: "execution" }, { block: 6, head }); // within the same second
    await clock.advance(0);
    expect(asked).toEqual([`probe eth_getBalance ["0x${"0".repeat(40)}","0x5"]`]);
    expect(capabilities.history.known().state.kind).toBe(want);
  });

  it("is not learned from unknown words about a new block", async () => {
    const { check, clock, capabilities } = checked(unknown);
    check.reach({ workKind: "execution" }, { block: head - 1, head });
    await clock.advance(0);
    expect(capabilities.history.known().state.kind).toBe("unknown");
  });

  it("is not asked for work that needs no state", () => {
    const { check, asked } = checked(unknown);
    check.reach({ workKind: "chain" }, { block: 5, head });
    expect(asked).toEqual([]);
  });
});
