import { describe, expect, it, vi } from "vitest";
import { type Message, paramsJsonOf, readRequest } from "./request.ts";
import type { RpcError } from "./rpc-error.ts";

const single = (text: string): Message => {
  const body = readRequest(Buffer.from(text), 3);
  if (body.kind !== "single") throw new Error("not a single request");
  return body.message;
};

describe("a single request", () => {
  it.each([
    ["1", "1"],
    ["90071992547409931", "90071992547409931"],
    ["-7", "-7"],
    ['"a\\u0062c"', '"a\\u0062c"'],
    ['"\\ud800"', '"\\ud800"'],
    ["null", "null"],
  ])("keeps the id %s byte for byte", (id, want) => {
    expect(single(`{"jsonrpc":"2.0","id":${id},"method":"m"}`)).toMatchObject({
      kind: "call",
      id: want,
    });
  });

  it("counts a missing id as 0", () => {
    expect(single('{"jsonrpc":"2.0","method":"m"}')).toMatchObject({ kind: "call", id: "0" });
  });

  it.each(["1.5", "1.0", "1e3", "true", "{}", "[]"])("refuses the id %s", (id) => {
    expect(single(`{"jsonrpc":"2.0","id":${id},"method":"m"}`)).toMatchObject({
      kind: "invalid",
      id: "null",
    });
  });

  it.each([
    ['{"id":7}', "7"],
    ['{"jsonrpc":"1.0","id":7,"method":"m"}', "7"],
    ['{"jsonrpc":"2.0","id":"x","method":1}', '"x"'],
    ['{"jsonrpc":"2.0","id":7,"method":"m","params":{}}', "7"],
    ['{"jsonrpc":"2.0","id":7,"method":"m","params":"x"}', "7"],
    [`{"jsonrpc":"2.0","id":7,"method":"m","params":${"[".repeat(5000)}${"]".repeat(5000)}}`, "7"],
    ["{}", "null"],
    ["1", "null"],
    ['"text"', "null"],
    ["null", "null"],
  ])("%s is invalid with id %s", (text, id) => {
    expect(single(text)).toMatchObject({
      kind: "invalid",
      id,
      error: { code: -32600, status: 400 },
    });
  });

  it.each([
    '"method":"a","method":"b"',
    '"method":"a","Method":"b"',
    '"method":"a","m\\u0065thod":"b"',
    '"method":"a","params":[1],"params":[2]',
    '"method":"a","params":[1],"paramſ":[2]',
    '"method":"a","extra":{"x":1,"x":2}',
  ])("is invalid when readers disagree about it: %s", (members) => {
    expect(single(`{"jsonrpc":"2.0","id":7,${members}}`)).toMatchObject({
      kind: "invalid",
      id: "7",
      error: { code: -32600, status: 400 },
    });
  });

  it.each([
    ['[{"to":1,"to":2}]', true],
    ['[{"to":1,"To":2}]', true],
    ['[{"t\\u006f":1}]', true],
    ['[{"a":[[{"b":1,"B":2}]]}]', true],
    ['[{"to":"params:","data":"\\u003a"}]', false],
    ["[]", false],
  ])("with the parameters %s is ambiguous: %s", (params, want) => {
    const message = single(`{"jsonrpc":"2.0","id":1,"method":"m","params":${params}}`);
    expect(message).toMatchObject({
      kind: "call",
      ambiguity: want ? expect.any(String) : undefined,
    });
  });

  it("keeps the text of the parameters", () => {
    const message = single(
      '{"jsonrpc":"2.0","id":1,"method":"m","params":[ 12345678901234567890 ]}',
    );
    expect(message.kind === "call" && paramsJsonOf(message)).toBe("[ 12345678901234567890 ]");
  });

  it.each([
    ['{"jsonrpc":"2.0","id":1.0,"method":"m","params":[{"id":1}]}', "null"],
    ['{"jsonrpc":"2.0","method":"m","params":[{"id":1}]}', "0"],
    ['{"jsonrpc":"2.0","id": 1,"method":"m","params":[{"id":1}]}', "1"],
    ['{"jsonrpc":"2.0","id":12,"method":"m","params":["\\"id\\":1"]}', "12"],
    ['{"jsonrpc":"2.0","id":1,"method":"m","id":"1"}', '"1"'],
  ])("%s has the id %s, whatever its parameters look like", (text, id) => {
    expect(single(text)).toMatchObject({ id });
  });

  it.each(["null", undefined])("reads params %s as none", (params) => {
    const member = params ? `,"params":${params}` : "";
    const message = single(`{"jsonrpc":"2.0","id":1,"method":"m"${member}}`);
    expect(message).toMatchObject({ params: [] });
    expect(message.kind === "call" && paramsJsonOf(message)).toBe("[]");
  });
});

