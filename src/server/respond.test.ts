import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import {
  connect as connectHttp2,
  constants,
  createServer as createHttp2,
  type Http2ServerResponse,
} from "node:http2";
import { type AddressInfo, connect, type Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import type { RpcResponse } from "../calls/response.ts";
import { BatchResponseBuffer, type JsonSource, lengthOf } from "../jsonrpc/raw-json.ts";
import { systemClock } from "../lib/clock.ts";
import { Turns } from "../lib/turns.ts";
import { acceptsGzip, respond } from "./respond.ts";

it.each([
  ["gzip", true],
  ["br;q=1.0, GZIP;q=0.5", true],
  ["deflate, br", false],
  ["gzip;q=0", false],
  ["gzip; q=0.000", false],
  ["gzip;q=0.001", true],
  ["xgzip", false],
  ["", false],
  [undefined, false],
])("Accept-Encoding %s asks for gzip: %s", (header, want) => {
  expect(acceptsGzip(header)).toBe(want);
});

describe("an answer that is made while it is sent", () => {
  const closes: (() => void)[] = [];
  afterEach(() => {
    for (const close of closes.splice(0)) close();
  });

  /** Sends the answer. @returns The text and the headers that the caller gets, and the server's counts. */
  async function send(reply: Omit<RpcResponse, "bytes">, acceptEncoding: string | undefined) {
    const seen = { bytes: 0, broken: [] as unknown[] };
    const server = createServer(async (_request, response) => {
      const options = {
        requestId: "1",
        allowOrigin: "*",
        acceptEncoding,
        isPage: false,
        close: false,
      };
      const parts = {
        turns: new Turns({ clock: systemClock }),
        onBroken: (error: unknown) => seen.broken.push(error),
      };
      const answer = { ...reply, bytes: lengthOf(reply.pieces) };
      seen.bytes = await respond(response, answer, options, parts);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    closes.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const got = await fetch(`http://127.0.0.1:${port}`);
    const text = await got.text().catch((error: Error) => error);
    return { text, headers: got.headers, seen };
  }

  const source = (chunks: number, breaksAt = Number.POSITIVE_INFINITY): JsonSource => ({
    length: chunks * 50_000,
    heldBytes: 0,
    *chunks() {
      for (let chunk = 0; chunk < chunks; chunk += 1) {
        if (chunk === breaksAt) throw new Error("it is gone");
        yield Buffer.alloc(50_000, "a");
      }
    },
  });
  async function* later(...all: JsonSource[]) {
    for (const each of all) yield [each, ","];
  }

  it.each([undefined, "gzip"])("is whole, encoded as %s", async (encoding) => {
    const reply = { status: 200, pieces: ["[", source(20), "]"] };
    const { text, seen } = await send(reply, encoding);
    expect(text).toBe(`[${"a".repeat(1_000_000)}]`);
    expect(seen).toEqual({ bytes: 1_000_002, broken: [] });
  });

  it("has its parts in order, of whatever length", async () => {
    const reply = { status: 200, pieces: ["["], rest: later(source(3), source(0), source(1)) };
    const { text, headers } = await send(reply, undefined);
    expect(text).toBe(`[${"a".repeat(150_000)},,${"a".repeat(50_000)},`);
    expect(headers.get("content-length")).toBeNull();
  });

  it.each([
    { what: "of a known length", reply: () => ({ pieces: [source(40, 30)] }), encoding: undefined },
    { what: "compressed", reply: () => ({ pieces: [source(40, 30)] }), encoding: "gzip" },
    {
      what: "of an unknown length",
      reply: () => ({ pieces: [], rest: later(source(40, 30)) }),
      encoding: undefined,
    },
  ])("does not look whole when it breaks off, $what", async ({ reply, encoding }) => {
    const { text, seen } = await send({ status: 200, ...reply() }, encoding);
    expect(text).toBeInstanceOf(Error);
    expect(seen.broken).toHaveLength(1);
  });
});

describe("a stream of HTTP/2 that its caller resets", () => {
  it("ends the answer, also where its last part was waiting", async () => {
    const server = createHttp2();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const session = connectHttp2(`http://127.0.0.1:${port}`);
    try {
      const stream = session.request().pause(); // takes 64 KiB, the initial window of HTTP/2
      const [, response] = (await once(server, "request")) as [unknown, Http2ServerResponse];
      // As in `http2-front.ts`.
      Object.defineProperty(response, "destroyed", { get: () => response.stream.destroyed });
      const piece: JsonSource = {
        length: 200_000,
        heldBytes: 0,
        *chunks() {
          yield Buffer.alloc(200_000, "a");
        },
      };
      const answer = { status: 200, pieces: [piece], bytes: 200_000 };
      const options = { requestId: "1", allowOrigin: "*", acceptEncoding: undefined };
      const sent = respond(
        response as unknown as ServerResponse,
        answer,
        { ...options, isPage: false, close: false },
        { turns: new Turns({ clock: systemClock }), onBroken: () => undefined },
      );
      stream.close(constants.NGHTTP2_CANCEL);
      await once(response, "close");
      expect(await sent).toBe(200_000);
    } finally {
      session.destroy();
      server.close();
    }
  });
});

describe("a large answer that is there already", () => {
  it("is written in small parts where only whole writes tell how slowly it is taken", async () => {
    const written: number[] = [];
    const server = createServer((_request, response) => {
      const write = response.write.bind(response);
      response.write = ((part: Buffer, done: () => void) => {
        written.push(part.length);
        return write(part, done);
      }) as typeof response.write;
      const options = { requestId: "1", allowOrigin: "*", acceptEncoding: undefined };
      const parts = { turns: new Turns({ clock: systemClock }), onBroken: () => undefined };
      const more = { isPage: false, close: true };
      void respond(response, answerOf(1), { ...options, ...more }, parts);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const body = await (await fetch(`http://127.0.0.1:${port}`)).text();
    server.close();
    expect(body).toBe(answerOf(1).pieces.map(String).join(""));
    expect(Math.max(...written)).toBeLessThanOrEqual(32_768);
  });

  it("is its caller's own, however slowly others take theirs", async () => {
    const answers = Array.from({ length: 24 }, (_, index) =>
      index % 2 === 0 ? answerOf(index) : answerInRoom(index),
    );
    const texts = answers.map(({ pieces }) => pieces.map(String).join(""));
    let next = 0;
    const server = createServer((_request, response) => {
      const options = {
        ...{ requestId: "1", allowOrigin: "*", acceptEncoding: undefined },
        ...{ isPage: false, close: true },
      };
      const parts = { turns: new Turns({ clock: systemClock }), onBroken: () => undefined };
      void respond(response, answers[next++] ?? answerOf(0), options, parts);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    // The callers ask one after the other; then all of them read their answers, a little at a time.
    const callers = [];
    for (const _ of answers) callers.push(await askWithoutReading(port));
    const bodies = await Promise.all(callers.map((caller) => readSlowly(caller)));
    server.close();
    expect(bodies.map((body) => body.subarray(body.indexOf("\r\n\r\n") + 4).toString())).toEqual(
      texts,
    );
    expect(answers.map(({ buffer }) => buffer?.bytes ?? 0)).toEqual(answers.map(() => 0)); // the buffers were given back
  });

  /** An answer like a batch's: some pieces lie in the buffer, in runs of several lengths, and some beside it. */
  function answerInRoom(index: number): RpcResponse {
    const buffer = new BatchResponseBuffer(100);
    const letter = String.fromCharCode(0x61 + index);
    const pieces = Array.from({ length: 150 }, (_, piece) => {
      const json = Buffer.alloc(piece % 10 === 0 ? 40_000 : 2_000, letter);
      return buffer.put(`${piece}`, json) ?? json;
    });
    return { status: 200, pieces, bytes: lengthOf(pieces), buffer };
  }

  /** An answer of 800 KB, more than the system takes while the caller does not read. Every third is not ASCII. */
  function answerOf(index: number): RpcResponse {
    const letter = index % 3 === 0 ? "\u00e9" : String.fromCharCode(0x61 + index);
    const pieces = Array.from({ length: 200 }, (_, piece) => `${piece} ${letter.repeat(4_000)},`);
    return { status: 200, pieces, bytes: lengthOf(pieces) };
  }

  async function askWithoutReading(port: number): Promise<Socket> {
    const socket = connect(port, "127.0.0.1").pause();
    await once(socket, "connect");
    socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    await once(socket, "readable");
    return socket;
  }

  async function readSlowly(socket: Socket): Promise<Buffer> {
    const parts: Buffer[] = [];
    for await (const part of socket) {
      parts.push(part as Buffer);
      await systemClock.yield();
    }
    return Buffer.concat(parts);
  }
});
