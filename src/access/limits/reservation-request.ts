// What one process asks of a limit: one request at a time, which those who come meanwhile wait for.
import type { Clock } from "../../lib/clock.ts";

export type ReservationRequestParts = {
  readonly clock: Pick<Clock, "now" | "after">;
  /** The state is silent, or refused: it counts as away. */
  readonly onLost: () => void;
};

/** Longer no call waits for a reservation: then the state counts as away. */
const TIMEOUT_MS = 1000;

export class ReservationRequest {
  isRunning = false;
  /** When the last one began. */
  triedAtMs = Number.NEGATIVE_INFINITY;
  /** Resolves when the one that is under way has ended, or nobody is to wait for it any longer. */
  coming: Promise<void> = Promise.resolve();
  readonly #parts: ReservationRequestParts;

  constructor(parts: ReservationRequestParts) {
    this.#parts = parts;
  }

  /** Only while none is running. */
  begin(request: Promise<void>, onEnd: () => void): void {
    const { clock, onLost } = this.#parts;
    this.isRunning = true;
    this.triedAtMs = clock.now();
    this.coming = new Promise((resolve) => {
      const cancel = clock.after(TIMEOUT_MS, () => {
        onLost();
        resolve();
      });
      const ended = (): void => {
        cancel();
        this.isRunning = false;
        onEnd();
        resolve();
      };
      request.then(ended, () => {
        onLost();
        ended();
      });
    });
  }
}
