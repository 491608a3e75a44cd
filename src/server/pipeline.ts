// The requests of one connection that are sent before earlier ones are answered (pipelining): so many are
// worked on at once, and while others wait, no more are read.
import type { Socket } from "node:net";
import type { Clock } from "../lib/clock.ts";

/** Answers leave in order: who needs more work at once has more connections. */
const AT_ONCE = 64;
/** What one read of a socket brings is bounded by its buffer; more than this was not meant to be answered. */
const MOST_WAITING = 4_000;

type PipelinedSocket = Pick<Socket, "pause" | "resume" | "destroy" | "destroyed">;

export class Pipeline {
  #underWay = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #socket: PipelinedSocket;
  readonly #clock: Pick<Clock, "yield">;

  constructor(socket: PipelinedSocket, parts: { clock: Pick<Clock, "yield"> }) {
    this.#socket = socket;
    this.#clock = parts.clock;
  }

  /**
   * A request came; `end` tells that it was answered.
   *
   * @returns undefined when it may be worked on, else a promise of that. It stays open where the
   * connection ends before.
   */
  begin(): Promise<void> | undefined {
    if (this.#underWay < AT_ONCE) {
      this.#underWay += 1;
      return undefined;
    }
    if (this.#waiting.length >= MOST_WAITING) this.#socket.destroy();
    else if (this.#waiting.length === 0) this.#socket.pause();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  end(): void {
    const next = this.#socket.destroyed ? undefined : this.#waiting.shift();
    if (!next) {
      this.#underWay -= 1;
      return;
    }
    // Answers that are ready at once would follow one another without a turn for anybody else.
    void this.#clock.yield().then(next);
    if (this.#waiting.length === 0) this.#socket.resume();
  }
}
