// A node whose answers are a receipt or many logs, in the first coding that a request accepts. Its path names the answer.
// It prints its port.
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { brotliCompressSync, constants, gzipSync, zstdCompressSync } from "node:zlib";
import { answerOf } from "../compressed-bodies.ts";

const CODERS: Readonly<Record<string, (body: Buffer) => Buffer>> = {
  gzip: (body) => gzipSync(body),
  br: (body) => brotliCompressSync(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }), // as proxies do
  zstd: (body) => zstdCompressSync(body),
};

const coded = new Map<string, Buffer>();

/** The body for a path such as `/logs`, made once for each coding. */
function bodyOf(path: string, coding: string): Buffer {
  const name = `${path} ${coding}`;
  const body = coded.get(name) ?? (CODERS[coding] ?? Buffer.from)(answerOf(path.slice(1)));
  coded.set(name, body);
  return body;
}

const server = createServer((request, response) => {
  request.resume().on("end", () => {
    const coding = String(request.headers["accept-encoding"] ?? "");
    const body = bodyOf(request.url ?? "", coding);
    const headers = { "content-type": "application/json", "content-length": body.length };
    response
      .writeHead(200, coding ? { ...headers, "content-encoding": coding } : headers)
      .end(body);
  });
});
server.listen(0, "127.0.0.1", () => console.log((server.address() as AddressInfo).port));
