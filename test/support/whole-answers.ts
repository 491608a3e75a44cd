// Callers whose right answers are known byte for byte, and which leave in the middle, pause, and go on: over HTTP/1.1,
// HTTP/2 and WebSockets. Each returns the received answers, which the test checks.
import { connect as connectHttp2, constants as http2Constants } from "node:http2";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { constants, createGunzip } from "node:zlib";
import WebSocket from "ws";

/** The answer to one body as received, unpacked; `isWhole`: the protocol said that it is complete. */
export type Given = { readonly text: string; readonly isWhole: boolean };

/** The caller's behaviour after it has received so many bytes. */
export type Manner = {
  readonly afterBytes: number;
  readonly does: "goes on" | "pauses" | "leaves" | "resets" | "half closes";
};

export type Place = {
  readonly host: string;
  readonly port: number;
  readonly path: string;
  /** The certificate authority; left out: without TLS. */
  readonly ca?: string | undefined;
};

export type WaitingParts = {
  /** Resolves when other callers have made progress. */
  readonly others: () => Promise<void>;
};

export type Asked = {
  readonly bodies: readonly string[];
  readonly manner: Manner;
  readonly headers?: Readonly<Record<string, string>>;
};

/** The connection that carries a TLS socket. */
const carriers = new WeakMap<Socket, Socket>();

function opened({ host, port, ca }: Place, protocols: string[]): Socket {
  const socket = connect(port, host);
  if (ca === undefined) return socket;
  const secured = connectTls({ socket, ca, servername: "localhost", ALPNProtocols: protocols });
  carriers.set(
    secured,
    socket.on("error", () => undefined),
  );
  return secured;
}

