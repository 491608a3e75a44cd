import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { Decompression } from "./decompression.ts";

const LIMIT = 1 << 20;
const decompress = (body: Buffer, encoding = "gzip", limit = LIMIT): Promise<unknown> =>
  new Decompression()
    .decompress(body, { encoding, limit }, () => undefined)
    .then(String, ({ status, message }) => ({
      status,
      message,
    }));

const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}';
const BATCH = `[${Array.from({ length: 1000 }, (_, id) => CALL.replace("1", String(id))).join()}]`;

describe("a body", () => {
  it.each([
    ["gzip", gzipSync(BATCH)],
    ["GZIP ", gzipSync(BATCH)],
    ["br", brotliCompressSync(BATCH)],
    ["deflate", deflateSync(BATCH)],
    ["deflate", deflateRawSync(BATCH)],
  ])("compressed with %s is the batch of a thousand that it was", async (encoding, compressed) => {
    expect(await decompress(compressed, encoding)).toBe(BATCH);
  });

  it.each([
    [
      "brackets",
      "[".repeat(LIMIT),
      { status: 400, message: expect.stringMatching(/nests too deep/) },
    ],
    ["objects", '{"a":'.repeat(200), { status: 400 }],
    ["one letter", `"${"a".repeat(LIMIT - 2)}"`, { status: 413 }],
    ["too much", `"${"ab12".repeat(LIMIT)}"`, { status: 413 }],
  ])("of %s is refused", async (_, text, want) => {
    expect(await decompress(gzipSync(text))).toMatchObject(want);
    expect(await decompress(brotliCompressSync(text), "br")).toMatchObject(want);
  });

  it.each([gzipSync(CALL).subarray(0, 30), Buffer.from("no gzip"), Buffer.alloc(0)])(
    "that is broken is refused %#",
    async (compressed) => expect(await decompress(compressed)).toMatchObject({ status: 400 }),
  );
});

it("decompresses many bodies, few at a time", async () => {
  const decompression = new Decompression();
  const texts = Array.from({ length: 200 }, (_, at) => CALL.replace("1", String(at)));
  const how = { encoding: "gzip", limit: LIMIT };
  let held = 0;
  const hold = (bytes: number): void => {
    held += bytes;
  };
  const all = texts.map((text) => decompression.decompress(gzipSync(text), how, hold).then(String));
  expect(await Promise.all(all)).toEqual(texts);
  expect(held).toBe(texts.join("").length);
});
