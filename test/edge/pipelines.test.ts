// Many requests over one TLS connection, however the caller cuts them into records: HTTP/1.1 pipelines and HTTP/2
// streams, with upgrades and ends of one direction behind them. Each request gets its own answer, and the process goes on.
import { once } from "node:events";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Certificates, hasOpenssl } from "../support/certificates.ts";
import { atDepth } from "../support/depth.ts";
import { type RunningGateway, startGatewayProcess } from "../support/gateway-process.ts";
import { until } from "../support/processes.ts";
import { result, type ScriptedNode, startScriptedNode } from "../support/scripted-node.ts";

const PATH = "/main/v1/test-key";
const lines = (...all: readonly string[]): string => `${all.join("\r\n")}\r\n\r\n`;
/** Each caller of the node asks of another account, and is answered that account's own number. */
const callOf = (id: number): string =>
  `{"jsonrpc":"2.0","id":${id},"method":"eth_getBalance","params":["0x${id.toString(16).padStart(40, "0")}","latest"]}`;
const answerOf = (id: number): string =>
  `{"jsonrpc":"2.0","id":${id},"result":"0x${id.toString(16)}"}`;
const requestOf = (id: number): string => {
  const body = callOf(id);
  const type = "Content-Type: application/json";
  const length = `Content-Length: ${body.length}`;
  return lines(`POST ${PATH} HTTP/1.1`, "Host: a", type, length) + body;
};
/** The requests, of which the last one ends the connection. */
const requestsOf = (ids: readonly number[]): string =>
  ids.map(requestOf).join("") + lines("GET /healthz HTTP/1.1", "Host: a", "Connection: close");
const UPGRADE = lines(
  ...[`GET ${PATH} HTTP/1.1`, "Host: a", "Upgrade: websocket", "Connection: Upgrade"],
  ...["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Version: 13"],
);
const idsUpTo = (count: number): readonly number[] =>
  Array.from({ length: count }, (_, at) => at + 1);