/** Sends all bodies over one connection: at once, or each when the previous answer begins. The last answer ends it. */
export async function overHttp1(
  place: Place,
  asked: Asked & { readonly areAtOnce: boolean },
  parts: WaitingParts,
): Promise<Given[]> {
  const { bodies, headers = {}, manner, areAtOnce } = asked;
  const socket = opened(place, ["http/1.1"]);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const waiting = bodies.map(
    (body, index) =>
      `POST ${place.path} HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\n` +
      `${index === bodies.length - 1 ? "Connection: close\r\n" : ""}` +
      `${lines.join("")}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  const chunks: Buffer[] = [];
  let bytes = 0;
  const ended = new Promise<void>((resolve) => {
    socket.on("close", resolve).on("error", () => undefined);
    socket.on("data", (chunk) => {
      chunks.push(chunk);
      const before = bytes;
      bytes += chunk.length;
      if (before < manner.afterBytes && bytes >= manner.afterBytes) behave(socket, manner, parts);
      const next = waiting.shift();
      if (next !== undefined && socket.writable) socket.write(next);
    });
  });
  socket.write(areAtOnce ? waiting.splice(0).join("") : (waiting.shift() ?? ""));
  if (manner.afterBytes === 0) behave(socket, manner, parts);
  await ended;
  return Promise.all(givenIn(Buffer.concat(chunks), bodies.length).map(unpacked));
}

function behave(socket: Socket, { does }: Manner, { others }: WaitingParts): void {
  if (does === "leaves") socket.destroy();
  else if (does === "resets") (carriers.get(socket) ?? socket).resetAndDestroy();
  else if (does === "half closes") socket.end();
  else if (does === "pauses") {
    socket.pause();
    void others().then(() => socket.resume());
  }
}

type Packed = { readonly bytes: Buffer; readonly isWhole: boolean; readonly isGzip: boolean };

/** The answers in the bytes of one connection. */
function givenIn(bytes: Buffer, most: number): Packed[] {
  const found: Packed[] = [];
  let at = 0;
  while (at < bytes.length && found.length < most) {
    const end = bytes.indexOf("\r\n\r\n", at);
    if (end < 0) break;
    const head = bytes.toString("latin1", at, end).toLowerCase();
    const isGzip = head.includes("content-encoding: gzip");
    const length = /content-length: (\d+)/.exec(head)?.[1];
    const body = end + 4;
    if (length !== undefined) {
      at = body + Number(length);
      found.push({ bytes: bytes.subarray(body, at), isWhole: at <= bytes.length, isGzip });
    } else {
      const read = chunksIn(bytes, body);
      found.push({ bytes: Buffer.concat(read.chunks), isWhole: read.isWhole, isGzip });
      at = read.at;
    }
  }
  return found;
}

function chunksIn(bytes: Buffer, from: number) {
  const chunks: Buffer[] = [];
  let at = from;
  for (;;) {
    const line = bytes.indexOf("\r\n", at);
    if (line < 0) return { chunks, isWhole: false, at: bytes.length };
    const length = Number.parseInt(bytes.toString("latin1", at, line), 16);
    const next = line + 2 + length + 2;
    chunks.push(bytes.subarray(line + 2, Math.min(bytes.length, line + 2 + length)));
    if (next > bytes.length) return { chunks, isWhole: false, at: bytes.length };
    at = next;
    if (length === 0) return { chunks, isWhole: true, at };
  }
}

/** Unpacks an answer; of a truncated one as much as possible. */
function unpacked({ bytes, isWhole, isGzip }: Packed): Given | Promise<Given> {
  if (!isGzip) return { text: bytes.toString(), isWhole };
  return new Promise((resolve) => {
    const gunzip = createGunzip({ finishFlush: constants.Z_SYNC_FLUSH });
    const parts: Buffer[] = [];
    gunzip.on("data", (part) => parts.push(part));
    const done = (): void => resolve({ text: Buffer.concat(parts).toString(), isWhole });
    gunzip.on("end", done).on("error", done).end(bytes);
  });
}

/** Sends all bodies at once, each in a stream of one session. */
export async function overHttp2(place: Place, asked: Asked, parts: WaitingParts): Promise<Given[]> {
  const { bodies, headers = {}, manner } = asked;
  const createConnection = () => opened(place, ["h2"]) as ReturnType<typeof connectTls>;
  const session = connectHttp2("https://localhost", { createConnection });
  session.on("error", () => undefined);
  // When a session is destroyed, Node reports its streams as ended.
  let hasLeft = false;
  const leave = (): void => {
    hasLeft = true;
    session.destroy();
  };
  const one = (body: string, index: number): Promise<Given> =>
    new Promise((resolve) => {
      const type = { "content-type": "application/json" };
      const stream = session.request({
        ":path": place.path,
        ":method": "POST",
        ...type,
        ...headers,
      });
      const chunks: Buffer[] = [];
      let bytes = 0;
      let isGzip = false;
      let isWhole = false;
      const act = (): void => {
        if (manner.does === "leaves") leave();
        else if (manner.does === "resets") stream.close(http2Constants.NGHTTP2_CANCEL);
        else if (manner.does === "pauses") {
          stream.pause();
          void parts.others().then(() => stream.resume());
        }
      };
      stream.on("response", (head) => {
        isGzip = head["content-encoding"] === "gzip";
        if (index === 0 && manner.afterBytes === 0) act();
      });
      stream.on("data", (chunk: Buffer) => {
        chunks.push(chunk);
        const before = bytes;
        bytes += chunk.length;
        if (index === 0 && before < manner.afterBytes && bytes >= manner.afterBytes) act();
      });
      stream.on("error", () => undefined);
      stream.on("end", () => {
        isWhole = !hasLeft && stream.rstCode === 0 && !stream.aborted;
      });
      stream.on("close", () =>
        resolve(
          unpacked({
            bytes: Buffer.concat(chunks),
            isWhole: isWhole && stream.rstCode === 0,
            isGzip,
          }),
        ),
      );
      stream.end(body);
    });
  const given = await Promise.all(bodies.map(one));
  session.destroy();
  return given;
}

/** Sends each body as a message. The answers come in any order: `markOf` finds the body of each. */
export async function overWebSocket(
  place: Place,
  asked: Asked & { readonly isCompressed: boolean; readonly marks: readonly string[] },
  parts: WaitingParts,
): Promise<(Given | undefined)[]> {
  const { bodies, manner, isCompressed, marks } = asked;
  const scheme = place.ca === undefined ? "ws" : "wss";
  const socket = new WebSocket(`${scheme}://${place.host}:${place.port}${place.path}`, {
    perMessageDeflate: isCompressed,
    createConnection: () => opened(place, ["http/1.1"]),
    maxPayload: 2 ** 28,
  });
  const given: (Given | undefined)[] = bodies.map(() => undefined);
  let left = bodies.length;
  let bytes = 0;
  await new Promise<void>((resolve) => {
    socket.on("error", () => undefined);
    socket.on("close", () => resolve());
    socket.on("open", () => {
      const raw = (socket as unknown as { _socket: Socket })._socket;
      raw.on("data", (chunk) => {
        const before = bytes;
        bytes += chunk.length;
        if (before < manner.afterBytes && bytes >= manner.afterBytes) {
          if (manner.does === "leaves") socket.terminate();
          else behave(raw, manner, parts);
        }
      });
      for (const body of bodies) socket.send(body);
    });
    socket.on("message", (message: Buffer) => {
      const text = message.toString();
      const index = marks.findIndex((mark) => text.slice(0, 400).includes(mark));
      if (index < 0) given.push({ text, isWhole: true });
      else given[index] = { text, isWhole: true };
      left -= 1;
      if (left === 0) socket.close();
    });
  });
  return given;
}
