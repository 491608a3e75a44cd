// Waiting that ends with a signal.

/** What the promise gives, or what `why` makes, thrown, when the signal aborts first. */
export function orAborted<Value>(
  promise: Promise<Value>,
  signal: AbortSignal,
  why: () => Error,
): Promise<Value> {
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(why());
    // In any case, so that what comes too late is nobody's unhandled rejection.
    void promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
