// A request's bytes are paid for by its key before they are read, and what they unpack to before that is
// parsed: work is paid before it is done.
import type { Grant } from "../access/keys/grant.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryHolder } from "../lib/memory-budget.ts";
import {
  announcedBytes,
  type BodyParts,
  CALLER_GONE,
  type IncomingBody,
  readBody,
} from "./body.ts";

export type PaidBodyOptions = {
  readonly bytes: number;
  readonly holder?: MemoryHolder | undefined;
  readonly grant: Payer;
  readonly network: string;
};

type Payer = {
  readonly meter: Pick<Grant["meter"], "charge">;
  readonly usage: Pick<Grant["usage"], "recordUnits">;
};

export type PaidBodyParts = BodyParts & { readonly clock: Pick<Clock, "now"> };

/** What every request may have in it: a call, or a batch of a hundred. */
const FREE_BYTES = 16_384;
const BYTES_OF_A_UNIT = 4_096;

/** What bytes cost in compute units, beside the calls in them. */
export const unitsOfBytes = (bytes: number): number =>
  bytes <= FREE_BYTES ? 0 : Math.ceil((bytes - FREE_BYTES) / BYTES_OF_A_UNIT);

/**
 * @param options.bytes See `readBody`.
 * @throws RpcError as `readBody`, and 429 when the key has not enough left.
 */
export function paidBody(
  incoming: IncomingBody,
  options: PaidBodyOptions,
  parts: PaidBodyParts,
): Promise<Buffer | typeof CALLER_GONE> {
  const { headers } = incoming.request;
  const announced = announcedBytes(incoming.request);
  // Most bodies are small, and as large as they say.
  const isFree =
    announced > 0 && announced <= FREE_BYTES && headers["content-encoding"] === undefined;
  return isFree ? readBody(incoming, options, parts) : payFor(incoming, options, parts);
}

async function payFor(
  incoming: IncomingBody,
  options: PaidBodyOptions,
  parts: PaidBodyParts,
): Promise<Buffer | typeof CALLER_GONE> {
  const pay = async (price: number): Promise<void> => {
    const { meter, usage } = options.grant;
    const short = await meter.charge(price, parts.clock.now());
    if (short) throw errors.rateLimited(short);
    usage.recordUnits(options.network, price);
  };
  const announced = announcedBytes(incoming.request);
  // What is larger than allowed is not read.
  const paid = announced > options.bytes ? 0 : unitsOfBytes(announced);
  if (paid > 0) await pay(paid);
  const body = await readBody(incoming, options, parts);
  if (body === CALLER_GONE) return body;
  const units = unitsOfBytes(body.length) - paid;
  if (units > 0) await pay(units);
  return body;
}
