// The threads that take blocks and write the stores, seen from the thread that answers callers. One writes, and takes what
// it can; it is begun with the first store, and begun again when it ends or hangs. Another takes blocks beside it while it
// has more than it can do. Calls that a thread had not answered when it ended fail, and the follower makes them again.
import { cpus } from "node:os";
import type { Logger } from "pino";
import { NotWritable } from "../../disk/writable.ts";
import type { Clock } from "../../lib/clock.ts";
import { PendingReplies, Restarts, Rounds } from "../../lib/waiting.ts";
import type { OpenedStore, TakeCall, ThreadCall, ThreadResult } from "./messages.ts";
import {
  GONE,
  type NodeAsking,
  type Sending,
  ThreadLink,
  type ThreadLinkOptions,
  type ThreadLinkParts,
} from "./thread-link.ts";

export type WriterThreadOptions = {
  /** Left out: the one beside this file. */
  readonly program?: string;
  /** The most memory for objects that live long, in MiB; left out: V8's own limit for this machine. */
  readonly heapMib?: number;
  /** For which share of the time the thread that writes may be busy before another takes blocks, too. */
  readonly busyShare?: number;
  /** How many cores must have been idle meanwhile. */
  readonly spareCores?: number;
};

export type WriterThreadParts = {
  /** Is called when the thread that writes has ended though nobody stopped it. */
  readonly onEnd: (why: "hung" | "ended") => void;
  /** How long it may be without a sign of life, in milliseconds. */
  readonly silenceMs: () => number;
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "info" | "warn" | "error">;
};

type OpenStore = { options: OpenedStore; readonly onBegunAgain: () => void };

/**
 * LMDB's error for an environment whose writer died in the middle of a write: only another process can open it again.
 */
const PANIC = -30_795;
/** The code of errors when a gateway ends before it was started: nobody need be told of them. */
export const CALLED_OFF = "CALLED_OFF";

/** How often a look is taken at how busy the thread that writes is, in milliseconds. */
const LOOK_EVERY_MS = 1_000;
/** Once it was busy for this share of the time another thread takes blocks, too, ... */
const BUSY_SHARE = 0.7;
/** ... where so many cores were idle: on a machine that has enough to do it would only make callers wait. */
const SPARE_CORES = 0.4;
/** That one ends when it took no block for this time, in milliseconds. */
const IDLE_MS = 10_000;
/** It takes none while as many bytes of blocks wait to be stored. */
const MOST_SENT_BYTES = 64 * 2 ** 20;

export class WriterThread {
  #writer: ThreadLink | undefined;
  #taker: ThreadLink | undefined;
  /** The calls to that one. */
  readonly #taking = new PendingReplies<ThreadResult>();
  /** How many blocks it took, now and when a look was taken last at whether it has to do. */
  #taken = 0;
  #takenBefore = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  /** Of all cores, when a look was taken last, in milliseconds. */
  #idleMs = 0;
  /** Of blocks that the other thread took, and that are not stored. */
  #sentBytes = 0;
  /** Messages that wait for the start; undefined after it. */
  #unsent: Sending[] | undefined = [];
  #isClosed = false;
  readonly #restarts = new Restarts();
  #lastStore = 0;
  /** By their numbers. A store keeps its number when another thread takes over. */
  readonly #stores = new Map<number, OpenStore>();
  readonly #replies = new PendingReplies<ThreadResult>();
  readonly #idle: Rounds;
  readonly #options: WriterThreadOptions;
  readonly #parts: WriterThreadParts;

  constructor(options: WriterThreadOptions, parts: WriterThreadParts) {
    this.#options = options;
    this.#parts = parts;
    const { clock } = parts;
    this.#idle = new Rounds({ clock, everyMs: () => IDLE_MS, round: () => this.#endIdle() });
  }

