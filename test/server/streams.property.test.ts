// Streams of whatever HTTP allows on one connection: requests one after the other or at once, upgrades, tunnels, bodies in
// chunks with trailers, halves of requests, ends of one direction, in pieces that are cut anywhere. Node's own HTTP
// server reads the same streams: the gateway answers no more requests than Node finds in them, and goes on.
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { atDepth } from "../support/depth.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { readToEnd } from "../support/raw-http.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const STREAMS = atDepth(400, 9_000);
const PATH = "/main/v1/test-key";
const CALL = '{"jsonrpc":"2.0","id":1,"method":"eth_gasPrice"}';

const lines = (...all: readonly string[]): string => `${all.join("\r\n")}\r\n\r\n`;
const chunked = (...trailers: readonly string[]): string =>
  lines(`POST ${PATH} HTTP/1.1`, "Host: a", "Transfer-Encoding: chunked") +
  `8\r\n${CALL.slice(0, 8)}\r\n${(CALL.length - 8).toString(16)}\r\n${CALL.slice(8)}\r\n0\r\n` +
  `${trailers.map((trailer) => `${trailer}\r\n`).join("")}\r\n`;
const upgrade = (path: string, ...more: readonly string[]): string =>
  lines(
    ...[`GET ${path} HTTP/1.1`, "Host: a", "Upgrade: websocket", "Connection: Upgrade"],
    ...["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13", ...more],
  );

const request = fc.constantFrom(
  `${lines(`POST ${PATH} HTTP/1.1`, "Host: a", `Content-Length: ${CALL.length}`)}${CALL}`,
  lines("GET /readyz HTTP/1.1", "Host: a"),
  lines("GET /healthz HTTP/1.0"),
  lines("HEAD /nowhere HTTP/1.1", "Host: a"),
  lines(`OPTIONS ${PATH} HTTP/1.1`, "Host: a", "Origin: http://a"),
  lines(`POST ${PATH} HTTP/1.1`, "Host: a", "Expect: 200-maybe", "Content-Length: 0"),
  chunked(),
  chunked("X-Trailer: 1", "Content-Length: 9"),
  chunked("Upgrade: websocket", "Connection: Upgrade"),
);
const side = fc.constantFrom(
  upgrade(PATH),
  upgrade("/nowhere"),
  upgrade("/main/v1/wrong"),
  upgrade(PATH, "Content-Length: 3"),
  upgrade(PATH).replace("websocket", "h2c"),
  upgrade(PATH).replace("GET", "POST"),
  lines("CONNECT a:80 HTTP/1.1", "Host: a:80"),
  lines("CONNECT a:80 HTTP/1.1", "Host: a:80", "Upgrade: websocket", "Connection: Upgrade"),
  "\x81\x85abcdefghi",
  "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
  "\x16\x03\x01\x02\x00",
);
const stream = fc.record({
  parts: fc.array(fc.oneof({ weight: 3, arbitrary: request }, { weight: 2, arbitrary: side }), {
    minLength: 1,
    maxLength: 5,
  }),
  kept: fc.double({ min: 0, max: 1, noNaN: true }),
  isWhole: fc.boolean(),
  cuts: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 3 }),
  ending: fc.constantFrom("half", "reset", "close"),
});

let gateway: RunningGateway;
let node: ScriptedNode;
let model: Server;
let seen: number;

beforeAll(async () => {
  node = await startScriptedNode((call) => result(call, '"0x1"'));
  const upstreams = [{ url: node.url }];
  gateway = await startGatewayProcess({
    limits: { refusals: 1_000_000 },
    networks: { main: { family: "evm", chainId: 1, window: { blocks: 0 }, upstreams } },
  });
  model = createServer({ requireHostHeader: false }, (asked, response) => {
    seen += 1;
    asked.resume();
    response.end();
  });
  for (const event of ["upgrade", "connect"])
    model.on(event, (_, socket) => {
      seen += 1;
      socket.destroy();
    });
  model.on("checkExpectation", (_, response) => {
    seen += 1;
    response.writeHead(417).end();
  });
  model.on("clientError", (_, socket) => {
    seen += 1;
    socket.destroy();
  });
  await new Promise<void>((done) => model.listen(0, "127.0.0.1", done));
});
afterAll(async () => {
  expect(await gateway.stop()).toBe(0);
  await node.close();
  model.close();
});

async function send(
  port: number,
  pieces: readonly string[],
  ending: "half" | "reset" | "close",
): Promise<string> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  const read = readToEnd(socket);
  for (const piece of pieces) {
    await new Promise<void>((done) => socket.write(piece, "latin1", () => done()));
    await new Promise((done) => setImmediate(done));
  }
  if (ending === "half") socket.end();
  else if (ending === "reset") socket.resetAndDestroy();
  else socket.destroySoon();
  const late = setTimeout(() => socket.destroy(), 2_000);
  const text = await read;
  clearTimeout(late);
  return text;
}

it("no stream ends the process, or is answered more often than it asks", async () => {
  const { pid } = gateway.process;
  const portOf = new URL(gateway.url).port;
  await fc.assert(
    fc.asyncProperty(stream, async ({ parts, kept, isWhole, cuts, ending }) => {
      const all = parts.join("");
      const text = isWhole ? all : all.slice(0, Math.ceil(all.length * kept));
      const at = [0, ...cuts.map((cut) => Math.floor(cut * text.length)), text.length];
      const sorted = at.toSorted((a, b) => a - b);
      const pieces = sorted.slice(1).map((end, index) => text.slice(sorted[index], end));
      seen = 0;
      await send((model.address() as AddressInfo).port, pieces, "half");
      const told = await send(Number(portOf), pieces, ending);
      const answers = told.split(/HTTP\/1\.1 \d/).length - 1;
      expect(answers).toBeLessThanOrEqual(Math.max(seen, 1));
      const [, ...inStream] = told.split("101 Switching Protocols");
      expect(inStream.join("")).not.toContain("HTTP/1.1");
      expect(gateway.process.exitCode ?? gateway.process.signalCode).toBeNull();
    }),
    { numRuns: STREAMS },
  );
  const after = await send(
    Number(portOf),
    [lines("GET /healthz HTTP/1.1", "Host: a", "Connection: close")],
    "half",
  );
  expect(after).toContain("200 OK");
  expect(gateway.process.pid).toBe(pid);
  const messages = gateway.log.map(({ msg }) => msg);
  expect(messages.filter((msg) => msg === "listening")).toHaveLength(1);
  expect(messages).not.toContain("an unexpected error");
  expect(messages).not.toContain("a callback of the server failed: its connection was ended");
});
