// Any input of a person or a fuzzer gets a clear answer: the process never dies, never answers 5xx, and never echoes
// an id that was not sent.
import fc from "fast-check";
import { Pool } from "undici";
import { afterAll, beforeAll, expect, it } from "vitest";
import { atDepth } from "../support/depth.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const BODIES = atDepth(1_000, 20_000);
const AT_ONCE = 20;

let node: ScriptedNode;
let gateway: RunningGateway;
let pool: Pool;

beforeAll(async () => {
  // A wrong result for a log query would count as a lie: then no node could answer, and the status would be 502.
  node = await startScriptedNode((asked) =>
    result(asked, asked.method === "eth_getLogs" ? "[]" : '"0x10"'),
  );
  gateway = await startGatewayProcess({
    log: { level: "info" },
    networks: { main: { family: "evm", chainId: 1, upstreams: [{ url: node.url }] } },
  });
  pool = new Pool(gateway.url, { connections: AT_ONCE });
});

afterAll(async () => {
  await pool.close();
  expect(await gateway.stop()).toBe(0);
  await node.close();
});

const METHODS = [
  "web3_sha3",
  "eth_getCode",
  "eth_getLogs",
  "eth_estimateGas",
  "eth_call",
  "eth_chainId",
  "eth_getBlockByNumber",
  "eth_getTransactionReceiptsByBlock",
  "eth_getUncleByBlockHashAndIndex",
  "trace_get",
  "rpc.discover",
  "admin_peers",
  "__proto__",
  "constructor",
  "toString",
];

const hex = fc.string({ unit: fc.constantFrom(..."0123456789abcdefABCDEFxg"), maxLength: 70 });
const hostile = fc.constantFrom<unknown>(
  "latest",
  "0x0",
  "0xffffffffffffffffffffffff",
  -1,
  1.5,
  1e308,
  null,
  true,
  {},
  [],
  "\ud800",
  JSON.parse('{"__proto__":{"toString":1},"fromBlock":"0x5","topics":[[[]]]}'),
  { fromBlock: "latest", toBlock: "0x0" },
  { blockHash: `0x${"0".repeat(64)}`, fromBlock: "0x1" },
  { gas: "0xfffffffffffffff", data: "0x", input: "0x1" },
  `0x${"0".repeat(64)}`,
  `0x${"1".repeat(40)}`,
);
const param = fc.oneof(
  hostile,
  hex.map((digits) => `0x${digits}`),
  fc.jsonValue({ maxDepth: 3 }),
);
const id = fc.oneof(
  fc.integer().map(String),
  fc.bigInt({ min: 2n ** 53n, max: 2n ** 80n }).map(String),
  fc.string().map((text) => JSON.stringify(text)),
  fc.constantFrom(
    "null",
    "1.5",
    "1e2",
    "true",
    "{}",
    "[1]",
    '"\\ud83d"',
    '"\\u0041"',
    "-0",
    "9".repeat(500),
  ),
);

/** A call as text, mostly valid, with members in any order, doubled or left out. */
const call = fc
  .record({
    id: fc.option(id),
    method: fc.oneof(
      { weight: 5, arbitrary: fc.constantFrom(...METHODS) },
      { weight: 1, arbitrary: fc.string() },
    ),
    params: fc.option(fc.array(param, { maxLength: 4 })),
    version: fc.constantFrom('"2.0"', '"2.0"', '"2.0"', '"2.0"', '"1.0"', "2.0", "null"),
    extra: fc.constantFrom("", "", '"id":5', '"__proto__":{"a":1}', '"method":7', '"params":{}'),
    turn: fc.nat(4),
  })
  .map(({ id: idText, method, params, version, extra, turn }) => {
    const members = [
      `"jsonrpc":${version}`,
      `"method":${JSON.stringify(method)}`,
      ...(idText === null ? [] : [`"id":${idText}`]),
      ...(params === null ? [] : [`"params":${JSON.stringify(params)}`]),
      ...(extra ? [extra] : []),
    ];
    return `{${[...members.slice(turn), ...members.slice(0, turn)].join(",")}}`;
  });

/** The text with a part removed, or replaced by rubbish. */
const broken = fc
  .record({ text: call, at: fc.nat(200), length: fc.nat(30), rubbish: fc.string({ maxLength: 6 }) })
  .map(({ text, at, length, rubbish }) => text.slice(0, at) + rubbish + text.slice(at + length));

const deep = fc
  .record({
    depth: fc.integer({ min: 50, max: 20_000 }),
    isClosed: fc.boolean(),
    key: fc.boolean(),
  })
  .map(({ depth, isClosed, key }) => {
    const nested =
      (key ? '{"a":' : "[").repeat(depth) +
      (isClosed ? (key ? "1}" : "]") + (key ? "}" : "]").repeat(depth - 1) : "");
    return `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[${nested}]}`;
  });

const body = fc.oneof(
  { weight: 10, arbitrary: call },
  { weight: 4, arbitrary: broken },
  {
    weight: 3,
    arbitrary: fc
      .array(fc.oneof(call, fc.constantFrom("1", "null", "[]", '"x"', "{}")), { maxLength: 6 })
      .map((calls) => `[${calls.join(",")}]`),
  },
  { weight: 1, arbitrary: deep },
  { weight: 1, arbitrary: fc.json() },
  { weight: 1, arbitrary: fc.string({ maxLength: 50 }) },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 1, max: 1_200_000 })
      .map(
        (length) =>
          `{"jsonrpc":"2.0","id":1,"method":"web3_sha3","params":["0x${"a".repeat(length)}"]}`,
      ),
  },
);

type Seen = { status: number; text: string };

async function send(text: string): Promise<Seen> {
  const response = await pool.request({
    path: "/main/v1/test-key",
    method: "POST",
    headers: { "content-type": "application/json" },
    body: text,
  });
  return { status: response.statusCode, text: await response.body.text() };
}

const parsedOr = (text: string, otherwise: unknown): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return otherwise;
  }
};

/** Expects that an answer's id is null, the sent one, or 0 for an id that was left out. */
function expectOwnId(answer: unknown, asked: unknown): void {
  const { id: echoed } = answer as { id: unknown };
  const sent = typeof asked === "object" && asked !== null ? (asked as { id?: unknown }).id : null;
  const mayBe = sent === undefined ? [null, 0] : [null, sent];
  expect(mayBe.some((one) => Object.is(one, echoed))).toBe(true);
}

function judge(text: string, seen: Seen): void {
  expect(seen.status).toBeLessThan(500);
  const answer = JSON.parse(seen.text) as unknown;
  const asked = parsedOr(text, null);
  if (Array.isArray(answer)) {
    expect(answer).toHaveLength((asked as unknown[]).length);
    for (const [index, one] of answer.entries()) expectOwnId(one, (asked as unknown[])[index]);
  } else expectOwnId(answer, Array.isArray(asked) ? null : asked);
}

it(`answers ${BODIES} bodies of every kind`, { timeout: 300_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(body, { minLength: AT_ONCE, maxLength: AT_ONCE }), async (texts) => {
      const seen = await Promise.all(texts.map(send));
      for (const [index, one] of seen.entries()) judge(texts[index] ?? "", one);
    }),
    { numRuns: BODIES / AT_ONCE },
  );
  expect(gateway.process.exitCode).toBeNull();
});
