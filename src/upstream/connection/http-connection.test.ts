import type { RequestListener } from "node:http";
import type { Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import * as fake from "../../../test/support/fake-node.ts";
import { systemClock } from "../../lib/clock.ts";
import type { ConnectionOptions, Exchange } from "./connection.ts";
import { HttpConnection } from "./http-connection.ts";

const request = { id: 1, json: '{"jsonrpc":"2.0","id":1,"method":"eth_chainId","params":[]}' };
const never = new AbortController().signal;
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function closedAfterwards(node: Promise<fake.FakeNode>): Promise<fake.FakeNode> {
  undo.push((await node).close);
  return node;
}
const httpNode = (answer: RequestListener) => closedAfterwards(fake.httpNode(answer));
const rawNode = (answer: (socket: Socket) => void) => closedAfterwards(fake.rawNode(answer));

function connectionTo(url: string, options: Partial<ConnectionOptions> = {}): HttpConnection {
  const connection = new HttpConnection(
    { url, headers: {}, connections: 2, timeoutMs: 5_000, responseBytes: 1 << 20, ...options },
    { clock: systemClock },
  );
  undo.push(() => connection.close());
  return connection;
}

const textOf = (exchange: Exchange): string =>
  exchange.kind === "answered" ? `${exchange.status} ${exchange.body}` : exchange.kind;

describe("an answer over HTTP", () => {
  it.each([
    ["no chunk", [], ""],
    ["one chunk", ['{"id":1}'], '{"id":1}'],
    ["many chunks", ['{"id"', ":", "1}"], '{"id":1}'],
  ])("of %s is one buffer", async (_, chunks, want) => {
    const { url } = await httpNode(async (_request, response) => {
      for (const chunk of chunks)
        await new Promise((written) => response.write(chunk, () => setImmediate(written)));
      response.end();
    });
    expect(textOf(await connectionTo(url).send(request, never))).toBe(`200 ${want}`);
  });

  it("of 50 MB arrives whole", async () => {
    const large = Buffer.alloc(50_000_000, "headgate");
    const { url } = await httpNode((_request, response) => response.end(large));
    const exchange = await connectionTo(url, { responseBytes: 1 << 26 }).send(request, never);
    expect(exchange.kind === "answered" && exchange.body.equals(large)).toBe(true);
  });

  it("keeps its HTTP status, whatever it is", async () => {
    const { url } = await httpNode((_request, response) => response.writeHead(503).end("busy"));
    expect(textOf(await connectionTo(url).send(request, never))).toBe("503 busy");
  });

  it("comes over the same socket as the one before", async () => {
    const { url, sockets } = await httpNode((_request, response) => response.end("{}"));
    const connection = connectionTo(url, { connections: 1 });
    for (let round = 0; round < 5; round += 1) await connection.send(request, never);
    expect(sockets).toHaveLength(1);
  });

  it("of many calls needs no more sockets than allowed", async () => {
    const { url, sockets } = await httpNode((_request, response) => response.end("{}"));
    const connection = connectionTo(url, { connections: 3 });
    const all = await Promise.all(
      Array.from({ length: 30 }, () => connection.send(request, never)),
    );
    expect(all.map(textOf)).toEqual(all.map(() => "200 {}"));
    expect(sockets).toHaveLength(3);
  });
});

describe("a request over HTTP", () => {
  /** A node that answers with the request that it got. */
  const mirror = () =>
    httpNode(async (incoming, response) => {
      const chunks = await incoming.toArray();
      const { method, url, headers } = incoming;
      response.end(JSON.stringify({ method, url, headers, body: chunks.join("") }));
    });

  const sentTo = async (address: string, headers: Record<string, string> = {}) => {
    const exchange = await connectionTo(address, { headers }).send(request, never);
    return JSON.parse(exchange.kind === "answered" ? exchange.body.toString() : "{}");
  };

  it("carries the path, the query, the configured headers and the envelope", async () => {
    const { url } = await mirror();
    expect(await sentTo(`${url}/v3/key?a=b%20c`, { "X-Token": "t" })).toMatchObject({
      method: "POST",
      url: "/v3/key?a=b%20c",
      headers: {
        "content-type": "application/json",
        "user-agent": expect.stringMatching(/^headgate\/\d/),
        "x-token": "t",
      },
      body: request.json,
    });
  });

  it.each([
    ["user:p%40ss", {}, `Basic ${btoa("user:p@ss")}`],
    ["us%er:", {}, `Basic ${btoa("us%er:")}`], // no valid escape: the text counts as it is
    ["user:pass", { Authorization: "Bearer t" }, "Bearer t"],
  ])("of a URL with %s and %o has the authorization %s", async (user, headers, want) => {
    const { url } = await mirror();
    const sent = await sentTo(url.replace("//", `//${user}@`), headers);
    expect(sent.headers.authorization).toBe(want);
  });

  it("that cannot be written is unreachable, not thrown", async () => {
    const { url } = await mirror();
    const headers = { "x-token": "a\r\nb" };
    expect((await connectionTo(url, { headers }).send(request, never)).kind).toBe("unreachable");
  });
});

describe("a node that fails in the middle", () => {
  const answerThenEnd = (text: string) => (socket: Socket) => socket.end(text);

  it.each([
    [
      "a body shorter than announced",
      answerThenEnd("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{"),
    ],
    [
      "a chunk that was cut off",
      answerThenEnd("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n8\r\n{}"),
    ],
    [
      "chunks without the last one",
      answerThenEnd("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n"),
    ],
    ["half a header", answerThenEnd("HTTP/1.1 200 OK\r\ncontent-le")],
    ["no answer", answerThenEnd("")],
    ["no HTTP", answerThenEnd("SSH-2.0-OpenSSH_9.6\r\n")],
    ["a reset", (socket: Socket) => socket.resetAndDestroy()],
    [
      "a reset within the body",
      (socket: Socket) =>
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{", () =>
          setImmediate(() => socket.resetAndDestroy()),
        ),
    ],
  ])("%s: unreachable, and the reason holds no address", async (_, answer) => {
    const { url } = await rawNode(answer);
    const exchange = await connectionTo(`${url}/s3cr3t`).send(request, never);
    expect(exchange).toEqual({
      kind: "unreachable",
      reason: expect.stringMatching(/^([A-Z_]+|connection failed)$/),
    });
  });

  it("is reached again by the next call", async () => {
    let calls = 0;
    const { url } = await httpNode((_request, response) => {
      calls += 1;
      if (calls === 1) response.destroy();
      else response.end("{}");
    });
    const connection = connectionTo(url);
    expect((await connection.send(request, never)).kind).toBe("unreachable");
    expect(textOf(await connection.send(request, never))).toBe("200 {}");
  });
});

describe("a node that is not there", () => {
  it("refuses every waiting call", async () => {
    const { url } = await httpNode(() => undefined);
    for (const step of undo.splice(0)) await step();
    const connection = connectionTo(url, { connections: 1 });
    const all = await Promise.all([1, 2, 3, 4].map(() => connection.send(request, never)));
    expect(all).toEqual(all.map(() => ({ kind: "unreachable", reason: "ECONNREFUSED" })));
  });
});
