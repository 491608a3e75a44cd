// Waiting that ends with a signal.

/** What the promise gives, or what `why` makes, thrown, when the signal aborts first. */
export function orAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
  why: () => Error,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(why());
    if (signal.aborted) return abort();
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
