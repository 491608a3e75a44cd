// Reads the head of a plain request strictly: the form that nearly all callers send. Node's parser reads all others.
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** The head of `POST <target> HTTP/1.1` with a Content-Length. */
export type PlainHead = {
  readonly url: string;
  /** The headers by their names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turn, as the caller sent them. */
  readonly rawHeaders: string[];
  /** The length of the head in bytes, its empty line included. */
  readonly bytes: number;
  /** The length of the body in bytes. */
  readonly bodyBytes: number;
  /** Whether the connection ends with the answer. */
  readonly isLast: boolean;
};

/** In bytes: Node's parser reads longer heads, which are rare. */
const LONGEST_HEAD = 4_096;
/** In bytes: a key pays for a larger body before it is read (`FREE_BYTES` in body.ts). */
const LARGEST_BODY = 16_384;

const START = Buffer.from("POST /");
const END_OF_HEAD = Buffer.from("\r\n\r\n");

/**
 * Reads the head of a request (RFC 9112): a line `POST <path> HTTP/1.1`, one Host, one Content-Length, no other framing,
 * each header once and on one line, in visible ASCII.
 *
 * @returns "unfinished" where more bytes may complete a plain head; "other" for all other bytes.
 */
export function readPlainHead(bytes: Buffer): PlainHead | "unfinished" | "other" {
  const begun = Math.min(bytes.length, START.length);
  if (START.compare(bytes, 0, begun, 0, begun) !== 0) return "other";
  const end = bytes.indexOf(END_OF_HEAD);
  if (end < 0) return bytes.length < LONGEST_HEAD ? "unfinished" : "other";
  if (end + END_OF_HEAD.length > LONGEST_HEAD) return "other";
  const [first = "", ...lines] = bytes.toString("latin1", 0, end).split("\r\n");
  const url = REQUEST_LINE.exec(first)?.[1];
  const fields = url === undefined ? undefined : readFields(lines);
  if (url === undefined || !fields) return "other";
  const { host, connection, "content-length": length = "" } = fields.headers;
  const bodyBytes = /^\d{1,5}$/.test(length) ? Number(length) : 0;
  if (host === undefined || bodyBytes === 0 || bodyBytes > LARGEST_BODY) return "other";
  const isLast = connection?.toLowerCase() === "close";
  return { ...fields, url, bytes: end + END_OF_HEAD.length, bodyBytes, isLast };
}

const REQUEST_LINE = /^POST (\/[\w\-.~%!$&'()*+,;=:@/?]*) HTTP\/1\.1$/;
/** A header in ASCII. A request with bytes above 0x7e is left to Node's parser. */
const FIELD = /^([\w\-.!#$%&'*+^`|~]+):([\t\x20-\x7e]*)$/;
/** Headers that change how the body is read or what follows it, and a name that would set an object's prototype. */
const NOT_PLAIN: ReadonlySet<string> = new Set([
  ...["transfer-encoding", "content-encoding", "expect", "upgrade", "trailer", "te", "__proto__"],
]);

function readFields(
  lines: readonly string[],
): Pick<PlainHead, "headers" | "rawHeaders"> | undefined {
  const headers: Record<string, string> = {};
  const rawHeaders: string[] = [];
  for (const line of lines) {
    const [, written, padded] = FIELD.exec(line) ?? [];
    if (written === undefined || padded === undefined) return undefined;
    const value = padded.trim(); // trims spaces and tabs; a regular expression would try each division of them
    const name = written.toLowerCase();
    if (NOT_PLAIN.has(name) || Object.hasOwn(headers, name)) return undefined;
    if (name === "connection" && !/^(keep-alive|close)$/i.test(value)) return undefined;
    headers[name] = value;
    rawHeaders.push(written, value);
  }
  return { headers, rawHeaders };
}

/** A request that Node or `PlainFront` read. */
export type CallerRequest = IncomingMessage | PlainRequest;

/** A plain request: the members of an `IncomingMessage` that the server uses, and the body. */
export class PlainRequest {
  readonly method = "POST";
  readonly httpVersion = "1.1";
  readonly socket: Socket;
  readonly body: Buffer;
  readonly #head: PlainHead;

  constructor(head: PlainHead, socket: Socket, body: Buffer) {
    this.#head = head;
    this.socket = socket;
    this.body = body;
  }

  get url(): string {
    return this.#head.url;
  }

  get headers(): IncomingHttpHeaders {
    return this.#head.headers;
  }

  get destroyed(): boolean {
    return this.socket.destroyed;
  }

  /** Has no effect: the body was read already. */
  resume(): void {}
}
