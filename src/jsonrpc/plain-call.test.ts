import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readPlainCall } from "./plain-call.ts";
import { type Message, paramsJsonOf, type RequestBody, readFully, readRequest } from "./request.ts";

type Reader = typeof readRequest;

/** Everything that callers and nodes see of a read body. */
function outcome(read: Reader, body: Buffer): unknown {
  try {
    return seen(read(body, 3));
  } catch (error) {
    return error;
  }
}

const seen = (request: RequestBody): unknown =>
  request.kind === "batch" ? request.messages.map(seenOf) : seenOf(request.message);

const seenOf = (message: Message): unknown =>
  message.kind === "call" ? { ...message, ...NO_PLACE, written: paramsJsonOf(message) } : message;

const NO_PLACE = { paramsStart: undefined, paramsEnd: undefined };

const isPlain = (text: string): boolean => readPlainCall(Buffer.from(text)) !== undefined;

const call = (members: string): string => `{"jsonrpc":"2.0","id":1,"method":"m"${members}}`;

describe("a plain call", () => {
  it.each([
    call(',"params":["0xab",true,false,null,[],{},12]'),
    call(',"params":[{"to":"0x1","data":"0x"},"latest"]'),
    ' { "method" : "m" , "jsonrpc" : "2.0" } ',
    '{"jsonrpc":"2.0","id":"a b","method":"m"}',
    '{"jsonrpc":"2.0","id":-90071992547409931,"method":""}',
  ])("is read in one pass: %s", (text) => {
    expect(isPlain(text)).toBe(true);
    expect(outcome(readRequest, Buffer.from(text))).toEqual(outcome(readFully, Buffer.from(text)));
  });

  it.each([
    call(',"params":[{"to":1,"To":2}]'),
    call(',"params":[{"__proto__":1}]'),
    call(',"params":["\\u0061"]'),
    call(',"params":["é"]'),
    call(',"params":["a\nb"]'),
    call(',"params":[[[[[]]]]]'),
    call(',"params":[1.5]'),
    call(',"params":[1234567890123456]'),
    call(',"params":{}'),
    call(',"more":1'),
    call(',"id":2'),
    call(',"Method":"n"'),
    call(""),
    '{"jsonrpc":"2.0","id":01,"method":"m"}',
    '{"jsonrpc":"2.0","id":1.0,"method":"m"}',
    '{"id":1,"method":"m"}',
    `${call("")}x`,
    `[${call("")}]`,
    `[${call("")},]`,
    `[${call("")}][${call("")}]`,
    `[${call("")}}`,
    `[${call("")}`,
  ])("is nothing else: %s", (text) => {
    if (text !== call("")) expect(isPlain(text)).toBe(false);
    expect(outcome(readRequest, Buffer.from(text))).toEqual(outcome(readFully, Buffer.from(text)));
  });
});

const pick = (...texts: string[]): fc.Arbitrary<string> => fc.constantFrom(...texts);
const space = pick("", "", "", " ", "\n", "  ");
const string = fc.oneof(
  pick(
    '"0xab"',
    '"latest"',
    '""',
    '"2.0"',
    '"\\u0061"',
    '"a\\"b"',
    '"\t"',
    '"é"',
    '"',
    '"a:b,{}[]"',
  ),
  fc.string({ maxLength: 6 }).map((text) => `"${text}"`),
);
const scalar = fc.oneof(
  string,
  pick("0", "-0", "1", "-12", "01", "-", "1.0", "1e3", "123456789012345", "1234567890123456"),
  pick("true", "false", "null", "nullx", "tru", "NaN", ""),
);
const name = pick(
  '"to"',
  '"To"',
  '"data"',
  '"__proto__"',
  '"constructor"',
  '"1"',
  '"t\\u006f"',
  "to",
);
const listOf = (items: readonly string[], brackets: string): string =>
  `${brackets[0]}${items.join(",")}${brackets[1]}`;
const { value } = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    scalar,
    fc.array(fc.oneof(tie("value"), scalar), { maxLength: 4 }).map((all) => listOf(all, "[]")),
    fc.array(fc.tuple(name, space, fc.oneof(tie("value"), scalar)), { maxLength: 3 }).map((all) =>
      listOf(
        all.map(([key, gap, text]) => `${gap}${key}${gap}:${gap}${text}`),
        "{}",
      ),
    ),
  ),
}));
const params = fc.oneof(
  { weight: 4, arbitrary: fc.array(value, { maxLength: 3 }).map((all) => listOf(all, "[]")) },
  { weight: 1, arbitrary: value },
);
const member = fc.oneof(
  { weight: 3, arbitrary: fc.constant('"jsonrpc":"2.0"') },
  { weight: 3, arbitrary: string.map((text) => `"method":${text}`) },
  { weight: 3, arbitrary: scalar.map((text) => `"id":${text}`) },
  { weight: 3, arbitrary: params.map((text) => `"params":${text}`) },
  {
    weight: 1,
    arbitrary: fc.tuple(pick('"Id"', '"extra"', '"jsonrpc"'), value).map((both) => both.join(":")),
  },
);
/** Mostly calls, most of them with one mistake or none. */
const anyBody = fc
  .tuple(
    fc.oneof(
      { weight: 3, arbitrary: fc.tuple(scalar, params).map(([id, list]) => partsOf(id, list)) },
      { weight: 1, arbitrary: fc.array(member, { maxLength: 5 }) },
    ),
    space,
    pick("", "", "", "", "x", "}", ","),
  )
  .map(([members, gap, rest]) => `${gap}{${gap}${members.join(`${gap},`)}${gap}}${rest}`);
const partsOf = (id: string, list: string): string[] => [
  '"jsonrpc":"2.0"',
  '"method":"m"',
  `"id":${id}`,
  `"params":${list}`,
];

it("does not read a large call in one pass", () => {
  expect(isPlain(call(`,"params":["${"a".repeat(4_096)}"]`))).toBe(false);
});

describe("both readers", () => {
  it("read the same in whatever comes", () => {
    let plain = 0;
    fc.assert(
      fc.property(
        fc.oneof(
          anyBody,
          fc
            .tuple(fc.array(anyBody, { maxLength: 4 }), space, pick("", "", "]", "["))
            .map(([members, gap, rest]) => `[${gap}${members.join(",")}${gap}]${gap}${rest}`),
        ),
        (body) => {
          const bytes = Buffer.from(body);
          if (isPlain(body)) plain += 1;
          expect(outcome(readRequest, bytes)).toEqual(outcome(readFully, bytes));
        },
      ),
      { numRuns: 3_000 },
    );
    expect(plain).toBeGreaterThan(50); // about 100 of the 3,000
  });
});
