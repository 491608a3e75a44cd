// Runs the threads that ingest blocks and write the stores. The writer thread writes, and ingests what it can; it starts with
// the first store, and again when it ends or hangs. A second thread ingests blocks while the writer thread has too much to
// do. Calls that a thread has not answered when it ends fail, and the follower makes them again.
import { cpus } from "node:os";
import type { Logger } from "pino";
import { NotWritable } from "../../disk/writable.ts";
import type { Clock } from "../../lib/clock.ts";
import { PendingReplies, PeriodicTimer, RestartBackoff } from "../../lib/waiting.ts";
import type { IngestCall, OpenedStore, ThreadCall, ThreadResult } from "./messages.ts";
import {
  GONE,
  type NodeAsking,
  type Sending,
  ThreadLink,
  type ThreadLinkOptions,
  type ThreadLinkParts,
} from "./thread-link.ts";

export type WriterThreadOptions = Pick<ThreadLinkOptions, "program" | "heapMib"> & {
  /** The share of time, from 0 to 1, for which the writer thread may be busy before a second thread ingests blocks, too. */
  readonly busyShare?: number;
  /** How many cores must be idle for a second thread. */
  readonly spareCores?: number;
};

export type WriterThreadParts = {
  /** A callback: the writer thread has ended, though it was not closed. */
  readonly onEnd: (why: "hung" | "ended") => void;
  /** How long a thread may be without a heartbeat, in milliseconds. */
  readonly silenceMs: () => number;
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "info" | "warn" | "error">;
};

type OpenStore = { options: OpenedStore; readonly onBegunAgain: () => void };

/** LMDB's error after a writer died in the middle of a write: only another process can open the environment again. */
const PANIC = -30_795;
/** The code of errors of a gateway that ends before it has started: nobody need see them. */
export const CALLED_OFF = "CALLED_OFF";

/** How often the load of the writer thread is measured at most, in milliseconds. */
const LOOK_EVERY_MS = 1_000;
/** The default of `busyShare`: a second thread ingests blocks once the writer thread was busy for this share of time. */
const BUSY_SHARE = 0.7;
/** The default of `spareCores`: on a machine with enough to do, a second thread would only make callers wait. */
const SPARE_CORES = 0.4;
/** The second thread ends when it ingested no block for this time, in milliseconds. */
const IDLE_MS = 10_000;
/** The second thread ingests no block while this many bytes of blocks wait to be stored. */
const MOST_SENT_BYTES = 64 * 2 ** 20;

export class WriterThread {
  #writer: ThreadLink | undefined;
  #ingester: ThreadLink | undefined;
  /** The calls to `#ingester` that it has not answered. */
  readonly #ingesting = new PendingReplies<ThreadResult>();
  /** How many blocks `#ingester` ingested, now and when `#endIdle` last looked. */
  #ingested = 0;
  #ingestedBefore = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** The idle time of all cores together at the last measurement, in milliseconds. */
  #idleMs = 0;
  /** The bytes of blocks that `#ingester` ingested and that are not stored. */
  #sentBytes = 0;
  /** Messages that wait for the start; undefined after the start. */
  #unsent: Sending[] | undefined = [];
  #isClosed = false;
  readonly #restarts = new RestartBackoff();
  #lastStore = 0;
  /** The stores by number. A store keeps its number when a new thread takes over. */
  readonly #stores = new Map<number, OpenStore>();
  readonly #replies = new PendingReplies<ThreadResult>();
  readonly #idle: PeriodicTimer;
  readonly #options: WriterThreadOptions;
  readonly #parts: WriterThreadParts;

  constructor(options: WriterThreadOptions, parts: WriterThreadParts) {
    this.#options = options;
    this.#parts = parts;
    const { clock } = parts;
    this.#idle = new PeriodicTimer({ clock, everyMs: () => IDLE_MS, round: () => this.#endIdle() });
  }

