// The journal of pending transactions for a process that does not listen to nodes: the writer does.

import type { Clock } from "../lib/clock.ts";
import { Mutex } from "../lib/mutex.ts";
import type { State } from "../state/state.ts";
import { JournalCopy } from "./journal-copy.ts";
import { type Journal, type Pending, pendingOf } from "./pending-journal.ts";

/** Who listens to the nodes. */
export type MempoolWriter = {
  /** @throws RpcError */
  beginPending(): Promise<number>;
  /** Somebody has a filter. */
  listenToPending(): void;
};

/** The writer is told so often, in milliseconds, that it is listened for. */
const TOLD_EVERY_MS = 30_000;

export class JournalReader implements Journal {
  readonly #copy: JournalCopy;
  #toldAtMs = Number.NEGATIVE_INFINITY;
  readonly #reading = new Mutex();
  readonly #parts: { readonly writer: MempoolWriter; readonly clock: Pick<Clock, "now"> };

  constructor(
    options: { readonly network: string },
    parts: {
      readonly writer: MempoolWriter;
      readonly state: Pick<State, "append" | "readFrom">;
      readonly clock: Pick<Clock, "now">;
    },
  ) {
    this.#copy = new JournalCopy(options, parts);
    this.#parts = parts;
  }

  async start(): Promise<void> {}

  async close(): Promise<void> {
    await this.#reading.idle();
  }

  begin(): Promise<number> {
    return this.#parts.writer.beginPending();
  }

  async since(sequence: number, most = Number.POSITIVE_INFINITY): Promise<Pending | undefined> {
    this.#tellWriter();
    await this.#reading.run(() => this.#copy.catchUp());
    return pendingOf(this.#copy.since(sequence, most), sequence);
  }

  #tellWriter(): void {
    const now = this.#parts.clock.now();
    if (now - this.#toldAtMs < TOLD_EVERY_MS) return;
    this.#toldAtMs = now;
    this.#parts.writer.listenToPending();
  }
}
