// Waiting that ends after a while, whatever becomes of what was waited for.
import type { Clock } from "./clock.ts";

/**
 * What the work gives; undefined when it takes longer. The work goes on.
 *
 * @param ms In milliseconds.
 */
export async function within<Value>(
  ms: number,
  work: Promise<Value>,
  clock: Pick<Clock, "sleep">,
): Promise<Value | undefined> {
  const patience = new AbortController();
  const end = clock.sleep(ms, patience.signal).then(
    () => undefined,
    () => undefined,
  );
  try {
    return await Promise.race([work, end]);
  } finally {
    patience.abort();
  }
}