  /** @param store.onBegunAgain Is called when another thread has opened it. @returns Its number. */
  open(store: OpenStore): number {
    this.#lastStore += 1;
    const number = this.#lastStore;
    this.#stores.set(number, store);
    if (this.#writer) this.#openIn(number);
    else if (!this.#unsent && !this.#isClosed) this.#begin();
    return number;
  }

  /** Begins the thread, and sends what waited. A gateway listens sooner when it does not begin two threads at once. */
  start(): void {
    const unsent = this.#unsent ?? [];
    this.#unsent = undefined;
    if (this.#stores.size > 0) this.#begin();
    for (const sending of unsent) this.#post(sending);
  }

  /** Nobody needs the store's number any more. */
  forgetStore(store: number): void {
    this.#stores.delete(store);
  }

  /** @throws NotWritable; Error when it fails, or the thread ends before it is done. */
  async request(
    store: number,
    call: ThreadCall,
    transferred: readonly ArrayBuffer[] = [],
  ): Promise<unknown> {
    return this.#request(store, call, { transferred }).result;
  }

  /**
   * @returns The number by which the thread that writes holds the block; undefined where another thread takes it and
   * sends it. @throws As `request`.
   */
  take(
    store: number,
    call: Omit<TakeCall, "isSent">,
    asking: NodeAsking,
  ): { readonly id: number | undefined; readonly result: Promise<unknown> } {
    // Heads are asked for by their hash: these are taken by the thread that goes before others.
    const taker = "number" in call.reference ? this.#takerNow() : undefined;
    if (taker) {
      const { id, reply } = this.#taking.begin();
      this.#taken += 1;
      const message = { kind: "call", id, store, call: { ...call, isSent: true } } as const;
      taker.send({ message, asking });
      return { id: undefined, result: reply.then((settled) => this.#valueOf(settled)) };
    }
    return this.#request(store, { ...call, isSent: false }, { asking });
  }

  /** Counts blocks that were sent, in bytes: they wait here until they are stored, or nobody wants them. */
  countSent(bytes: number): void {
    this.#sentBytes += bytes;
  }

  /** Nobody wants the block that was taken. */
  forget(id: number): void {
    this.#post({ message: { kind: "forget", id } });
  }

  /** To be called before the stores are closed: calls that wait for the start fail. */
  callOff(): void {
    if (!this.#unsent) return;
    this.#isClosed = true;
    this.#unsent = undefined;
    this.#replies.settleAll({ ...GONE, code: CALLED_OFF });
  }

  /** To be called after the stores were closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#idle.stop();
    await Promise.all([this.#writer?.close(), this.#taker?.close()]);
  }

  #request(
    store: number,
    call: ThreadCall,
    {
      transferred = [],
      asking,
    }: { transferred?: readonly ArrayBuffer[]; asking?: NodeAsking } = {},
  ): { readonly id: number; readonly result: Promise<unknown> } {
    const { id, reply } = this.#replies.begin();
    if (this.#writer || this.#unsent)
      this.#post({ message: { kind: "call", id, store, call }, transferred, asking });
    else this.#replies.settle(id, GONE);
    return { id, result: reply.then((settled) => this.#valueOf(settled)) };
  }

  #valueOf(settled: ThreadResult): unknown {
    if (settled.kind === "done") return settled.value;
    throw this.#errorOf(settled);
  }

  #errorOf(failure: Exclude<ThreadResult, { kind: "done" }>): Error {
    if (failure.kind === "not writable") return new NotWritable(failure.why);
    if (failure.code === PANIC) this.#giveUp("the store was left locked by a thread that ended");
    return Object.assign(new Error(failure.why), { code: failure.code });
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
      { name: "the thread that writes", isSpare: false },
      {
        replies: this.#replies,
        onEnd: (why) => {
          this.#writer = undefined;
          if (this.#isClosed) return;
          onEnd(why);
          const restMs = this.#restarts.restMs(clock.now() - startedAt);
          log.warn({ restMs }, "the thread that writes ended: starting it again");
          clock.after(restMs, () => this.#beginAgain());
        },
      },
    );
    for (const number of this.#stores.keys()) this.#openIn(number);
  }

  /** The other thread, where it is to take the next block. One is begun while the thread that writes is busy. */
  #takerNow(): ThreadLink | undefined {
    const writer = this.#writer;
    if (!writer || this.#isClosed) return undefined;
    if (!this.#taker && this.#lookForRoom(writer)) this.#beginTaker();
    const taker = this.#taker;
    const isFree = taker?.isUp && taker.underWay < writer.underWay;
    return isFree && this.#sentBytes < MOST_SENT_BYTES ? taker : undefined;
  }

  /** @returns Whether another thread is of use, by what the last second or more was like; false between two looks. */
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

  #beginTaker(): void {
    const { log } = this.#parts;
    log.info("blocks are taken by two threads: the one that writes has too much to do");
    const taker = this.#link(
      { name: "the thread that takes blocks", isSpare: true },
      {
        replies: this.#taking,
        onEnd: () => {
          if (this.#taker !== taker) return;
          this.#taker = undefined;
          if (!this.#isClosed) log.warn("the thread that takes blocks ended");
        },
      },
    );
    this.#taker = taker;
    this.#taken = 0;
    this.#takenBefore = -1; // it has just begun
    this.#idle.begin();
  }

  /** @returns Whether there is another thread still. */
  #endIdle(): boolean {
    const taker = this.#taker;
    const isIdle = taker?.isUp && taker.underWay === 0 && this.#taken === this.#takenBefore;
    this.#takenBefore = this.#taken;
    if (!taker || !isIdle) return taker !== undefined;
    this.#taker = undefined;
    void taker.close();
    this.#parts.log.info({ blocks: this.#taken }, "blocks are taken by one thread again");
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
      this.request(number, { kind: "open", options }).catch((error: unknown) =>
        log.error({ err: error }, "a store could not be opened by the thread that writes"),
      );
  }

  /** Throws an error that nobody expects, so that the process is replaced with all its threads. */
  #giveUp(why: string): void {
    this.#parts.clock.after(0, () => {
      throw new Error(why);
    });
  }
}
