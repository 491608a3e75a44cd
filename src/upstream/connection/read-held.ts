// For who reads an answer while it comes, where it comes as one message.
import type { Clock } from "../../lib/clock.ts";
import { type BodyReader, type Exchange, stopped } from "./connection.ts";

/** In bytes: a few milliseconds of work. */
const READ_AT_ONCE = 1 << 20;

/** Hands the answer to the reader piece by piece, with others' turns between. */
export async function readHeld(
  exchange: Exchange,
  reader: BodyReader,
  clock: Pick<Clock, "after">,
): Promise<Exchange> {
  if (exchange.kind !== "answered") return exchange;
  for (let at = 0; at < exchange.body.length; at += READ_AT_ONCE) {
    if (!reader.add(exchange.body.subarray(at, at + READ_AT_ONCE))) return stopped(reader);
    await new Promise<void>((resolve) => clock.after(0, resolve));
  }
  return { ...exchange, body: reader.finish() ?? Buffer.alloc(0) };
}
