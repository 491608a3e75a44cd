import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { type AddressInfo, connect, createServer as createNetServer, type Socket } from "node:net";
import { text } from "node:stream/consumers";
import { setImmediate as turn } from "node:timers/promises";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { FakeClock } from "../../test/support/fake-clock.ts";
import { PlainFront, type PlainResponse } from "./plain-front.ts";
import { type PlainRequest, readPlainHead } from "./plain-request.ts";

const BOUNDS = { headersMs: 10_000, idleMs: 60_000, silenceMs: 90_000 };

type Seen = { by: "front" | "node"; url: string | undefined; headers: object; body: string };
type Serve = (request: PlainRequest, response: PlainResponse) => unknown;

const answer = (response: PlainResponse, body = "ok", more: readonly string[] = []): void =>
  response.writeHead(200, ["Content-Length", String(body.length), ...more]).end(body);

let closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing) close();
  closing = [];
});

/** A `PlainFront` with Node's HTTP behind it, on a port: both answer `ok`. */
async function startFront(serve: Serve = (_, response) => answer(response)) {
  const clock = new FakeClock();
  const seen: Seen[] = [];
  const refused: string[] = [];
  const failed: string[] = [];
  const node = answering(seen);
  const [byNode] = node.listeners("connection");
  const front = new PlainFront(
    { bounds: () => BOUNDS },
    {
      routeOf: ({ url }) => (url.startsWith("/v1") ? url : undefined),
      serve: (request, response) => {
        const { url, headers, body } = request;
        seen.push({ by: "front", url, headers, body: String(body) });
        return serve(request, response);
      },
      handOver: (socket) => byNode?.call(node, socket),
      refuse: (socket, status) => {
        refused.push(status);
        socket.destroy();
      },
      clock,
      guard: {
        failed: (event, connection, error) => {
          failed.push(`${event}: ${error}`);
          connection.destroy();
        },
      },
    },
  );
  const server = createNetServer({ allowHalfOpen: true, noDelay: true }, (socket) =>
    front.take(socket),
  );
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closing.push(() => {
    front.terminate();
    server.close();
  });
  return { front, clock, seen, refused, failed, port: (server.address() as AddressInfo).port };
}

function answering(seen: Seen[]): Server {
  const node = createServer({ requireHostHeader: false }, async (request, response) => {
    const body = await text(request).catch(() => "");
    seen.push({ by: "node", url: request.url, headers: request.headers, body });
    response.end("ok");
  });
  closing.push(() => node.closeAllConnections());
  return node;
}

type Client = { readonly socket: Socket; readonly text: () => string };

async function dial(port: number): Promise<Client> {
  const socket = connect({ port, host: "127.0.0.1" });
  closing.push(() => socket.destroy());
  let read = "";
  socket.on("data", (chunk) => {
    read += String(chunk);
  });
  socket.on("error", () => undefined);
  await once(socket, "connect");
  return { socket, text: () => read };
}

async function until(done: () => boolean): Promise<void> {
  while (!done()) await turn();
}

const answersIn = (client: Client): number => client.text().split("HTTP/1.1 ").length - 1;

const post = (body: string, ...lines: readonly string[]): string =>
  ["POST /v1/key HTTP/1.1", "Host: a", `Content-Length: ${body.length}`, ...lines, "", body].join(
    "\r\n",
  );

