// Reads a request's body: bounded, and unpacked when it came compressed.
import type { IncomingMessage } from "node:http";
import type { RequestScope } from "../calls/request-scope.ts";
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import type { MemoryBudget, MemoryHolder } from "../lib/memory-budget.ts";
import { isPacked, type Unpacking } from "./unpacking.ts";

/** The caller went away before the body was whole: nobody is left to be answered. */
export const CALLER_GONE = Symbol("caller gone");

export type IncomingBody = {
  readonly request: IncomingMessage;
  readonly scope: Pick<RequestScope, "hold">;
};

export type BodyOptions = {
  /** The limit, for what comes over the wire and for what it unpacks to. */
  readonly bytes: number;
  /** The key that it waits for. */
  readonly holder?: MemoryHolder | undefined;
};

export type BodyParts = {
  readonly memory: Pick<MemoryBudget, "admitsRequest">;
  readonly unpacking: Pick<Unpacking, "unpack">;
};

/**
 * The whole body as it counts: unpacked.
 *
 * @throws RpcError 413 over the limit, 415 for an unknown encoding, 400 for a broken one, 503 while too much waits.
 */
export async function readBody(
  incoming: IncomingBody,
  { bytes: limit, holder }: BodyOptions,
  parts: BodyParts,
): Promise<Buffer | typeof CALLER_GONE> {
  const encoding = incoming.request.headers["content-encoding"];
  if (announcedBytes(incoming.request) > limit) throw errors.bodyTooLarge();
  const packing = encoding !== undefined && isPacked(encoding) ? encoding : undefined;
  const body = await collect(incoming, { bytes: limit, holder }, parts);
  if (packing === undefined || body === CALLER_GONE) return body;
  const hold = (bytes: number): void => incoming.scope.hold("bodies", bytes);
  return parts.unpacking.unpack(body, { encoding: packing, limit }, hold);
}

/** What the caller says that it will send; 0 where it does not. */
export const announcedBytes = ({ headers }: Pick<IncomingMessage, "headers">): number =>
  Number(headers["content-length"] ?? 0);

/** In bytes: so much of a body is read whatever waits. */
const SMALL = 65_536;

function collect(
  { request, scope }: IncomingBody,
  { bytes: limit, holder }: BodyOptions,
  { memory }: BodyParts,
): Promise<Buffer | typeof CALLER_GONE> {
  return new Promise((resolve, reject) => {
    let chunks: Buffer[] = [];
    let length = 0;
    let isRefused = false;
    const refuse = (error: RpcError): void => {
      isRefused = true;
      chunks = [];
      reject(error);
    };
    request.on("data", (chunk: Buffer) => {
      if (isRefused) return; // what still comes is read and dropped
      length += chunk.length;
      scope.hold("bodies", chunk.length);
      if (length > limit) refuse(errors.bodyTooLarge());
      else if (length > SMALL && !memory.admitsRequest(holder)) refuse(errors.memoryIsScarce());
      else chunks.push(chunk);
    });
    request.on("end", () => {
      const [only] = chunks;
      resolve(only && chunks.length === 1 ? only : Buffer.concat(chunks));
    });
    request.on("close", () => resolve(CALLER_GONE)); // also after an error; a whole body came before
  });
}
