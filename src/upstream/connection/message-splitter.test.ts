import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { MessageSplitter } from "./message-splitter.ts";

/** What is heard when the text comes in pieces of `size` bytes. */
function split(text: string | Buffer, { size = 1e9, responseBytes = 1_000 } = {}) {
  const heard: string[] = [];
  const splitter = new MessageSplitter(
    { responseBytes },
    {
      onMessage: (body) => heard.push(String(body)),
      onTooLarge: (callId) => heard.push(`too large: ${callId}`),
    },
  );
  const json = Buffer.from(text);
  let isSound = true;
  for (let at = 0; at < json.length && isSound; at += size)
    isSound = splitter.add(json.subarray(at, at + size));
  return { heard, isSound };
}

/** All at once, byte by byte, and between. */
describe.each([1e9, 1, 2, 3, 7])("in pieces of %d bytes", (size) => {
  it.each([
    ["", []],
    ["\n \r\n", []],
    ['{"id":1}\n{"id":2}\n', ['{"id":1}', '{"id":2}']],
    ['{"id":1}{"id":2}[{}]{}', ['{"id":1}', '{"id":2}', "[{}]", "{}"]],
    ['\n{"a":"}{"}\t{"b":"\\"}\\\\"}', ['{"a":"}{"}', '{"b":"\\"}\\\\"}']],
    ['{"é€😀":["é€😀"]}{"😀":1}', ['{"é€😀":["é€😀"]}', '{"😀":1}']],
    ['{"id":1}{"id":', ['{"id":1}']],
  ])("%s", (text, heard) => {
    expect(split(text, { size })).toEqual({ heard, isSound: true });
  });

  it.each(["x", '{"id":1}x{"id":2}', '{"id":1},{"id":2}', '{"id":1}]{"id":2}', '{"id":1}"{}"'])(
    "%s is no such socket",
    (text) => {
      expect(split(text, { size }).isSound).toBe(false);
      expect(split(text, { size }).heard).not.toContain('{"id":2}');
    },
  );

  it.each([
    [`{"jsonrpc":"2.0","id":7,"result":"${"x".repeat(99)}"}`, 7],
    [`{"result":"${"x".repeat(99)}","id":8}`, 8],
    [`{"result":"${"x".repeat(99)}", "id" : 9 , "jsonrpc" : "2.0"}`, 9],
    [`{"result":"${"x".repeat(99)},\\"id\\":9}"}`, undefined],
    [`{"result":{"x":"${"x".repeat(99)}","id":9}}`, undefined],
    [`{"result":"${"x".repeat(99)}","id":"9"}`, undefined],
    [`{"result":"${"x".repeat(99)}","not \\"id":9}`, undefined],
    [`{"method":"eth_subscription","params":["${"x".repeat(99)}"]}`, undefined],
  ])("one that is too large is not kept, and those behind it are: %s", (large, callId) => {
    const text = `{"id":1}${large}\n{"id":2}`;
    const heard = ['{"id":1}', `too large: ${callId}`, '{"id":2}'];
    expect(split(text, { size, responseBytes: 90 })).toEqual({ heard, isSound: true });
  });
});

describe("any messages", () => {
  const message = fc
    .dictionary(fc.string({ unit: "binary" }), fc.jsonValue())
    .map((value) => JSON.stringify(value));
  const space = fc.constantFrom("", "\n", " \r\n");

  it("come as they were written, wherever they are cut", () => {
    const any = fc.array(fc.tuple(message, space), { maxLength: 5 });
    fc.assert(
      fc.property(any, fc.integer({ min: 1, max: 9 }), (messages, size) => {
        const text = messages.map((parts) => parts.join("")).join("");
        const heard = messages.map(([one]) => String(Buffer.from(one)));
        expect(split(text, { size, responseBytes: 1e6 })).toEqual({ heard, isSound: true });
      }),
    );
  });
});

it("is told of an answer's call before all of it has come", () => {
  const { heard } = split(`{"id":7,"result":"${"x".repeat(200)}`, { size: 10, responseBytes: 90 });
  expect(heard).toEqual(["too large: 7"]);
});
