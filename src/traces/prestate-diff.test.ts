import { describe, expect, it } from "vitest";
import { isBalanced } from "../../test/support/balanced.ts";
import { stateDiffOf } from "./prestate-diff.ts";
import { normaliseStateDiff } from "./state-diff.ts";

const a = `0x${"a".repeat(40)}`;
const b = `0x${"b".repeat(40)}`;
const word = (value: number): string => `0x${value.toString(16).padStart(64, "0")}`;
const same = { balance: "=", code: "=", nonce: "=", storage: {} };
const delegation = `0xef0100${"c".repeat(40)}`;

describe("the diff out of geth's prestateTracer", () => {
  it.each([
    {
      what: "an account that only post has was born, with what it has not as nothing",
      pre: {},
      post: { [a]: { balance: "0x5" } },
      want: { balance: { "+": "0x5" }, code: { "+": "0x" }, nonce: { "+": "0x0" }, storage: {} },
    },
    {
      what: "one that stands in pre without anything was born as well",
      pre: { [a]: { balance: "0x0" } },
      post: {
        [a]: { nonce: 1, code: "0x60FF", storage: { [word(1)]: word(2), [word(3)]: word(0) } },
      },
      want: {
        balance: { "+": "0x0" },
        code: { "+": "0x60ff" },
        nonce: { "+": "0x1" },
        storage: { [word(1)]: { "+": word(2) } },
      },
    },
    {
      what: "one that had received money before it became a contract is changed",
      pre: { [a]: { balance: "0x5" } },
      post: { [a]: { nonce: 1, code: "0x60", storage: { [word(1)]: word(2) } } },
      want: {
        balance: "=",
        code: { "*": { from: "0x", to: "0x60" } },
        nonce: { "*": { from: "0x0", to: "0x1" } },
        storage: { [word(1)]: { "*": { from: word(0), to: word(2) } } },
      },
    },
    {
      what: "one that only pre has died, and nobody tells its storage",
      pre: { [a]: { balance: "0x5", nonce: 1, code: "0x60", storage: { [word(1)]: word(2) } } },
      post: {},
      want: { balance: { "-": "0x5" }, code: { "-": "0x60" }, nonce: { "-": "0x1" }, storage: {} },
    },
    {
      what: "Erigon writes down one that died, without code",
      pre: { [a]: { balance: "0x5", nonce: 1, code: "0x60" } },
      post: { [a]: { balance: "0x0", codeHash: word(0) } },
      want: { balance: { "-": "0x5" }, code: { "-": "0x60" }, nonce: { "-": "0x1" }, storage: {} },
    },
    {
      what: "since EIP-6780 a destroyed contract only loses its balance",
      pre: { [a]: { balance: "0x5", code: "0x60" } },
      post: { [a]: { balance: "0x0" } },
      want: { ...same, balance: { "*": { from: "0x5", to: "0x0" } } },
    },
    {
      what: "one that was born and died is absent, even where pre has it",
      pre: { [a]: { balance: "0x0" } },
      post: {},
      want: undefined,
    },
    {
      what: "slots set to zero are left out of post; words are padded",
      pre: { [a]: { balance: "0x0", code: "0x60", storage: { "0x2": "0x4" } } },
      post: { [a]: {} },
      want: { ...same, storage: { [word(2)]: { "*": { from: word(4), to: word(0) } } } },
    },
    {
      what: "a delegation is set (EIP-7702)",
      pre: { [a]: { balance: "0x0", nonce: 7 } },
      post: { [a]: { nonce: "0x08", code: delegation } },
      want: {
        ...same,
        code: { "*": { from: "0x", to: delegation } },
        nonce: { "*": { from: "0x7", to: "0x8" } },
      },
    },
    {
      what: "a delegation is taken back: only the hash of the code tells",
      pre: { [a]: { balance: "0x1", nonce: 7, code: delegation } },
      post: { [a]: { nonce: 8, codeHash: word(0) } },
      want: {
        ...same,
        code: { "*": { from: delegation, to: "0x" } },
        nonce: { "*": { from: "0x7", to: "0x8" } },
      },
    },
    {
      what: "storage alone makes an account, before EIP-161",
      pre: {},
      post: { [a]: { storage: { [word(1)]: word(2) } } },
      want: {
        balance: { "+": "0x0" },
        code: { "+": "0x" },
        nonce: { "+": "0x0" },
        storage: { [word(1)]: { "+": word(2) } },
      },
    },
  ])("$what", ({ pre, post, want }) => {
    expect(stateDiffOf({ pre, post })).toEqual(want ? { [a]: want } : {});
  });

  it("has addresses and slots in lower case and in order", () => {
    const storage = { [word(11)]: word(1), [word(10).toUpperCase().replace("X", "x")]: word(1) };
    const post = { [b]: { balance: "0x1" }, [`0x${"A".repeat(40)}`]: { balance: "0x1", storage } };
    const diff = stateDiffOf({ pre: {}, post }) ?? {};
    expect(Object.keys(diff)).toEqual([a, b]);
    expect(Object.keys(diff[a]?.storage ?? {})).toEqual([word(10), word(11)]);
  });
});