describe.skipIf(!hasOpenssl)("over one TLS connection", () => {
  let made: Certificates;
  let node: ScriptedNode;
  let gateway: RunningGateway;
  let pid: number | undefined;

  beforeAll(async () => {
    made = new Certificates();
    made.authority("ca");
    node = await startScriptedNode((call) =>
      result(call, `"0x${Number(call.params[0]).toString(16)}"`),
    );
    gateway = await startGatewayProcess({
      listen: { port: 0, tls: made.signed("here", "ca") },
      timeouts: { headers: "3s", idle: "3s" },
      networks: {
        main: { family: "evm", chainId: 1, window: { blocks: 0 }, upstreams: [{ url: node.url }] },
      },
    });
    pid = gateway.process.pid;
  });
  afterAll(async () => {
    expect(gateway.process).toMatchObject({ pid, exitCode: null, signalCode: null });
    const messages = gateway.log.map(({ msg }) => msg);
    expect(messages.filter((msg) => msg === "listening")).toHaveLength(1);
    expect(messages).not.toContain("an unexpected error");
    expect(messages).not.toContain("a callback of the server failed: its connection was ended");
    expect(await gateway.stop()).toBe(0);
    await node.close();
    made.remove();
  });

  type Talk = { readonly socket: TLSSocket; text(): string; readonly over: Promise<void> };
  async function open(protocols: readonly string[] = ["http/1.1"]): Promise<Talk> {
    const socket = connect({
      ...{ host: "127.0.0.1", port: Number(new URL(gateway.url).port) },
      ...{ rejectUnauthorized: false, allowHalfOpen: true, ALPNProtocols: [...protocols] },
    } as ConnectionOptions);
    let text = "";
    socket.setNoDelay().on("error", () => undefined);
    socket.on("data", (data) => {
      text += data.toString("latin1");
    });
    const over = new Promise<void>((resolve) => {
      for (const event of ["end", "close"]) socket.once(event, () => resolve());
    });
    await once(socket, "secureConnect");
    return { socket, text: () => text, over };
  }
  /** Each piece becomes a record of its own. */
  async function write({ socket }: Talk, pieces: readonly (Buffer | string)[]): Promise<void> {
    for (const piece of pieces) {
      if (!socket.writable) return;
      await new Promise<void>((done) => socket.write(piece as string, "latin1", () => done()));
    }
  }
  const bodiesIn = (text: string): readonly string[] =>
    text.match(/\{"jsonrpc".*?"0x\w+"\}/g) ?? [];
  const cut = (text: string, at: readonly number[]): readonly string[] => {
    const places = [0, ...at.map((part) => Math.floor(part * text.length)), text.length];
    const sorted = places.toSorted((a, b) => a - b);
    return sorted
      .slice(1)
      .map((end, index) => text.slice(sorted[index], end))
      .filter(Boolean);
  };

  describe("HTTP/1.1", () => {
    it("answers sixty requests of one record in their order", async () => {
      const talk = await open();
      const ids = idsUpTo(60);
      await write(talk, [requestsOf(ids)]);
      await talk.over;
      expect(bodiesIn(talk.text())).toEqual(ids.map(answerOf));
      talk.socket.destroy();
    });

    it("answers the first ones at most to a caller that has ended its half, as Node does", async () => {
      const talk = await open();
      const ids = idsUpTo(60);
      await write(talk, [ids.map(requestOf).join("")]);
      talk.socket.end();
      await talk.over;
      const told = bodiesIn(talk.text());
      expect(told).toEqual(ids.slice(0, told.length).map(answerOf));
      talk.socket.destroy();
    });

    it("answers requests that come one byte in a record", async () => {
      const talk = await open();
      await write(talk, [...requestOf(1), ...requestOf(2)]);
      await until("both are answered", async () => bodiesIn(talk.text()).length === 2);
      expect(bodiesIn(talk.text())).toEqual([answerOf(1), answerOf(2)]);
      talk.socket.destroy();
    });

    it("answers each request once, in order, wherever records are cut", async () => {
      const part = fc.double({ min: 0, max: 1, noNaN: true });
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 1, max: 20 }),
          fc.array(part, { maxLength: 6 }),
          async (count, at) => {
            const talk = await open();
            const ids = idsUpTo(count);
            await write(talk, cut(requestsOf(ids), at));
            await talk.over;
            expect(bodiesIn(talk.text())).toEqual(ids.map(answerOf));
            talk.socket.destroy();
          },
        ),
        { numRuns: atDepth(40, 1_000) },
      );
    });

    it("upgrades behind requests that are answered, and never behind others, in one record or two", async () => {
      const patient = await open();
      await write(patient, [requestOf(1)]);
      await until("it is answered", async () => bodiesIn(patient.text()).length === 1);
      await write(patient, [...cut(UPGRADE, [0.1, 0.5])]);
      await until("it is a WebSocket", async () => patient.text().includes("101 Switching"));
      patient.socket.destroy();
      for (const pieces of [
        [requestOf(1) + UPGRADE],
        [requestOf(1), UPGRADE],
        [UPGRADE + requestOf(1)],
      ]) {
        const talk = await open();
        await write(talk, pieces);
        talk.socket.end();
        await talk.over;
        const [, inStream = ""] = talk.text().split("101 Switching Protocols");
        expect(inStream).not.toContain("HTTP/1.1");
        talk.socket.destroy();
      }
    });

    it.each([
      ["half a request", requestOf(1).slice(0, 60)],
      ["a request and half a body", requestOf(1).slice(0, -10)],
      ["nothing", ""],
      ["an HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
      ["a second handshake in the stream", "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"],
    ])("ends a connection whose caller ended its half behind %s", async (_, bytes) => {
      const talk = await open();
      await write(talk, bytes ? [bytes] : []);
      talk.socket.end();
      await talk.over;
      expect(bodiesIn(talk.text())).toEqual([]);
      talk.socket.destroy();
    });
  });

  describe("HTTP/2", () => {
    const bytes = (...words: readonly (string | readonly number[])[]): Buffer =>
      Buffer.concat(words.map((word) => Buffer.from(word as string, "latin1")));
    const text = (value: string): string => String.fromCharCode(value.length) + value;
    // HPACK: POST, https, and :authority, :path and content-type as literals (RFC 7541).
    const HEADERS = bytes(
      [0x83, 0x87, 0x41],
      text("localhost"),
      [0x44],
      text(PATH),
      [0x5f],
      text("application/json"),
    );
    const GREETING = Buffer.concat([
      Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
      frame(4, 0, 0),
    ]);
    const streamOf = (id: number): number => 2 * id - 1;
    const requestIn2 = (id: number): Buffer =>
      Buffer.concat([
        frame(1, 4, streamOf(id), HEADERS),
        frame(0, 1, streamOf(id), Buffer.from(callOf(id))),
      ]);
    const answeredIn = (talk: Talk): ReadonlyMap<number, string> =>
      dataByStream(Buffer.from(talk.text(), "latin1"));
    const wanted = (ids: readonly number[]) =>
      new Map(ids.map((id) => [streamOf(id), answerOf(id)]));
    const sortedOf = (map: ReadonlyMap<number, string>) => [...map].sort(([a], [b]) => a - b);

    it("answers sixty streams of one record, and ends in order after GOAWAY", async () => {
      const talk = await open(["h2"]);
      const ids = idsUpTo(60);
      await write(talk, [
        Buffer.concat([GREETING, ...ids.map(requestIn2), frame(7, 0, 0, Buffer.alloc(8))]),
      ]);
      await until("all are answered", async () => answeredIn(talk).size === 60);
      expect(sortedOf(answeredIn(talk))).toEqual([...wanted(ids)]);
      talk.socket.end();
      await talk.over;
      talk.socket.destroy();
    });

    it("answers streams that come one byte in a record", async () => {
      const talk = await open(["h2"]);
      const all = Buffer.concat([GREETING, requestIn2(1), requestIn2(2)]);
      await write(
        talk,
        [...all].map((byte) => Buffer.from([byte])),
      );
      await until("both are answered", async () => answeredIn(talk).size === 2);
      expect(sortedOf(answeredIn(talk))).toEqual([...wanted([1, 2])]);
      talk.socket.destroy();
    });

    it.each([
      ["an end of the caller's half", Buffer.alloc(0)],
      ["an upgrade in the words of HTTP/1.1", Buffer.from(UPGRADE)],
      [
        "a stream with an upgrade header",
        frame(1, 5, 201, bytes([...HEADERS], [0], text("upgrade"), text("websocket"))),
      ],
      // RFC 8441: the gateway does not offer this.
      [
        "an extended CONNECT",
        frame(
          1,
          4,
          201,
          bytes(
            [0x02],
            text("CONNECT"),
            [0x87, 0x41],
            text("a"),
            [0x44],
            text(PATH),
            [0],
            text(":protocol"),
            text("websocket"),
          ),
        ),
      ],
      ["half a frame", frame(0, 0, 1, Buffer.alloc(100)).subarray(0, 50)],
    ])(
      "ends, or goes on, in order after %s behind streams that are not answered yet",
      async (_, behind) => {
        const talk = await open(["h2"]);
        const ids = idsUpTo(30);
        await write(talk, [Buffer.concat([GREETING, ...ids.map(requestIn2), behind])]);
        talk.socket.end();
        await talk.over;
        for (const [stream, answer] of answeredIn(talk))
          if (answer !== "") expect(answer).toBe(wanted(ids).get(stream));
        expect(talk.text()).not.toContain("101 Switching");
        talk.socket.destroy();
      },
    );
  });
});

/** A frame (RFC 9113 §4.1). */
function frame(type: number, flags: number, id: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(id, 5);
  return Buffer.concat([head, payload]);
}

/** The bytes of the DATA frames of each stream that was ended. */
function dataByStream(all: Buffer): ReadonlyMap<number, string> {
  const told = new Map<number, string>();
  const ended = new Set<number>();
  for (let at = 0; at + 9 <= all.length; ) {
    const [length, type, flags] = [
      all.readUIntBE(at, 3),
      all.readUInt8(at + 3),
      all.readUInt8(at + 4),
    ];
    const stream = all.readUInt32BE(at + 5);
    if (type === 0)
      told.set(stream, (told.get(stream) ?? "") + all.toString("latin1", at + 9, at + 9 + length));
    if (type === 0 && flags & 1) ended.add(stream);
    at += 9 + length;
  }
  return new Map([...told].filter(([stream]) => ended.has(stream)));
}
