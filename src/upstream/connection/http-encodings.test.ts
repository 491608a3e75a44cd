// Answers of nodes that are compressed, over real sockets.
import { createHash } from "node:crypto";
import type { OutgoingHttpHeaders } from "node:http";
import {
  brotliCompressSync,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { afterEach, describe, expect, it } from "vitest";
import * as fake from "../../../test/support/fake-node.ts";
import { systemClock } from "../../lib/clock.ts";
import type { BodyReader, ConnectionOptions, Exchange } from "./connection.ts";
import { HttpConnection } from "./http-connection.ts";
import type { ArrivingMemory } from "./whole-body.ts";

const request = { id: 1, json: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}' };
const never = new AbortController().signal;
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const SMALL = `{"jsonrpc":"2.0","id":1,"result":"0x1"}`;
/** Hex digits without a pattern, so that the coded body is large, too. */
const digits = Array.from({ length: 8_000 }, (_, at) =>
  createHash("sha256").update(String(at)).digest("hex"),
).join("");
const LARGE = `{"jsonrpc":"2.0","id":1,"result":"0x${digits}"}`;
const ZEROS = `{"jsonrpc":"2.0","id":1,"result":"0x${"0".repeat(3_000_000)}"}`;

type Way = {
  readonly options?: Partial<ConnectionOptions>;
  readonly memory?: ArrivingMemory;
  readonly reader?: BodyReader;
  readonly status?: number;
  /** The body comes in pieces of this many bytes. */
  readonly pieces?: number;
};

async function answerTo(
  body: Buffer | string,
  headers: OutgoingHttpHeaders,
  { options, memory, reader, status = 200, pieces }: Way = {},
): Promise<Exchange> {
  const node = await fake.httpNode(async (_request, response) => {
    response.writeHead(status, headers);
    const bytes = Buffer.from(body);
    const step = pieces ?? Math.max(1, bytes.length);
    for (let at = 0; at < bytes.length && !response.destroyed; at += step)
      await new Promise<void>((written) => {
        response.write(bytes.subarray(at, at + step), () => setImmediate(written));
      });
    response.end();
  });
  undo.push(node.close);
  const connection = new HttpConnection(
    {
      ...{ url: node.url, headers: {}, connections: 2, timeoutMs: 5_000, responseBytes: 1 << 24 },
      ...options,
    },
    { clock: systemClock, memory },
  );
  undo.push(() => connection.close());
  return connection.send(request, never, reader);
}

const textOf = (exchange: Exchange): string =>
  exchange.kind === "answered" ? `${exchange.status} ${exchange.body}` : JSON.stringify(exchange);

const CODERS: readonly [header: string, (body: string) => Buffer][] = [
  ["gzip", (body) => gzipSync(body)],
  ["x-gzip", (body) => gzipSync(body)],
  ["GZIP", (body) => gzipSync(body)],
  ["br", (body) => brotliCompressSync(body)],
  ["zstd", (body) => zstdCompressSync(body)],
  ["deflate", (body) => deflateSync(body)],
  ["deflate", (body) => deflateRawSync(body)],
  ["identity", (body) => Buffer.from(body)],
  ["", (body) => Buffer.from(body)],
  ["gzip, br", (body) => brotliCompressSync(gzipSync(body))],
  ["br, identity, gzip", (body) => gzipSync(brotliCompressSync(body))],
  ["deflate, zstd", (body) => zstdCompressSync(deflateSync(body))],
  ["gzip, deflate", (body) => deflateRawSync(gzipSync(body))],
];

describe.each([
  ["small", SMALL, undefined],
  ["small, byte by byte", SMALL, 1],
  ["large", LARGE, undefined],
  ["large, in pieces", LARGE, 10_000],
  ["of zeros", ZEROS, undefined],
])("an answer that is %s", (_, text, pieces) => {
  it.each(CODERS)("and encoded as `%s` arrives as it was", async (coding, coded) => {
    const way = pieces === undefined ? {} : { pieces };
    const exchange = await answerTo(coded(text), { "content-encoding": coding }, way);
    expect(textOf(exchange) === `200 ${text}`).toBe(true);
  });

  it.each(["gzip", "br", "zstd", "deflate"])(
    "and plain, though its header says %s, is read",
    async (coding) => {
      const exchange = await answerTo(text, { "content-encoding": coding }, { pieces: 10_000 });
      expect(textOf(exchange) === `200 ${text}`).toBe(true);
    },
  );
});

describe("an answer that cannot be decoded", () => {
  const malformed = { kind: "unreachable", reason: "malformed answer" };

  it.each([
    ["gzip", gzipSync(SMALL).subarray(0, -5)],
    ["br", brotliCompressSync(SMALL).subarray(0, -5)],
    ["zstd", zstdCompressSync(SMALL).subarray(0, -5)],
    ["deflate", deflateSync(SMALL).subarray(0, -5)],
    ["gzip", gzipSync(LARGE).subarray(0, 200_000)],
    ["br", brotliCompressSync(LARGE).subarray(0, 200_000)],
    ["zstd", zstdCompressSync(LARGE).subarray(0, 200_000)],
    ["gzip", Buffer.from("<html>no JSON at all</html>")],
    ["gzip", Buffer.from("<html>no JSON at all</html>".repeat(2_000))],
    ["gzip, br", brotliCompressSync(Buffer.from("no gzip".repeat(5_000)))],
  ])("as %s is malformed, row %#", async (coding, body) => {
    const exchange = await answerTo(body, { "content-encoding": coding });
    expect(textOf(exchange)).toBe(JSON.stringify(malformed));
  });

  it.each([
    ["compress", "content encoding compress is not known"],
    ["gzip, sdch", "content encoding sdch is not known"],
    ["<script>", "content encoding is not known"],
    ["gzip, gzip, gzip, gzip", "too many content encodings"],
  ])("since its encoding is `%s` says so", async (coding, reason) => {
    const exchange = await answerTo(SMALL, { "content-encoding": coding });
    expect(exchange).toEqual({ kind: "unreachable", reason });
  });

  it.each([
    ["gzip", "no gzip"],
    ["compress", "no gzip"],
    ["gzip", ""],
  ])("keeps the status and the pause of a refusal: %s, `%s`", async (coding, body) => {
    const headers = { "content-encoding": coding, "retry-after": "7" };
    const exchange = await answerTo(body, headers, { status: 429 });
    expect(exchange).toMatchObject({ kind: "answered", status: 429, retryAfterMs: 7_000 });
  });
});

describe("the decoded bytes of an answer", () => {
  const bomb = gzipSync(Buffer.alloc(100_000_000, "0"));

  it.each([
    ["gzip", () => bomb],
    ["br", () => brotliCompressSync(Buffer.alloc(30_000_000, "0"))],
    ["zstd", () => zstdCompressSync(Buffer.alloc(30_000_000, "0"))],
    ["gzip, gzip", () => gzipSync(bomb)],
  ])("count against the longest answer as they come: %s", async (coding, body) => {
    const counts: number[] = [];
    const memory: ArrivingMemory = {
      hold: (_account, bytes) => void counts.push(bytes),
      release: (_account, bytes) => void counts.push(-bytes),
      admitLargeAnswer: () => true,
    };
    const way = { options: { responseBytes: 1_000_000 }, memory };
    const exchange = await answerTo(body(), { "content-encoding": coding }, way);
    expect(exchange).toEqual({ kind: "too large" });
    const held = counts.filter((bytes) => bytes > 0).reduce((sum, bytes) => sum + bytes, 0);
    expect(held).toBeLessThan(1_200_000);
    expect(counts.reduce((sum, bytes) => sum + bytes, 0)).toBe(0);
  });

  it("come to a reader as they arrive, until it has enough", async () => {
    let bytes = 0;
    const reader = {
      add: (chunk: Buffer) => {
        bytes += chunk.length;
        return bytes < 2_000_000;
      },
      finish: () => undefined,
    };
    const exchange = await answerTo(bomb, { "content-encoding": "gzip" }, { reader });
    expect(exchange).toEqual({ kind: "aborted" });
    expect(bytes).toBeLessThan(2_200_000);
  });
});
