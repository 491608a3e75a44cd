// The head of a plain request: the one shape that nearly all calls come in, read strictly. Whatever else may be HTTP
// is for Node's own parser to say.
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { Socket } from "node:net";

/** Of `POST <target> HTTP/1.1` with a body of a length that is said. */
export type PlainHead = {
  readonly url: string;
  /** By their names in lower case. */
  readonly headers: IncomingHttpHeaders;
  /** Names and values in turns, as they came. */
  readonly rawHeaders: string[];
  /** Of the head itself, with the empty line. */
  readonly bytes: number;
  /** Of the body. */
  readonly bodyBytes: number;
  /** The connection is to end with the answer. */
  readonly isLast: boolean;
};

/** In bytes: longer heads are rare. */
const LONGEST_HEAD = 4_096;
/** In bytes: what is larger may have to be paid for before it is read. */
const LARGEST_BODY = 16_384;

const START = Buffer.from("POST /");
const END_OF_HEAD = Buffer.from("\r\n\r\n");

/**
 * Reads the head of a request (RFC 9112): a line `POST <path> HTTP/1.1`, one Host, one Content-Length, no other framing,
 * each header once and on one line, in visible ASCII.
 *
 * @returns "unfinished" where more bytes may make one of them; "other" for what is not plain, whatever it is.
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
/** Bytes above 0x7e are another parser's to judge. */
const FIELD = /^([\w\-.!#$%&'*+^`|~]+):([\t\x20-\x7e]*)$/;
/** They say more of a body than its length, or of what follows it; the last one is no name for a member of an object. */
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
    const value = padded.trim(); // of spaces and tabs, of which an expression would try each division
    const name = written.toLowerCase();
    if (NOT_PLAIN.has(name) || Object.hasOwn(headers, name)) return undefined;
    if (name === "connection" && !/^(keep-alive|close)$/i.test(value)) return undefined;
    headers[name] = value;
    rawHeaders.push(written, value);
  }
  return { headers, rawHeaders };
}

/** However it came. */
export type CallerRequest = IncomingMessage | PlainRequest;

/** As much of an `IncomingMessage` as an endpoint needs, with its body. */
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

  /** Its body was taken. */
  resume(): void {}
}
