// How an unknown key is refused: with one text for all, and later and later where keys are guessed.
import type { Guesses } from "../access/scope/guesses.ts";
import type { RequestScope } from "../calls/request-scope.ts";
import { errors, type RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../observe/metrics.ts";

export type RefuseKeyParts = {
  readonly guesses: Pick<Guesses, "judge">;
  readonly clock: Pick<Clock, "now" | "sleep">;
  readonly metrics: Pick<Metrics, "keyGuessed">;
};

/** @returns The refusal, when it is time to say it or nobody waits for it any more. */
export async function refuseKey(
  { address, scope }: { address: string | undefined; scope: RequestScope },
  { guesses, clock, metrics }: RefuseKeyParts,
): Promise<RpcError> {
  // Without an address the caller has left.
  if (address === undefined) return errors.invalidKey();
  const verdict = guesses.judge(address, clock.now());
  switch (verdict.kind) {
    case "at once":
      metrics.keyGuessed("at once");
      return errors.invalidKey();
    case "turned away":
      metrics.keyGuessed("turned away");
      return errors.tooManyGuesses(verdict.limit, Math.ceil(verdict.retryAfterMs / 1000));
    case "after":
      metrics.keyGuessed("delayed");
      // The wait ends with the request's time, and when the caller leaves.
      await clock.sleep(verdict.delayMs, scope.signal()).catch(() => undefined);
      verdict.done();
      return errors.invalidKey();
  }
}
