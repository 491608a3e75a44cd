import { expect, it } from "vitest";
import { takersOf } from "./takers.ts";

const node = (name: string) => ({ name, options: { isPrivate: name.startsWith("private") } });
const [a, b, one, two] = [node("a"), node("b"), node("private 1"), node("private 2")];

it.each([
  { all: [a, b], usable: [b], broadcast: undefined, want: [b] },
  { all: [a, one, b, two], usable: [a, one, b, two], broadcast: undefined, want: [one, two] },
  { all: [a, one, b, two], usable: [a, b, two], broadcast: undefined, want: [two] },
  { all: [a, one], usable: [a], broadcast: undefined, want: [] }, // no substitute
  { all: [a, one, b], usable: [a, one, b], broadcast: 2, want: [a, b] },
  { all: [a, one], usable: [a, one], broadcast: 1, want: [a] },
])("of $all.length nodes with broadcast $broadcast, $want.length take transactions %#", (given) => {
  const { all, usable, broadcast, want } = given;
  expect(takersOf(usable, all, broadcast)).toEqual(want);
});
