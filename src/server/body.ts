// Reads a request's body, bounded and decompressed. The key pays for the bytes on the wire before they are read, and for
// the decompressed bytes before they are parsed.
import type { IncomingMessage } from "node:http";
import type { Grant } from "../access/keys/key-ring.ts";
import type { RequestScope } from "../calls/caller.ts";
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget, MemoryHolder } from "../lib/memory-budget.ts";
import { type Decompression, isCompressed } from "./decompression.ts";

/** Stands for a body whose caller left before the body was whole. */
export const CALLER_GONE = Symbol("caller gone");

export type IncomingBody = {
  readonly request: IncomingMessage;
  readonly scope: Pick<RequestScope, "hold">;
};

export type BodyOptions = {
  /** The most bytes of the body, both on the wire and decompressed. */
  readonly bytes: number;
  /** The memory account of the key for which the bytes wait. */
  readonly holder?: MemoryHolder | undefined;
};

export type BodyParts = {
  readonly memory: Pick<MemoryBudget, "admitRequest">;
  readonly decompression: Pick<Decompression, "decompress">;
};

export type PaidBodyOptions = BodyOptions & {
  readonly grant: Payer;
  readonly network: string;
};

type Payer = {
  readonly meter: Pick<Grant["meter"], "charge">;
  readonly usage: Pick<Grant["usage"], "recordUnits">;
};

export type PaidBodyParts = BodyParts & { readonly clock: Pick<Clock, "now"> };

/** The bytes that cost nothing: enough for a call, or a batch of a hundred calls. */
const FREE_BYTES = 16_384;
const BYTES_OF_A_UNIT = 4_096;

/** The price of a body's bytes in compute units, beside the price of its calls. */
export const unitsOfBytes = (bytes: number): number =>
  bytes <= FREE_BYTES ? 0 : Math.ceil((bytes - FREE_BYTES) / BYTES_OF_A_UNIT);

/** As `readBody`, and the key pays for the body. @throws RpcError also 429, when the key has too few units left. */
export function paidBody(
  incoming: IncomingBody,
  options: PaidBodyOptions,
  parts: PaidBodyParts,
): Promise<Buffer | typeof CALLER_GONE> {
  const { headers } = incoming.request;
  const announced = announcedBytes(incoming.request);
  // Most bodies are small and uncompressed, and have the announced length.
  const isPlain =
    announced > 0 &&
    announced <= Math.min(FREE_BYTES, options.bytes) &&
    headers["content-encoding"] === undefined;
  return isPlain ? collect(incoming, options, parts) : payFor(incoming, options, parts);
}

async function payFor(
  incoming: IncomingBody,
  options: PaidBodyOptions,
  parts: PaidBodyParts,
): Promise<Buffer | typeof CALLER_GONE> {
  const pay = (price: number): Promise<void> => payUnits(price, options, parts.clock);
  const announced = announcedBytes(incoming.request);
  // A body that is larger than allowed is not read, so it costs nothing.
  const paid = announced > options.bytes ? 0 : unitsOfBytes(announced);
  if (paid > 0) await pay(paid);
  const body = await readBody(incoming, options, parts);
  if (body === CALLER_GONE) return body;
  await pay(unitsOfBytes(body.length) - paid);
  return body;
}

/** Pays for a body that was read already. @throws RpcError 429 when the key has too few units left. */
export const payForBytes = (
  bytes: number,
  payer: Pick<PaidBodyOptions, "grant" | "network">,
  clock: Pick<Clock, "now">,
): Promise<void> => payUnits(unitsOfBytes(bytes), payer, clock);

async function payUnits(
  units: number,
  { grant: { meter, usage }, network }: Pick<PaidBodyOptions, "grant" | "network">,
  clock: Pick<Clock, "now">,
): Promise<void> {
  if (units <= 0) return;
  const short = await meter.charge(units, clock.now());
  if (short) throw errors.rateLimited(short);
  usage.recordUnits(network, units);
}

/**
 * The whole body, decompressed; `CALLER_GONE` when the caller leaves first.
 *
 * @throws RpcError 413 over the limit, 415 for an unknown encoding, 400 for a broken body, 503 while memory is scarce.
 */
export async function readBody(
  incoming: IncomingBody,
  { bytes: limit, holder }: BodyOptions,
  parts: BodyParts,
): Promise<Buffer | typeof CALLER_GONE> {
  const encoding = incoming.request.headers["content-encoding"];
  if (announcedBytes(incoming.request) > limit) throw errors.bodyTooLarge();
  const compression = encoding !== undefined && isCompressed(encoding) ? encoding : undefined;
  const body = await collect(incoming, { bytes: limit, holder }, parts);
  if (compression === undefined || body === CALLER_GONE) return body;
  const hold = (bytes: number): void => incoming.scope.hold("bodies", bytes);
  return parts.decompression.decompress(body, { encoding: compression, limit }, hold);
}

/** The bytes that the Content-Length header announces; 0 without one. */
export const announcedBytes = ({ headers }: Pick<IncomingMessage, "headers">): number =>
  Number(headers["content-length"] ?? 0);

const NO_BYTES = Buffer.alloc(0);
/** In bytes: a body of this size is read also while memory is scarce. */
const SMALL = 65_536;

function collect(
  { request, scope }: IncomingBody,
  { bytes: limit, holder }: BodyOptions,
  { memory }: BodyParts,
): Promise<Buffer | typeof CALLER_GONE> {
  // The caller left while its key's reservation was awaited: the request's "close" event has passed already.
  if (request.destroyed) return Promise.resolve(CALLER_GONE);
  return new Promise((resolve, reject) => {
    /** Most bodies arrive as one chunk. */
    let first: Buffer | undefined;
    let chunks: Buffer[] | undefined;
    let length = 0;
    let isRefused = false;
    const refuse = (error: RpcError): void => {
      isRefused = true;
      first = undefined;
      chunks = undefined;
      reject(error);
    };
    request.on("data", (chunk: Buffer) => {
      if (isRefused) return; // drops the rest of the body
      length += chunk.length;
      scope.hold("bodies", chunk.length);
      if (length > limit) refuse(errors.bodyTooLarge());
      else if (length > SMALL && !memory.admitRequest(holder)) refuse(errors.memoryIsScarce());
      else if (chunks) chunks.push(chunk);
      else if (first) chunks = [first, chunk];
      else first = chunk;
    });
    request.on("end", () => resolve(chunks ? Buffer.concat(chunks) : (first ?? NO_BYTES)));
    request.on("close", () => resolve(CALLER_GONE)); // also after an error; no effect after "end"
  });
}
