import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { servedMsOf } from "../../test/support/served-time.ts";
import { readPlainHead } from "./plain-request.ts";

const request = (...lines: readonly string[]): Buffer =>
  Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
const PLAIN = ["POST /main/v1/key?a=b HTTP/1.1", "Host: a", "Content-Length: 12"];

describe("the head of a plain request", () => {
  it("tells the path, the headers and both lengths", () => {
    const bytes = request(
      ...PLAIN,
      "X-Two:\t  words here \t",
      "X-Empty:",
      "Connection: Keep-Alive",
    );
    expect(readPlainHead(bytes)).toEqual({
      url: "/main/v1/key?a=b",
      headers: {
        host: "a",
        "content-length": "12",
        "x-two": "words here",
        "x-empty": "",
        connection: "Keep-Alive",
      },
      rawHeaders: [
        ...["Host", "a", "Content-Length", "12", "X-Two", "words here", "X-Empty", ""],
        ...["Connection", "Keep-Alive"],
      ],
      bytes: bytes.length,
      bodyBytes: 12,
      isLast: false,
    });
    expect(readPlainHead(request(...PLAIN, "connection: Close"))).toMatchObject({ isLast: true });
  });

  it("is unfinished until its empty line, and other when that does not come soon", () => {
    const bytes = request(...PLAIN);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), (length) => {
        expect(readPlainHead(bytes.subarray(0, length))).toBe("unfinished");
      }),
    );
    expect(readPlainHead(Buffer.from(`POST /${"a".repeat(4090)}`))).toBe("other");
    for (const begun of ["G", "POST h", "\u0016\u0003", "\r\n"])
      expect(readPlainHead(Buffer.from(begun))).toBe("other");
    expect(readPlainHead(request(...PLAIN, `X-Long: ${"a".repeat(4096)}`))).toBe("other");
  });

  it.each([
    ["another verb", ["GET / HTTP/1.1", "Host: a", "Content-Length: 1"]],
    ["another version", ["POST / HTTP/1.0", "Host: a", "Content-Length: 1"]],
    ["a whole URL", ["POST http://a/ HTTP/1.1", "Host: a", "Content-Length: 1"]],
    ["two spaces", ["POST  / HTTP/1.1", "Host: a", "Content-Length: 1"]],
    ["a path beyond ASCII", ["POST /\u00e9 HTTP/1.1", "Host: a", "Content-Length: 1"]],
    ["no host", ["POST / HTTP/1.1", "Content-Length: 1"]],
    ["two hosts", [...PLAIN, "host: a"]],
    ["two lengths", [...PLAIN, "content-length: 12"]],
    ["no length", ["POST / HTTP/1.1", "Host: a"]],
    ["no body", ["POST / HTTP/1.1", "Host: a", "Content-Length: 0"]],
    ["a length with a sign", ["POST / HTTP/1.1", "Host: a", "Content-Length: +1"]],
    ["a list of lengths", ["POST / HTTP/1.1", "Host: a", "Content-Length: 1, 1"]],
    ["a length in hexadecimal", ["POST / HTTP/1.1", "Host: a", "Content-Length: 0x1"]],
    ["a body that is paid for", ["POST / HTTP/1.1", "Host: a", "Content-Length: 16385"]],
    ["chunks", [...PLAIN, "Transfer-Encoding: chunked"]],
    ["compression", [...PLAIN, "Content-Encoding: gzip"]],
    ["an expectation", [...PLAIN, "Expect: 100-continue"]],
    ["an upgrade", [...PLAIN, "Upgrade: h2c"]],
    ["other wishes for the connection", [...PLAIN, "Connection: keep-alive, Upgrade"]],
    ["trailers", [...PLAIN, "Trailer: x"]],
    ["a header twice", [...PLAIN, "X-A: 1", "x-a: 2"]],
    ["a folded line", [...PLAIN, "X-A: 1", " 2"]],
    ["a space before the colon", [...PLAIN, "X-A : 1"]],
    ["a header without a name", [...PLAIN, ": 1"]],
    ["a line without a colon", [...PLAIN, "X-A"]],
    ["a bare line feed", [...PLAIN, "X-A: 1\nX-B: 2"]],
    ["a bare carriage return", [...PLAIN, "X-A: 1\rX-B: 2"]],
    ["a zero byte", [...PLAIN, "X-A: 1\u00002"]],
    ["a byte above ASCII", [...PLAIN, "X-A: \u00e9"]],
    ["an empty line first", ["", ...PLAIN]],
    ["a name of JavaScript's", [...PLAIN, "__proto__: 1"]],
  ])("leaves %s to others", (_, lines) => {
    expect(readPlainHead(request(...lines))).toBe("other");
  });

  it("is read in one pass, whatever stands in it", async () => {
    const blanks = request(...PLAIN, `X-A:${" \t".repeat(2_000)}\u0001`);
    const ownMs = await servedMsOf(() => {
      for (let reads = 0; reads < 100; reads += 1) expect(readPlainHead(blanks)).toBe("other");
    });
    expect(ownMs).toBeLessThan(1_000); // 7 s with a regular expression that tries each division of the blanks
  });
});