describe("a batch", () => {
  it("keeps each member apart, the wrong ones too", () => {
    const body = readRequest(Buffer.from('[{"jsonrpc":"2.0","id":1,"method":"m"}, 1, []]'), 3);
    expect(body).toMatchObject({
      kind: "batch",
      messages: [{ kind: "call", id: "1" }, { kind: "invalid", id: "null" }, { kind: "invalid" }],
    });
  });
});

it("reads each member of a batch as it was written, whatever stands around it", () => {
  const members = [
    '{"a":[1,{"b":"],["}]}',
    '"x,\\"y"',
    "1",
    "[]",
    `{"c":"${"d,".repeat(200)}"}`,
    "null",
  ];
  const batch = ` [ ${members.join(" ,\n\t")}\r\n] `;
  const body = readRequest(Buffer.from(batch), 10);
  expect(body.kind === "batch" && body.messages.length).toBe(members.length);
  const calls = members.map(
    (_, id) => `{"jsonrpc":"2.0","id":${id},"method":"m","params":[${members[id]}]}`,
  );
  const many = readRequest(Buffer.from(`[${calls.join(" , ")} ]`), 10);
  const texts =
    many.kind === "batch"
      ? many.messages.map((one) => one.kind === "call" && String(one.json))
      : [];
  expect(texts).toEqual(calls);
});

describe("a body that is no request", () => {
  const refusal = (body: Buffer): Partial<RpcError> => {
    try {
      readRequest(body, 3);
    } catch (error) {
      return error as RpcError;
    }
    return {};
  };

  it.each([
    ["", -32700, 400],
    ["{", -32700, 400],
    ["\ufeff{}", -32700, 400],
    ["[]", -32600, 400],
    ["[1,2,3,4]", -32600, 413],
  ])("%j is refused with %i", (text, code, status) => {
    expect(refusal(Buffer.from(text))).toMatchObject({ code, status });
  });

  it.each([
    ["[".repeat(1 << 20), "null"],
    [`{"id":7,"a":${"[".repeat(1 << 19)}${"]".repeat(1 << 19)}}`, "null"],
    [`{"id":7,"a":${"[".repeat(1000)}${"]".repeat(1000)}}`, "7"],
    [`[{"id":7,"params":${'{"a":'.repeat(200)}1${"}".repeat(200)}}]`, "null"],
  ])("is refused before it is parsed when it nests too deep: %.20s", (text, id) => {
    const parse = vi.spyOn(JSON, "parse");
    const body = readRequest(Buffer.from(text), 3);
    expect(parse).not.toHaveBeenCalledWith(text);
    parse.mockRestore();
    expect(body).toMatchObject({ kind: "single", message: { id, error: { status: 400 } } });
  });

  it("is refused before it is parsed when it has too many members", () => {
    const broken = `[1,2,3,4${"[".repeat(1 << 20)}`;
    expect(refusal(Buffer.from(broken))).toMatchObject({ code: -32600, status: 413 });
  });

  it("is refused when it is not UTF-8", () => {
    expect(refusal(Buffer.from('{"a":"\xff"}', "latin1"))).toMatchObject({ code: -32700 });
  });
});
