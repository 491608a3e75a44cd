// `plainResultIn` reads a result in one pass, and finds the same members as the general search.
import fc from "fast-check";
import { expect, it } from "vitest";
import { findMembers, textOf } from "../jsonrpc/members.ts";
import { ENVELOPE, plainResultIn } from "./reply.ts";

const value = fc.oneof(
  fc.json(),
  fc.constantFrom('"0x1"', "null", "{}", '"\\"}"', "[1,{}]", '"', "{", "", '"a"b'),
);
const id = fc.oneof(
  fc.nat().map(String),
  fc.constantFrom("0", "null", '"1"', "1.5", "1e3", "-1", "", "01", "9".repeat(30)),
);
const around = fc.constantFrom("", "", "", " ", "\n", "x");
const last = fc.constantFrom("}", "}", "}", ',"id":7}', ',"error":null}', " }", ",}", "");
const answer = fc
  .tuple(around, id, fc.constantFrom("result", "result", "error"), value, last, around)
  .map(([before, given, name, json, end, behind]) =>
    Buffer.from(`${before}{"jsonrpc":"2.0","id":${given},"${name}":${json}${end}${behind}`),
  );

it("is what the search for members finds", () => {
  let plain = 0;
  const property = fc.property(answer, (body) => {
    const found = plainResultIn(body);
    if (!found) return;
    plain += 1;
    expect([...found.members, undefined]).toEqual(findMembers(body, ENVELOPE));
    const digits = textOf(body, found.members[0]);
    // No request has an id above 2^53.
    if (digits.length < 16) expect(found.id).toBe(Number(digits));
  });
  fc.assert(property, { numRuns: 5_000 });
  expect(plain).toBeGreaterThan(100);
});

it.each([
  '{"jsonrpc":"2.0","id":10,"result":"0x1"}',
  '{"jsonrpc":"2.0","id":10,"result":{"a":[1]}}\n',
])("is read of %s", (text) => {
  expect(plainResultIn(Buffer.from(text))?.id).toBe(10);
});

it.each([
  '{"jsonrpc":"2.0","id":10,"error":{"code":1,"message":"response too large"}}',
  '{"jsonrpc":"2.0","id":10,"result":1,"result":2}',
  '{"jsonrpc":"2.0","id":,"result":1}',
  '{"jsonrpc":"2.0","id":10,"result":}',
  '{"jsonrpc":"2.0","id":10,"result":1}{}',
  '{"jsonrpc":"2.0","id":10',
  "",
])("is not read of %j", (text) => {
  expect(plainResultIn(Buffer.from(text))).toBeUndefined();
});
