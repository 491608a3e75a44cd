import { describe, expect, it } from "vitest";
import { Judge } from "./judge.ts";
import { nodeAnswer, stateOf } from "./node-answers.ts";
import type { Question } from "./questions.ts";
import { WorldChain } from "./world-chain.ts";

const ADDRESS = `0x${"11".repeat(20)}`;
const now = Date.now();
const chain = new WorldChain({ seed: 3, blockMs: 1_000, startedAtMs: now - 30_500 });
const head = chain.headNumber(now);
const times = { sentAtMs: now, answeredAtMs: now, floor: 0 };

const asked = (method: string, ...params: unknown[]): Question => ({
  method,
  params,
  isForwarded: true,
});
const verdictOf = (question: Question, result: unknown) =>
  new Judge({ isFollowed: true }, { chain }).judge([question], [{ result }], times).kind;
const honest = ({ method, params }: Question): unknown =>
  JSON.parse(`{${nodeAnswer(chain.upTo(head), method, params)}}`).result;
const balanceAt = (number: number): string =>
  stateOf("eth_getBalance", ADDRESS, chain.block(number).hash);

describe("the judge", () => {
  const block = asked("eth_getBlockByNumber", "0x50", true);
  const latest = asked("eth_getBalance", ADDRESS, "latest");

  it.each([
    ["a block as it is", block, honest(block), "right"],
    ["a block with another content", block, { ...Object(honest(block)), gasUsed: "0x1" }, "wrong"],
    ["null for a block", block, null, "wrong"],
    ["the state of the head", latest, balanceAt(head), "right"],
    ["the state of the head four seconds ago", latest, balanceAt(head - 4), "right"],
    ["the state of the head ten seconds ago", latest, balanceAt(head - 10), "wrong"],
    ["the state of another branch", latest, stateOf("eth_getBalance", ADDRESS, "0xab"), "wrong"],
    [
      "a head that is not there yet",
      asked("eth_blockNumber"),
      `0x${(head + 1).toString(16)}`,
      "wrong",
    ],
    ["a head that stood still", asked("eth_blockNumber"), `0x${(head - 9).toString(16)}`, "wrong"],
    ["null for an unknown transaction", asked("eth_getTransactionByHash", "0xab"), null, "right"],
  ])("finds %s", (_, question, result, kind) => {
    expect(verdictOf(question, result)).toBe(kind);
  });

  it("finds a head that falls back wrong, and a batch of two heads", () => {
    const judge = new Judge({ isFollowed: true }, { chain });
    const number = asked("eth_blockNumber");
    const envelope = (value: number) => ({ result: `0x${value.toString(16)}` });
    expect(judge.judge([number], [envelope(head)], times).kind).toBe("right");
    const later = { ...times, floor: judge.floor };
    expect(judge.judge([number], [envelope(head - 1)], later).kind).toBe("wrong");
    const two = [{ result: balanceAt(head) }, { result: balanceAt(head - 1) }];
    expect(judge.judge([latest, latest], two, times)).toMatchObject({ kind: "wrong" });
  });

  it("says of an error what it says", () => {
    const error = { code: -32603, message: "upstream timeout" };
    const judge = new Judge({ isFollowed: false }, { chain });
    expect(judge.judge([latest], [{ error }], times)).toEqual({
      kind: "error",
      why: "-32603 upstream timeout",
    });
  });
});
