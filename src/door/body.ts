// Reads a request's body: bounded, and unpacked when it came compressed.
import type { IncomingMessage } from "node:http";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, inflateRaw } from "node:zlib";
import type { RequestScope } from "../calls/request-scope.ts";
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import type { MemoryBudget } from "../lib/memory-budget.ts";

/** The caller went away before the body was whole: nobody is left to be answered. */
export const CALLER_GONE = Symbol("caller gone");

export type BodyVisit = {
  readonly request: IncomingMessage;
  readonly scope: Pick<RequestScope, "hold">;
};
export type BodyParts = { readonly memory: Pick<MemoryBudget, "admitsRequest"> };

/**
 * The whole body as it counts: unpacked.
 *
 * @param options.bytes The limit, for what comes over the wire and for what it unpacks to.
 * @throws RpcError 413 over the limit, 415 for an unknown encoding, 400 for a broken one, 503 while too much waits.
 */
export async function readBody(
  visit: BodyVisit,
  { bytes: limit }: { readonly bytes: number },
  parts: BodyParts,
): Promise<Buffer | typeof CALLER_GONE> {
  const { headers } = visit.request;
  const encoding = headers["content-encoding"];
  if (Number(headers["content-length"]) > limit) throw errors.bodyTooLarge();
  const unpack = encoding && unpackerOf(encoding);
  const body = await collect(visit, limit, parts);
  if (!unpack || body === CALLER_GONE) return body;
  const unpacked = await unpack(body, limit);
  visit.scope.hold("bodies", unpacked.length);
  return unpacked;
}

/** In bytes: so much of a body is read whatever waits. */
const SMALL = 65_536;

function collect(
  { request, scope }: BodyVisit,
  limit: number,
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
      else if (length > SMALL && !memory.admitsRequest()) refuse(errors.memoryIsScarce());
      else chunks.push(chunk);
    });
    request.on("end", () => {
      const [only] = chunks;
      resolve(only && chunks.length === 1 ? only : Buffer.concat(chunks));
    });
    request.on("close", () => resolve(CALLER_GONE)); // also after an error; a whole body came before
  });
}

type Unpack = (body: Buffer, limit: number) => Promise<Buffer>;

const unpackWith =
  (run: (body: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>): Unpack =>
  async (body, limit) => {
    try {
      return await run(body, { maxOutputLength: limit });
    } catch (cause) {
      throw (cause as { code?: string }).code === "ERR_BUFFER_TOO_LARGE"
        ? errors.bodyTooLarge()
        : errors.parseError(cause);
    }
  };

/** zlib streams begin with 0x78 for every window that clients use; some send a bare deflate stream. */
const inflateEither = (body: Buffer, options: { maxOutputLength: number }): Promise<Buffer> =>
  (body[0] === 0x78 ? promisify(inflate) : promisify(inflateRaw))(body, options) as Promise<Buffer>;

const gzip = unpackWith(promisify(gunzip) as never);
const unpackers: Readonly<Record<string, Unpack | undefined>> = {
  __proto__: null as never,
  gzip,
  "x-gzip": gzip,
  br: unpackWith(promisify(brotliDecompress) as never),
  deflate: unpackWith(inflateEither),
};

function unpackerOf(encoding: string): Unpack | undefined {
  const name = encoding.trim().toLowerCase();
  if (name === "identity") return undefined;
  const unpack = unpackers[name];
  if (!unpack) {
    throw errors.unsupportedMediaType("unsupported content encoding, want gzip, br or deflate");
  }
  return unpack;
}
