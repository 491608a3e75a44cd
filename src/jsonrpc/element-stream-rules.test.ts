import { describe, expect, it } from "vitest";
import { ElementStream, type ElementStreamOptions } from "./element-stream.ts";

const roomy = { path: ["result", "logs"], maxElementBytes: 1000, maxRestBytes: 1000 };

type Reading = { size: number; wanted: number };

/** Reads the text in chunks of `size` bytes; `wanted` is how many elements are asked for. */
function read(
  text: string,
  { size = 1e6, wanted = Infinity, ...limits }: Partial<ElementStreamOptions & Reading> = {},
) {
  const json = Buffer.from(text);
  const elements: unknown[] = [];
  const stream = new ElementStream(
    { ...roomy, ...limits },
    (element) => elements.push(element) < wanted,
  );
  let wasTaken = true;
  for (let at = 0; at < json.length; at += size) {
    wasTaken = stream.add(json.subarray(at, at + size));
  }
  return { rest: stream.finish()?.toString(), elements, wasTaken };
}

/** All at once, byte by byte, and between: the rules must hold for chunks of any size. */
const sizes = [1e6, 1, 2, 3, 5];

describe.each(sizes)("in chunks of %d bytes", (size) => {
  it.each([
    ['{"result":{"logs":[{"pc":0},{"pc":1}]}}', '{"result":{"logs":[]}}', [{ pc: 0 }, { pc: 1 }]],
    ['{"result":{"gas":1,"logs":[],"x":[2]}}', '{"result":{"gas":1,"logs":[],"x":[2]}}', []],
    [
      ' { "result" : { "logs" : [ 1 ,\n-2.5e3 ] } }\n',
      ' { "result" : { "logs" : [] } }\n',
      [1, -2500],
    ],
    [
      '{"result":{"logs":[null,true,"a",12,[]]}}',
      '{"result":{"logs":[]}}',
      [null, true, "a", 12, []],
    ],
    ['{"r\\u0065sult":{"l\\u006Fgs":[1]}}', '{"r\\u0065sult":{"l\\u006Fgs":[]}}', [1]],
    [
      '{"result":{"logs":["\\\\","\\"]","\\u00e9é😀","[{"]}}',
      '{"result":{"logs":[]}}',
      ["\\", '"]', "éé😀", "[{"],
    ],
    [
      '{"result":{"logs":[1],"logs":[2]},"result":{"logs":[3]}}',
      '{"result":{"logs":[],"logs":[]},"result":{"logs":[]}}',
      [1, 2, 3],
    ],
  ])("%s", (text, rest, elements) => {
    expect(read(text, { size })).toEqual({ rest, elements, wasTaken: true });
  });

  it.each([
    '{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no logs: []","data":{"logs":[1]}}}',
    '{"logs":[1],"result":[{"logs":[1]}]}',
    '{"result":{"deeper":{"logs":[1]},"result":{"logs":[1]}},"logs":[1]}',
    '{"result":{"logs":{"logs":[1]}}}',
    '{"result":{"logs":"[1]"}}',
    '{"result":{"logs":null},"id":1}',
    '{"result":[[1]]}',
    '{"result":"0x1"}',
    '[{"result":{"logs":[1]}}]',
    " {}",
    "{ }",
  ])("has nothing to hand out, and is its own rest: %s", (text) => {
    expect(read(text, { size })).toEqual({ rest: text, elements: [], wasTaken: true });
  });

  it.each([
    '{"result":{"logs":[{"a":1}}}}',
    '{"result":{"logs":[[}]}}',
    '{"result":{"logs":[1,]}}',
    '{"result":{"logs":[,1]}}',
    '{"result":{"logs":[1 22]}}',
    '{"result":{"logs":[1,,2]}}',
    '{"result":{"logs":["a""b"]}}',
    '{"result":{"logs":[1:2]}}',
    '{"result":{"logs":[nul]}}',
    '{"result":{"logs":["\\x"]}}',
    '{"result":{"logs":[1]]}',
    '{"result":{"logs":[1]}}{}',
    '{"result":{"logs":[1]}}]',
    '{"result":{"logs" [1]}}',
    '{"result":{"logs":[1],}}',
    '{"result":{"logs":}}',
    '{"result":{"a":[{]}}}',
    '{"result":{"\\x":1}}',
    "{result:1}",
    "502 Bad Gateway",
    '"text"',
    "null ",
    "<html>",
    "]",
  ])("refuses %s", (text) => {
    expect(read(text, { size })).toMatchObject({ rest: undefined, wasTaken: false });
  });

  it("skips what is not wanted, unparsed and of any size, up to the end of each such array", () => {
    const text = `{"result":{"logs":[1,2,{"a":[nul,"]\\""]},"${"x".repeat(50)}"],"logs":[3]},"id":4}`;
    expect(read(text, { size, wanted: 2, maxElementBytes: 9 })).toEqual({
      rest: '{"result":{"logs":[],"logs":[]},"id":4}',
      elements: [1, 2],
      wasTaken: true,
    });
  });

  it.each(["[1,2}", "[1,[2}]", '[1,"]'])(
    "refuses an array that is skipped and broken: %s",
    (array) => {
      expect(read(`{"result":{"logs":${array}}}`, { size, wanted: 1 }).rest).toBeUndefined();
    },
  );

  it("takes an element of the size that is allowed, and none that is larger", () => {
    const text = '{"result":{"logs":[1234          ,  {"a":12}  ,"12345678"]}}';
    const rest = '{"result":{"logs":[]}}';
    expect(read(text, { size, maxElementBytes: 10 })).toMatchObject({ rest, wasTaken: true });
    const tooLarge = read(text, { size, maxElementBytes: 9 });
    expect(tooLarge).toEqual({ rest: undefined, elements: [1234, { a: 12 }], wasTaken: false });
  });

  it("takes a rest of the size that is allowed, and none that is larger", () => {
    const text = `{"result":{"logs":["${"a".repeat(99)}"]}}`;
    expect(read(text, { size, maxRestBytes: 22 }).rest).toHaveLength(22);
    expect(read(text, { size, maxRestBytes: 21 })).toMatchObject({
      rest: undefined,
      wasTaken: false,
    });
  });
});

it("takes an array that is the document itself", () => {
  const stream = new ElementStream({ ...roomy, path: [] }, () => true);
  expect([stream.add(Buffer.from("[1,")), stream.add(Buffer.from("2] "))]).toEqual([true, true]);
  expect(stream.finish()?.toString()).toBe("[] ");
});
