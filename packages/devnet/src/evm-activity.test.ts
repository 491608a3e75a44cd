import { expect, it } from "vitest";
import { emitter, inputWord } from "./contracts.ts";
import { transactionAt } from "./evm-activity.ts";

const at = { to: "0xa", emitting: "0xb", reverting: "0xc" };

it.each([
  { count: 1, what: "events", want: { to: "0xb", data: inputWord(1) } },
  { count: 3, what: "a transfer", want: { to: "0xa", value: "0x3b9aca00" } },
  { count: 15, what: "a failure", want: { to: "0xc" } },
  { count: 20, what: "a creation", want: { data: emitter } },
  { count: 200, what: "the last creation", want: { data: emitter } },
  { count: 220, what: "events", want: { to: "0xb", data: inputWord(220) } },
])("transaction $count is $what", ({ count, want }) => {
  expect(transactionAt(count, at)).toEqual(want);
});
