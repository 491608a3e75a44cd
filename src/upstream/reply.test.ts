import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Reply, readReply } from "./reply.ts";

const ID = 18;
const answer = (body: string | Buffer, status = 200): Reply =>
  readReply({ kind: "answered", status, body: Buffer.from(body) }, ID);
const withId = (rest: string): string => `{"jsonrpc":"2.0","id":${ID},${rest}}`;

/** The reply as one text: the kind, and the result, the reason or the code. */
function meaning(reply: Reply): string {
  switch (reply.kind) {
    case "result":
      return `result ${reply.json}`;
    case "failed":
      return `failed: ${reply.reason}`;
    case "refused":
      return `refused ${reply.code}`;
    case "missing":
    case "busy":
    case "occupied":
    case "timeout":
    case "aborted":
      return reply.kind;
  }
}

describe("an answer with a result", () => {
  it.each([
    [withId('"result":"0x1"'), "result 0x1"],
    [withId('"result":null'), "result null"],
    [withId('"result":"0x2","error":null'), "result 0x2"],
    [withId('"error":null,"result":[{"a":"}"}]'), 'result [{"a":"}"}]'],
    [' { "result" : true , "id" : 18 }\n', "result true"],
    ['{"id":18,"result":-1.5e3}', "result -1.5e3"],
    ['{"id":7,"result":"0x1"}', "failed: answer to another call"],
    ['{"id":"18","result":"0x1"}', "failed: answer to another call"],
    ['{"id":null,"result":"0x1"}', "failed: answer to another call"],
    ['{"jsonrpc":"2.0","result":"0x1"}', "failed: answer to another call"],
    ['{"id":18}', "failed: answer without a result"],
    ['{"id":18,"result":NaN}', "failed: malformed answer"],
    ['{"id":18,"result":tru}', "failed: malformed answer"],
    ['{"id":18,"result":"0x1"', "failed: malformed answer"],
    ['{"\\x":1,"id":18,"result":"0x1"}', "failed: malformed answer"],
    ['[{"id":18,"result":"0x1"}]', "failed: malformed answer"],
    ["", "failed: malformed answer"],
    ["null", "failed: malformed answer"],
    ["<html><body>Welcome to nginx!</body></html>", "failed: malformed answer"],
  ])("%s", (body, want) => {
    expect(meaning(answer(body))).toBe(want.replace(/^result (0x.*)$/, 'result "$1"'));
  });
});

describe("an HTTP status", () => {
  const result = withId('"result":"0x1"');
  const refusal = withId('"error":{"code":-32602,"message":"invalid argument 0"}');

  it.each([
    [429, result, "busy"],
    [429, "Too Many Requests", "busy"],
    [401, result, "failed: HTTP 401"],
    [403, refusal, "failed: HTTP 403"],
    [500, refusal, "failed: HTTP 500"],
    [502, "<html>Bad Gateway</html>", "failed: HTTP 502"],
    [503, "", "failed: HTTP 503"],
    [400, refusal, "refused -32602"],
    [404, "404 page not found", "failed: HTTP 404"],
    [301, "", "failed: HTTP 301"],
    [400, result, "failed: HTTP 400"],
    [201, result, 'result "0x1"'],
    [500, withId('"error":{"code":3,"message":"execution reverted"}'), "refused 3"],
    [403, withId('"error":{"code":-32601,"message":"Method not found"}'), "missing"],
    [503, withId('"error":{"code":-32000,"message":"header not found"}'), "refused -32000"],
    [403, '{"id":4,"error":{"code":-32602,"message":"no"}}', "failed: HTTP 403"],
    [402, '{"message":"account suspended"}', "busy"],
    [405, "Method Not Allowed", "failed: HTTP 405"],
    [404, "unsupported method: trace_block", "missing"],
    [520, "<html>Web server is returning an unknown error</html>", "failed: HTTP 520"],
  ])("%d with %s", (status, body, want) => {
    expect(meaning(answer(body, status))).toBe(want);
  });
});