const changed = { "*": { from: "0x5", to: "0x6" } };

describe("what cannot be read", () => {
  const garbage = [null, true, -1, 1.5, "", "0x", "0xg", "=", [], {}, { "+": 1 }, { "*": {} }];
  const writings: readonly [name: string, whole: object, read: (value: unknown) => unknown][] = [
    [
      "geth's diff",
      {
        pre: { [a]: { balance: "0x5", nonce: 1, code: "0x60", storage: { [word(1)]: word(2) } } },
        post: { [a]: { balance: "0x6", codeHash: word(0), storage: { [word(1)]: word(3) } } },
      },
      (value) => stateDiffOf(value),
    ],
    [
      "a node's diff",
      { [a]: { ...same, balance: changed, storage: { [word(1)]: { "+": word(2) } } } },
      normaliseStateDiff,
    ],
  ];

  it.each(writings)("%s is undefined as a whole, wherever it is wrong", (_, whole, read) => {
    for (const wrong of garbage)
      for (const mutant of mutantsOf(whole, wrong)) {
        const result = read(mutant);
        if (result !== undefined) expect(normaliseStateDiff(result)).toEqual(result);
      }
    for (const wrong of ["", [], 7, { x: 1 }, { pre: 1 }, { [a]: 1 }])
      expect(read(wrong)).toBeUndefined();
    expect(read(JSON.parse(`{"__proto__": {"${a}": {}}}`))).toBeUndefined();
  });

  /** The value with `wrong` in the place of each of its values in turn, and as the name of one more member. */
  function mutantsOf(value: unknown, wrong: unknown): unknown[] {
    if (typeof value !== "object" || value === null) return [wrong];
    const inside = Object.entries(value).flatMap(([name, member]) =>
      mutantsOf(member, wrong).map((mutant) => ({ ...value, [name]: mutant })),
    );
    return [wrong, { ...value, [String(wrong)]: 1 }, ...inside];
  }

  it.each([
    { what: "a balance of over 256 bits", balance: `0x1${"0".repeat(64)}` },
    { what: "a nonce below zero", nonce: -1 },
    { what: "code of half a byte", code: "0x6" },
    { what: "a slot without digits", storage: { slot: word(1) } },
  ])("$what", ({ what: _, ...account }) => {
    expect(stateDiffOf({ pre: {}, post: { [a]: account } })).toBeUndefined();
  });
});

it("is balanced where the sender paid the value and the fee, and nothing else", () => {
  const paid = { [a]: { ...same, balance: { "*": { from: "0x10", to: "0x3" } } } } as const;
  const diff = normaliseStateDiff(paid) ?? {};
  expect(isBalanced(diff, { sender: a.toUpperCase(), value: 10n, fee: 3n })).toBe(true);
  expect(isBalanced(diff, { sender: a, value: 10n, fee: 4n })).toBe(false);
  expect(isBalanced(diff, { sender: b, value: 0n, fee: 0n })).toBe(true);
  expect(isBalanced(diff, { sender: b, value: 0n, fee: 1n })).toBe(false);
});