describe("a connection of plain requests", () => {
  it("is answered on the socket, again and again, also when the head changes", async () => {
    const { port, seen } = await startFront();
    const client = await dial(port);
    for (const [at, request] of [
      post("one"),
      post("two"),
      post("three"),
      post("four", "X-A: b"),
      post("long", `X-A: ${"b".repeat(2000)}`), // too long to be kept
      post("five", "X-A: c"),
    ].entries()) {
      client.socket.write(request);
      await until(() => answersIn(client) > at);
    }
    expect(seen.map(({ by, body }) => `${by} ${body}`)).toEqual([
      ...["front one", "front two", "front three", "front four", "front long", "front five"],
    ]);
    expect(seen[3]?.headers).toEqual({ host: "a", "content-length": "4", "x-a": "b" });
    expect(client.text()).toMatch(
      /^HTTP\/1\.1 200 OK\r\nContent-Length: 2\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=60\r\n\r\nokHTTP/,
    );
  });

  it("may have its head and its body sent one after the other", async () => {
    const { port, seen } = await startFront();
    const client = await dial(port);
    for (const cut of [5, 40, post("body").length - 4]) {
      client.socket.write(post("body").slice(0, cut));
      await turn();
      client.socket.write(post("body").slice(cut));
      const before = seen.length;
      await until(() => seen.length > before && answersIn(client) > before);
    }
    expect(seen.map(({ body }) => body)).toEqual(["body", "body", "body"]);
  });

  it.each([
    ["another verb", "GET /v1 HTTP/1.1\r\nHost: a\r\n\r\n", [""]],
    ["another route", post("body").replace("/v1/key", "/else"), ["body"]],
    ["two at once", post("one") + post("two"), ["one", "two"]],
    ["one and a half", post("one") + post("two").slice(0, 9), ["one"]],
    [
      "chunks",
      "POST /v1 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n0\r\n\r\n",
      ["one"],
    ],
  ])("is handed over with %s, and with all that follows", async (_, bytes, bodies) => {
    const { port, seen } = await startFront();
    const client = await dial(port);
    client.socket.write(post("plain"));
    await until(() => answersIn(client) === 1);
    client.socket.write(bytes);
    await until(() => answersIn(client) === 1 + bodies.length);
    expect(seen.map(({ by, body }) => [by, body])).toEqual([
      ["front", "plain"],
      ...bodies.map((body) => ["node", body]),
    ]);
  });

  it("is handed over when a request is not whole after a look or two", async () => {
    const { port, seen, clock } = await startFront();
    const client = await dial(port);
    client.socket.write(post("body").slice(0, 30));
    await until(() => clock.waiting > 0);
    for (let look = 0; look < 3; look += 1) {
      await turn();
      await clock.advance(1000);
    }
    client.socket.write(post("body").slice(30));
    await until(() => answersIn(client) === 1);
    expect(seen.map(({ by, body }) => `${by} ${body}`)).toEqual(["node body"]);
  });

  it("answers what comes meanwhile afterwards, in order", async () => {
    const waiting: PlainResponse[] = [];
    const { port, seen } = await startFront((_, response) => void waiting.push(response));
    const client = await dial(port);
    client.socket.write(post("one"));
    await until(() => waiting.length === 1);
    client.socket.write(post("two"));
    for (let turns = 0; turns < 5; turns += 1) await turn();
    expect(seen).toHaveLength(1);
    if (waiting[0]) answer(waiting[0], "first");
    await until(() => waiting.length === 2);
    if (waiting[1]) answer(waiting[1], "second");
    await until(() => answersIn(client) === 2);
    expect(client.text()).toMatch(/first[\s\S]*second$/);
  });

  it("ends when nothing is asked for too long, and is refused when nothing ever was", async () => {
    const { port, refused, clock } = await startFront();
    const [used, silent] = [await dial(port), await dial(port)];
    used.socket.write(post("one"));
    await until(() => answersIn(used) === 1);
    await clock.advance(1000);
    await clock.advance(BOUNDS.headersMs + 1);
    expect(refused).toEqual(["408 Request Timeout"]);
    await once(silent.socket, "close");
    await clock.advance(BOUNDS.idleMs);
    await once(used.socket, "close");
  });

  it("ends behind the answer to a request that says so", async () => {
    const { port, seen } = await startFront();
    const client = await dial(port);
    client.socket.write(post("one", "Connection: close"));
    await once(client.socket, "end");
    expect(client.text()).toMatch(/GMT\r\nConnection: close\r\n\r\nok$/);
    expect(seen.map(({ by }) => by)).toEqual(["front"]);
  });

  it("ends behind an answer that says so, and at a closing when it is idle", async () => {
    const { port, front } = await startFront((_, response) =>
      answer(response, "last", ["Connection", "close"]),
    );
    const [last, unused] = [await dial(port), await dial(port)];
    last.socket.write(post("one"));
    await once(last.socket, "end");
    expect(last.text()).toMatch(/4\r\nConnection: close\r\nDate: .*GMT\r\n\r\nlast$/);
    front.closeIdle();
    unused.socket.write(post("one"));
    await until(() => answersIn(unused) === 1);
  });

  it("that stops sending has left", async () => {
    const ended: boolean[] = [];
    const { port, seen, refused } = await startFront((_, response) => {
      response.on("close", () => ended.push(response.writableFinished));
    });
    const [waiting, cut] = [await dial(port), await dial(port)];
    waiting.socket.write(post("one"));
    await until(() => seen.length === 1);
    waiting.socket.end();
    cut.socket.end(post("one").slice(0, 20));
    await until(() => ended.length === 1 && refused.length === 1);
    expect([ended, refused]).toEqual([[false], ["400 Bad Request"]]);
  });
});