describe("an error", () => {
  const error = (code: number, message: string): string =>
    withId(`"error":${JSON.stringify({ code, message })}`);

  it.each([
    // These are errors of Ankr, Infura, Unifra, QuickNode and Alchemy.
    [
      '{"jsonrpc":"2.0","error":{"code":-32000,"message":"Unauthorized: You must authenticate your request with an API key. Create an account on https://www.ankr.com/rpc/ and generate your personal API key for free."},"id":null}',
      "failed: the node refuses our account",
    ],
    [
      '{"jsonrpc":"2.0","id":18,"error":{"code":-32002,"message":"rejected due to project ID settings"}}',
      "failed: the node refuses our account",
    ],
    [
      '{"jsonrpc":"2.0","error":{"code":429,"message":"Your app has exceeded its compute units per second capacity."},"id":18}',
      "busy",
    ],
    [
      '{"jsonrpc":"2.0","error":{"code":429,"message":"Your app has exceeded its compute units per second capacity. If you have retries enabled, you can safely ignore this message. If not, check out https://docs.unifra.io/guides/rate-limits"}}',
      "busy",
    ],
    [
      '{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"daily request count exceeded, request rate limited","data":{"rate":{"allowed_rps":10,"backoff_seconds":30,"current_rps":25.3},"see":"https://infura.io/dashboard"}}}',
      "busy",
    ],
    [
      '{"error":{"code":-32007,"message":"20/second request limit reached - reduce calls per second or upgrade your account at quicknode.com"}}',
      "busy",
    ],
    [error(-32602, "range 1000000 exceeds limit of 10000"), "refused -32602"],
    [error(-32005, "query returned more than 1000 results"), "refused -32005"],
    [
      '{"error":{"code":-32602,"message":"Log response size exceeded. You can make eth_getLogs requests with up to a 2K block range and no limit on the response size, or you can request any block range with a cap of 10K logs in the response. Based on your parameters and the response size limit, this block range should work: [0x0, 0x133e71]"}}',
      "refused -32602",
    ],
    [
      '{"error":{"code":-32005,"data":{"from":"0xCB3D","limit":10000,"to":"0x7B737"},"message":"query returned more than 10000 results. Try with this block range [0xCB3D, 0x7B737]."}}',
      "refused -32005",
    ],
    [
      '{"jsonrpc":"2.0","id":"ce9218c78f27f4c3b9b4b72bfbcd9f3e","error":{"code":-32600,"message":"Under the Free tier plan, you can make eth_getLogs requests with up to a 10 block range."}}',
      "failed: answer to another call",
    ],
    [error(-32601, "the method trace_get does not exist/is not available"), "missing"],
    [error(-32004, "method not supported"), "missing"],
    [error(3, "execution reverted"), "refused 3"],
    [error(-32000, "execution reverted: Unauthorized"), "refused -32000"],
    [error(-32000, "in-flight transaction limit reached for delegated accounts"), "refused -32000"],
    [error(-32005, "could not separate the results"), "refused -32005"],
    [error(429, "slow down"), "busy"],
    ['{"error":{"code":-32700,"message":"parse error"},"id":null}', "refused -32700"],
    ['{"error":{"code":-32600,"message":"invalid request"},"result":null}', "refused -32600"],
    ['{"error":{"message":"Too many requests"}}', "busy"],
    ['{"error":"rate limit exceeded"}', "busy"],
    ['{"message":"API rate limit exceeded"}', "busy"],
    ["rate limit exceeded", "busy"],
    ['{"id":18,"result":"rate limit exceeded"', "failed: malformed answer"],
    ['{"id":7,"result":"rate limit exceeded"}', "failed: answer to another call"],
    ['{"id":18,"error":{"message":"no code"}}', "failed: malformed error"],
    ['{"id":18,"error":"out of gas"}', "failed: malformed error"],
    ['{"id":18,"error":{"code":-32000,}}', "failed: malformed error"],
  ])("%s", (body, want) => {
    expect(meaning(answer(body))).toBe(want);
  });

  it("is kept as it came", () => {
    const json = '{"code": 3, "message":"execution reverted","data":"0x08c379a0", "more":1e400}';
    expect(answer(withId(`"error":${json}`))).toMatchObject({
      message: "execution reverted",
      json,
    });
  });
});

describe("no answer", () => {
  it.each([
    [{ kind: "unreachable", reason: "ECONNREFUSED" } as const, "failed: ECONNREFUSED"],
    [{ kind: "too large" } as const, "failed: the answer is larger than limits.response"],
    [{ kind: "timeout" } as const, "timeout"],
    [{ kind: "aborted" } as const, "aborted"],
  ])("%o", (exchange, want) => {
    expect(meaning(readReply(exchange, ID))).toBe(want);
  });
});

describe("whatever a node writes", () => {
  const bodies = fc
    .oneof(
      fc.record({ jsonrpc: fc.constant("2.0"), id: fc.constant(ID), result: fc.jsonValue() }),
      fc.record({ id: fc.constant(ID), error: fc.jsonValue() }),
      fc.record({ result: fc.jsonValue(), id: fc.constant(ID) }),
    )
    .map((message) => Buffer.from(JSON.stringify(message)));

  it("an answer that was cut off is never a result", () => {
    fc.assert(
      fc.property(bodies, fc.nat(), (body, at) => {
        expect(answer(body.subarray(0, at % body.length)).kind).toBe("failed");
      }),
      { numRuns: 2_000 },
    );
  });

  it("nothing makes it throw", () => {
    const edits = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1, maxLength: 5 });
    fc.assert(
      fc.property(bodies, edits, (body, changes) => {
        for (const [at, byte] of changes) body[at % body.length] = byte;
        expect(answer(body).kind).toBeTypeOf("string");
      }),
      { numRuns: 5_000 },
    );
    fc.assert(
      fc.property(fc.uint8Array(), (bytes) => {
        expect(answer(Buffer.from(bytes)).kind).not.toBe("result");
      }),
    );
  });
});
