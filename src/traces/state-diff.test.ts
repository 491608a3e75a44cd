import { describe, expect, it } from "vitest";
import { normaliseStateDiff } from "./state-diff.ts";

const a = `0x${"a".repeat(40)}`;
const word = (value: number): string => `0x${value.toString(16).padStart(64, "0")}`;
const same = { balance: "=", code: "=", nonce: "=", storage: {} };
const changed = { "*": { from: "0x5", to: "0x6" } };

describe("a node's own diff", () => {
  it.each([
    {
      what: "what did not change is dropped, written out or not",
      account: { balance: "=", code: { "*": { from: "0x", to: "0x" } }, storage: { "0x1": "=" } },
      want: undefined,
    },
    {
      what: "Nethermind leaves the code of an account that was born unchanged",
      account: { ...same, balance: { "+": "0x05" }, nonce: { "+": "0x0" } },
      want: { balance: { "+": "0x5" }, code: { "+": "0x" }, nonce: { "+": "0x0" }, storage: {} },
    },
    {
      what: "of an account that was born, slots are born, but for zeros",
      account: {
        ...{ balance: { "+": "0x0" }, code: { "+": "0x60" }, nonce: { "+": "0x1" } },
        storage: { "0x1": { "*": { from: "0x0", to: "0x2" } }, "0x2": { "+": "0x0" } },
      },
      want: {
        ...{ balance: { "+": "0x0" }, code: { "+": "0x60" }, nonce: { "+": "0x1" } },
        storage: { [word(1)]: { "+": word(2) } },
      },
    },
    {
      what: "of an account that lives on, slots and code change from and to nothing",
      account: {
        ...{ balance: changed, code: { "+": "0x60" }, nonce: "=" },
        storage: { "0x1": { "+": "0x2" }, "0x2": { "-": "0x3" } },
      },
      want: {
        ...{ balance: changed, code: { "*": { from: "0x", to: "0x60" } }, nonce: "=" },
        storage: {
          [word(1)]: { "*": { from: word(0), to: word(2) } },
          [word(2)]: { "*": { from: word(3), to: word(0) } },
        },
      },
    },
    {
      what: "Erigon tells the slots of an account that died",
      account: {
        ...{ balance: { "-": "0x5" }, code: { "-": "0x60" }, nonce: { "-": "0x1" } },
        storage: { [word(1)]: { "*": { from: word(2), to: word(0) } } },
      },
      want: {
        ...{ balance: { "-": "0x5" }, code: { "-": "0x60" }, nonce: { "-": "0x1" } },
        storage: { [word(1)]: { "-": word(2) } },
      },
    },
  ])("$what", ({ account, want }) => {
    expect(normaliseStateDiff({ [a.toUpperCase().replace("X", "x")]: account })).toEqual(
      want ? { [a]: want } : {},
    );
  });
});
