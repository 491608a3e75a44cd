import fc from "fast-check";
import { expect, it } from "vitest";
import { Cancellation, type Signal } from "./cancellation.ts";

/** The test adds or removes one of five listeners, or aborts the signal. */
type Step = { readonly act: "add" | "remove" | "abort"; readonly listener: number };

/** The calls and the state of a signal after each step, as text. A listener that is called removes another listener. */
function told(signal: Signal, abort: (reason: unknown) => void, steps: readonly Step[]): string[] {
  const seen: string[] = [];
  const listeners = [0, 1, 2, 3, 4].map((index) => (): void => {
    seen.push(`called ${index}, ${signal.aborted} ${signal.reason}`);
    signal.removeEventListener("abort", listeners[(index + 2) % 5] as () => void);
  });
  for (const [index, { act, listener }] of steps.entries()) {
    const own = listeners[listener] as () => void;
    if (act === "abort") abort(`reason ${index}`);
    else if (act === "remove") signal.removeEventListener("abort", own);
    else signal.addEventListener("abort", own, { once: true });
    seen.push(`${act} ${listener}: ${signal.aborted} ${signal.reason}`);
  }
  return seen;
}

it("is what an AbortController and its signal are", () => {
  const anyStep = fc.record({
    act: fc.constantFrom("add", "add", "add", "remove", "abort") as fc.Arbitrary<Step["act"]>,
    listener: fc.nat(4),
  });
  fc.assert(
    fc.property(fc.array(anyStep, { maxLength: 12 }), (steps) => {
      const controller = new AbortController();
      const abort = (reason: unknown): void => controller.abort(reason);
      const want = told(controller.signal, abort, steps);
      const cancellation = new Cancellation();
      const end = (reason: unknown): void => cancellation.abort(reason);
      expect(told(cancellation, end, steps)).toEqual(want);
    }),
    { numRuns: 500 },
  );
});
