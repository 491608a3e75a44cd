// An answer on a socket for which node has no response object: the request was none, or never came.
import type { Socket } from "node:net";

export type BareAnswer = {
  /** Such as `400 Bad Request`. */
  readonly status: string;
  readonly requestId: string;
  readonly headers?: readonly string[];
};

/** A request that is no HTTP, or came too slowly. */
export function answerBroken(
  error: NodeJS.ErrnoException,
  socket: Socket,
  requestId: string,
): void {
  // Something was answered on it already: two answers to one request would be taken for two answers.
  if (error.code === "ECONNRESET" || !socket.writable || socket.bytesWritten > 0) socket.destroy();
  else answerBarely(socket, { status: STATUSES[error.code ?? ""] ?? "400 Bad Request", requestId });
}

const STATUSES: Readonly<Record<string, string | undefined>> = {
  ERR_HTTP_REQUEST_TIMEOUT: "408 Request Timeout",
  HPE_HEADER_OVERFLOW: "431 Request Header Fields Too Large",
};

/** The connection ends with it. Best effort: who does not read it, or still sends, may miss it. */
export function answerBarely(
  socket: Socket,
  { status, requestId, headers = [] }: BareAnswer,
): void {
  const lines = [
    `HTTP/1.1 ${status}`,
    "Connection: close",
    "Content-Length: 0",
    `X-Request-Id: ${requestId}`,
    ...headers,
  ];
  socket.end(`${lines.join("\r\n")}\r\n\r\n`, () => socket.destroy());
}