describe("an answer to a plain request", () => {
  it("is refused a header that would begin another one", async () => {
    const thrown: unknown[] = [];
    const { port } = await startFront((_, response) => {
      try {
        response.writeHead(200, ["X-Name", "a\r\nSet-Cookie: b"]);
      } catch (error) {
        thrown.push(error);
        answer(response);
      }
    });
    const client = await dial(port);
    client.socket.write(post("one"));
    await until(() => answersIn(client) === 1);
    expect(thrown).toEqual([new Error("no value of a header: X-Name")]);
    expect(client.text()).not.toContain("Set-Cookie");
  });

  it("may come in pieces of a length that is told, or of one that is not", async () => {
    const pieces = ["a".repeat(20_000), Buffer.from("b".repeat(20_000))];
    const { port } = await startFront(({ body }, response) => {
      if (String(body) === "told") {
        response.writeHead(200, ["Content-Length", "40000"]).cork();
        for (const piece of pieces) response.write(piece);
        response.end();
      } else {
        const stream = response.writeHead(200, []).asStream();
        for (const piece of pieces) stream.write(piece);
        stream.end();
      }
    });
    for (const body of ["told", "chunked"]) {
      const response = await fetch(`http://127.0.0.1:${port}/v1`, { method: "POST", body });
      expect(await response.text()).toBe(pieces.join(""));
    }
  });

  it("ends with a caller that leaves in the middle, and harms nobody", async () => {
    const ended: boolean[] = [];
    const { port } = await startFront((_, response) => {
      response.on("close", () => ended.push(response.writableFinished));
      const stream = response.writeHead(200, []).asStream();
      const more = (): void => {
        while (!stream.destroyed && stream.write("a".repeat(65_536)));
        if (!stream.destroyed) stream.once("drain", more);
      };
      more();
    });
    const client = await dial(port);
    client.socket.write(post("one"));
    await until(() => answersIn(client) === 1);
    client.socket.resetAndDestroy();
    await until(() => ended.length === 1);
    expect(ended).toEqual([false]);
  });
});

describe("the front and Node's HTTP", () => {
  const name = fc.constantFrom(
    "X-A",
    "x-a",
    "Accept",
    "Origin",
    "Content-Type",
    "Connection",
    "TE",
    "Cookie",
    "Host",
    "Content-Length",
    "a b",
    "",
  );
  const value = fc.oneof(
    fc.string({ unit: "binary-ascii", maxLength: 12 }),
    fc.constantFrom(
      "keep-alive",
      "close",
      "0",
      "4",
      "4, 4",
      " 4",
      "4 ",
      "\t4",
      "a\u00e9",
      "chunked",
    ),
  );
  const line = fc.oneof(
    {
      weight: 6,
      arbitrary: fc
        .tuple(name, fc.constantFrom(":", ": ", ":\t", " :"), value)
        .map((parts) => parts.join("")),
    },
    {
      weight: 1,
      arbitrary: fc.constantFrom(
        " folded",
        "X-B",
        "Transfer-Encoding: chunked",
        "Expect: 100-continue",
      ),
    },
  );
  const first = fc.constantFrom(
    ...Array<string>(8).fill("POST /v1/key HTTP/1.1"),
    ...[
      "POST /v1/k%2Fe?y HTTP/1.1",
      "POST /v1/ke y HTTP/1.1",
      "post /v1 HTTP/1.1",
      "POST /v1 HTTP/1.0",
    ],
  );
  const sent = fc
    .tuple(first, fc.array(line, { maxLength: 4 }), fc.constantFrom("\r\n", "\r\n", "\r\n", "\n"))
    .map(([begin, lines, end]) =>
      [begin, "Host: a", "Content-Length: 4", ...lines, "", "body"].join(end),
    );

  it("read the same where the front reads at all", async () => {
    const seen: Seen[] = [];
    const node = answering(seen);
    await new Promise<void>((resolve) => node.listen(0, "127.0.0.1", resolve));
    closing.push(() => void node.close());
    let plain = 0;
    await fc.assert(
      fc.asyncProperty(sent, async (request) => {
        const bytes = Buffer.from(request, "latin1");
        const head = readPlainHead(bytes);
        if (typeof head === "string" || head.bytes + head.bodyBytes !== bytes.length) return;
        plain += 1;
        const client = await dial((node.address() as AddressInfo).port);
        client.socket.write(bytes);
        await until(() => answersIn(client) > 0);
        client.socket.destroy();
        const { url, headers } = head;
        expect(seen.pop()).toEqual({ by: "node", url, headers, body: "body" });
      }),
      { numRuns: 500 },
    );
    expect(plain).toBeGreaterThan(20);
  });
});

it.each<{ how: string; serve: () => unknown; event: string }>([
  {
    how: "throws",
    serve: () => {
      throw new Error("a fault");
    },
    event: "bytes",
  },
  { how: "rejects", serve: () => Promise.reject(new Error("a fault")), event: "request" },
])("a request whose service $how ends its own connection alone", async ({ serve, event }) => {
  let isFaulty = true;
  const { port, failed } = await startFront((_, response) =>
    isFaulty ? (serve() as undefined) : answer(response),
  );
  const [first, second] = [await dial(port), await dial(port)];
  first.socket.write(post("[]"));
  await once(first.socket, "close");
  expect(failed).toEqual([`${event}: Error: a fault`]);
  isFaulty = false;
  second.socket.write(post("[]"));
  await until(() => answersIn(second) === 1);
});
