// What a node said it lacks, for a while.
import type { Clock } from "../lib/clock.ts";

/** A method that is lacked is asked for again after so long: nodes are upgraded. */
const REMEMBER_MS = 600_000;
/** Allow lists have wildcards, so callers may invent names without end. */
const MAX_REMEMBERED = 512;

export class MissingMethods {
  /** By method, until when the node is taken to lack it. Never more than `MAX_REMEMBERED`, oldest first. */
  readonly #untilByMethod = new Map<string, number>();
  readonly #clock: Pick<Clock, "now">;

  constructor(parts: { clock: Pick<Clock, "now"> }) {
    this.#clock = parts.clock;
  }

  has(method: string): boolean {
    const until = this.#untilByMethod.get(method);
    return until !== undefined && this.#clock.now() < until;
  }

  /** The name that was remembered longest ago makes room. */
  remember(method: string): void {
    this.#untilByMethod.delete(method); // so that it stands last, as the newest
    const [oldest] = this.#untilByMethod.keys();
    if (oldest !== undefined && this.#untilByMethod.size >= MAX_REMEMBERED)
      this.#untilByMethod.delete(oldest);
    this.#untilByMethod.set(method, this.#clock.now() + REMEMBER_MS);
  }
}
