// A signal that ends with another one, or when time is up.
import type { Clock } from "./clock.ts";

/** Why it aborted when time was up. Made once: an error has a stack. */
export const TOO_LATE = new Error("time is up");

/** @returns The signal, and what frees the timer: to be called when the work is done. */
export function deadline(
  ms: number,
  outer: AbortSignal,
  clock: Pick<Clock, "after">,
): { readonly signal: AbortSignal; readonly done: () => void } {
  const controller = new AbortController();
  const end = (): void => controller.abort(outer.reason);
  if (outer.aborted) end();
  const cancel = clock.after(ms, () => controller.abort(TOO_LATE));
  outer.addEventListener("abort", end, { once: true });
  const done = (): void => {
    cancel();
    outer.removeEventListener("abort", end);
  };
  return { signal: controller.signal, done };
}