  /** Adds a store. @param store.onBegunAgain A callback: a new thread has opened the store. @returns Its number. */
  open(store: OpenStore): number {
    this.#lastStore += 1;
    const number = this.#lastStore;
    this.#stores.set(number, store);
    if (this.#writer) this.#openIn(number);
    else if (!this.#unsent && !this.#isClosed) this.#begin();
    return number;
  }

  /** Starts the writer thread, and sends the waiting messages. A gateway listens sooner if no thread starts before. */
  start(): void {
    const unsent = this.#unsent ?? [];
    this.#unsent = undefined;
    if (this.#stores.size > 0) this.#begin();
    for (const sending of unsent) this.#post(sending);
  }

  /** Forgets a store that was closed. */
  forgetStore(store: number): void {
    this.#stores.delete(store);
  }

  /** The result rejects with NotWritable, or an Error when the call fails or the thread ends before the call is done. */
  request(
    store: number,
    call: ThreadCall,
    sent: Omit<Sending, "message"> = {},
  ): { readonly id: number; readonly result: Promise<unknown> } {
    const { id, reply } = this.#replies.begin();
    if (this.#writer || this.#unsent)
      this.#post({ message: { kind: "call", id, store, call }, ...sent });
    else this.#replies.settle(id, GONE);
    return { id, result: reply.then((settled) => this.#valueOf(settled)) };
  }

  /**
   * @returns The number by which the writer thread holds the block; undefined where the second thread ingests the block
   * and sends it. The result rejects as that of `request`.
   */
  ingest(
    store: number,
    call: Omit<IngestCall, "isSent">,
    asking: NodeAsking,
  ): { readonly id: number | undefined; readonly result: Promise<unknown> } {
    // The follower names heads by their hash: the writer thread ingests them, since it has the normal priority.
    const ingester = "number" in call.reference ? this.#ingesterNow() : undefined;
    if (ingester) {
      const { id, reply } = this.#ingesting.begin();
      this.#ingested += 1;
      const message = { kind: "call", id, store, call: { ...call, isSent: true } } as const;
      ingester.send({ message, asking });
      return { id: undefined, result: reply.then((settled) => this.#valueOf(settled)) };
    }
    return this.request(store, { ...call, isSent: false }, { asking });
  }

  /** Adds to the bytes of sent blocks that wait here to be stored; negative for blocks that were stored or dropped. */
  countSent(bytes: number): void {
    this.#sentBytes += bytes;
  }

  /** Lets the writer thread drop a block that it ingested. */
  forget(id: number): void {
    this.#post({ message: { kind: "forget", id } });
  }

  /** Fails the calls that wait for the start. Runs before the stores are closed. */
  callOff(): void {
    if (!this.#unsent) return;
    this.#isClosed = true;
    this.#unsent = undefined;
    this.#replies.settleAll({ ...GONE, code: CALLED_OFF });
  }

  /** Ends the threads. Runs after the stores were closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#idle.stop();
    await Promise.all([this.#writer?.close(), this.#ingester?.close()]);
  }

  #valueOf(settled: ThreadResult): unknown {
    if (settled.kind === "done") return settled.value;
    if (settled.kind === "not writable") throw new NotWritable(settled.why);
    if (settled.code === PANIC) this.#giveUp("a thread that ended left the store locked");
    throw Object.assign(new Error(settled.why), { code: settled.code });
  }

  #post(sending: Sending): void {
    if (this.#unsent) this.#unsent.push(sending);
    else this.#writer?.send(sending);
  }

  #link(
    kind: Pick<ThreadLinkOptions, "name" | "isSpare">,
    parts: Pick<ThreadLinkParts, "replies" | "onEnd">,
  ): ThreadLink {
    const { silenceMs, clock, log } = this.#parts;
    const { program, heapMib } = this.#options;
    const onStuck = (why: string): void => this.#giveUp(why);
    return new ThreadLink(
      { ...kind, program, heapMib },
      { ...parts, onStuck, silenceMs, clock, log },
    );
  }

  #begin(): void {
    const { clock, log, onEnd } = this.#parts;
    const startedAt = clock.now();
    this.#writer = this.#link(
      { name: "the writer thread", isSpare: false },
      {
        replies: this.#replies,
        onEnd: (why) => {
          this.#writer = undefined;
          if (this.#isClosed) return;
          onEnd(why);
          const restMs = this.#restarts.restMs(clock.now() - startedAt);
          log.warn({ restMs }, "the writer thread ended and is started again");
          clock.after(restMs, () => this.#beginAgain());
        },
      },
    );
    for (const number of this.#stores.keys()) this.#openIn(number);
  }

  /** The second thread, if it is to ingest the next block. Starts one while the writer thread is too busy. */
  #ingesterNow(): ThreadLink | undefined {
    const writer = this.#writer;
    if (!writer || this.#isClosed) return undefined;
    if (!this.#ingester && this.#lookForRoom(writer)) this.#beginIngester();
    const ingester = this.#ingester;
    const isFree = ingester?.isUp && ingester.underWay < writer.underWay;
    return isFree && this.#sentBytes < MOST_SENT_BYTES ? ingester : undefined;
  }

  /** @returns Whether a second thread would help, by the load since the last measurement; false until one is due. */
  #lookForRoom(writer: ThreadLink): boolean {
    const { busyShare = BUSY_SHARE, spareCores = SPARE_CORES } = this.#options;
    const now = this.#parts.clock.now();
    const ms = now - this.#lookedAt;
    if (writer.underWay === 0 || ms < LOOK_EVERY_MS) return false;
    const idleMs = cpus().reduce((sum, { times }) => sum + times.idle, 0);
    const idleCores = (idleMs - this.#idleMs) / ms;
    this.#lookedAt = now;
    this.#idleMs = idleMs;
    return writer.takeUse() > busyShare && idleCores >= spareCores;
  }

  #beginIngester(): void {
    const { log } = this.#parts;
    log.info("a second thread prepares blocks, since the writer thread is busy");
    const ingester = this.#link(
      { name: "the thread that prepares blocks", isSpare: true },
      {
        replies: this.#ingesting,
        onEnd: () => {
          if (this.#ingester !== ingester) return;
          this.#ingester = undefined;
          if (!this.#isClosed) log.warn("the thread that prepares blocks ended");
        },
      },
    );
    this.#ingester = ingester;
    this.#ingested = 0;
    this.#ingestedBefore = -1; // no round has looked at it yet
    this.#idle.begin();
  }

  /** Ends the second thread if it is idle. @returns Whether there still is a second thread. */
  #endIdle(): boolean {
    const ingester = this.#ingester;
    const isIdle =
      ingester?.isUp && ingester.underWay === 0 && this.#ingested === this.#ingestedBefore;
    this.#ingestedBefore = this.#ingested;
    if (!ingester || !isIdle) return ingester !== undefined;
    this.#ingester = undefined;
    void ingester.close();
    this.#parts.log.info({ blocks: this.#ingested }, "the writer thread prepares all blocks again");
    return false;
  }

  #beginAgain(): void {
    if (this.#isClosed) return;
    this.#begin();
    for (const { onBegunAgain } of this.#stores.values()) onBegunAgain();
  }

  #openIn(number: number): void {
    const { log } = this.#parts;
    const options = this.#stores.get(number)?.options;
    if (options)
      this.request(number, { kind: "open", options }).result.catch((error: unknown) =>
        log.error({ err: error }, "the writer thread could not open a store"),
      );
  }

  /** Throws an uncaught error, so that the process is replaced with all its threads. */
  #giveUp(why: string): void {
    this.#parts.clock.after(0, () => {
      throw new Error(why);
    });
  }
}
