// Waiting that ends after a while, whatever becomes of what was waited for.
import type { Clock } from "./clock.ts";

/** Made once: a reason that is made anew each time costs more than the waiting. */
const OVER = new Error("no longer waited for");

/**
 * What the work gives; undefined when it takes longer, or the signal ends the waiting. The work goes on.
 *
 * @param ms In milliseconds.
 */
export async function within<Value>(
  ms: number,
  work: Promise<Value>,
  { clock, signal }: { readonly clock: Pick<Clock, "sleep">; readonly signal?: AbortSignal },
): Promise<Value | undefined> {
  const timer = new AbortController();
  const either = signal ? AbortSignal.any([timer.signal, signal]) : timer.signal;
  const end = clock.sleep(ms, either).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([work, end]);
  } finally {
    timer.abort(OVER);
  }
}
