// The thread that writes, seen from the thread that answers callers. It is begun with the first store, and begun again
// when it ends or hangs. Calls that it had not answered fail, and the follower makes them again.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Logger } from "pino";
import { NotWritable } from "../../disk/writable.ts";
import type { Signal } from "../../lib/cancellation.ts";
import type { Clock } from "../../lib/clock.ts";
import { Heartbeat, PendingReplies, Restarts } from "../../lib/waiting.ts";
import type { Reply } from "../../upstream/reply.ts";
import type { AskedNode } from "../dialect.ts";
import type {
  Asked,
  FromThread,
  OpenedStore,
  TakeCall,
  ThreadCall,
  ThreadResult,
  ThreadStart,
  ToThread,
} from "./messages.ts";

export type WriterThreadOptions = {
  /** Left out: the one beside this file. */
  readonly program?: string;
  /** The most memory for objects that live long, in MiB; left out: V8's own limit for this machine. */
  readonly heapMib?: number;
};

export type WriterThreadParts = {
  /** Is called when the thread has ended though nobody stopped it. */
  readonly onEnd: (why: "hung" | "ended") => void;
  /** How long it may be without a sign of life, in milliseconds. */
  readonly silenceMs: () => number;
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "warn" | "error">;
};

type OpenStore = { options: OpenedStore; readonly onBegunAgain: () => void };
/** The node from which a block is taken: how it is asked, and until when. */
type Asking = { readonly ask: AskedNode["ask"]; readonly signal: Signal };

/**
 * A thread ends between two steps of its program. If it does not end in this time, native code holds it, and perhaps
 * the store's lock; in milliseconds.
 */
const ENDING_MS = 5_000;
/**
 * LMDB's error for an environment whose writer died in the middle of a write: only another process can open it again.
 */
const PANIC = -30_795;
/** The most memory for short-lived garbage, in MiB: three halves, of which one is in use. More made nothing faster. */
const YOUNG_MIB = 24;

const GONE = {
  kind: "failed",
  why: "the thread that writes has ended",
  code: "",
} satisfies ThreadResult;
/** The code of errors when a gateway ends before it was started: nobody need be told of them. */
export const CALLED_OFF = "CALLED_OFF";

export class WriterThread {
  #worker: Worker | undefined;
  /** Messages that wait for the start; undefined after it. */
  #unsent: { readonly message: ToThread; readonly transferred: ArrayBuffer[] }[] | undefined = [];
  #isClosed = false;
  readonly #restarts = new Restarts();
  #lastStore = 0;
  /** By their numbers. A store keeps its number when another thread takes over. */
  readonly #stores = new Map<number, OpenStore>();
  readonly #replies = new PendingReplies<ThreadResult>();
  /** For each block that is being taken. */
  readonly #asking = new Map<number, Asking>();
  readonly #options: WriterThreadOptions;
  readonly #parts: WriterThreadParts;

  constructor(options: WriterThreadOptions, parts: WriterThreadParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** @param store.onBegunAgain Is called when another thread has opened it. @returns Its number. */
  open(store: OpenStore): number {
    this.#lastStore += 1;
    const number = this.#lastStore;
    this.#stores.set(number, store);
    if (this.#worker) this.#openIn(number);
    else if (!this.#unsent && !this.#isClosed) this.#begin();
    return number;
  }

  /** Begins the thread, and sends what waited. A gateway listens sooner when it does not begin two threads at once. */
  start(): void {
    const unsent = this.#unsent ?? [];
    this.#unsent = undefined;
    if (this.#stores.size > 0) this.#begin();
    for (const { message, transferred } of unsent) this.#post(message, transferred);
  }

  /** Nobody needs the store's number any more. */
  forgetStore(store: number): void {
    this.#stores.delete(store);
  }

  /** @throws NotWritable; Error when it fails, or the thread ends before it is done. */
  async request(
    store: number,
    call: ThreadCall,
    transferred: ArrayBuffer[] = [],
  ): Promise<unknown> {
    return this.#request(store, call, transferred).result;
  }

  /** @returns The number by which the thread holds the block. @throws As `request`. */
  take(
    store: number,
    call: TakeCall,
    asking: Asking,
  ): { readonly id: number; readonly result: Promise<unknown> } {
    const { id, result } = this.#request(store, call);
    this.#asking.set(id, asking);
    return { id, result: result.finally(() => this.#asking.delete(id)) };
  }

  /** Nobody wants the block that was taken. */
  forget(id: number): void {
    this.#post({ kind: "forget", id });
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
    await this.#worker?.terminate();
  }

  #request(
    store: number,
    call: ThreadCall,
    transferred: ArrayBuffer[] = [],
  ): { readonly id: number; readonly result: Promise<unknown> } {
    const { id, reply } = this.#replies.begin();
    if (this.#worker || this.#unsent) this.#post({ kind: "call", id, store, call }, transferred);
    else this.#replies.settle(id, GONE);
    const unwrap = (settled: ThreadResult): unknown => {
      if (settled.kind === "done") return settled.value;
      throw this.#errorOf(settled);
    };
    return { id, result: reply.then(unwrap) };
  }

  #errorOf(failure: Exclude<ThreadResult, { kind: "done" }>): Error {
    if (failure.kind === "not writable") return new NotWritable(failure.why);
    if (failure.code === PANIC) this.#giveUp("the store was left locked by a thread that ended");
    return Object.assign(new Error(failure.why), { code: failure.code });
  }

  #post(message: ToThread, transferred: ArrayBuffer[] = []): void {
    if (this.#unsent) this.#unsent.push({ message, transferred });
    else this.#worker?.postMessage(message, transferred);
  }

  #begin(): void {
    const { clock, log, onEnd, silenceMs } = this.#parts;
    const startedAt = clock.now();
    const beats = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    const { program = PROGRAM, heapMib } = this.#options;
    const worker = new Worker(program, {
      workerData: { beats } satisfies ThreadStart,
      resourceLimits: {
        maxYoungGenerationSizeMb: YOUNG_MIB,
        ...(heapMib && { maxOldGenerationSizeMb: heapMib }),
      },
    });
    this.#worker = worker;
    worker.unref(); // the thread alone does not keep the process alive
    const counter = new Int32Array(beats);
    let cancelGivingUp = (): void => undefined;
    const heartbeat = new Heartbeat({
      clock,
      silenceMs,
      takeBeats: () => Atomics.exchange(counter, 0, 0),
      onHang: (silentMs) => {
        log.error({ silentMs }, "the thread that writes hangs: ended");
        const why = "the thread that writes cannot be ended";
        cancelGivingUp = clock.after(ENDING_MS, () => this.#giveUp(why));
        void worker.terminate();
      },
    });
    worker.on("message", (message: FromThread) => this.#hear(message));
    worker.on("error", (error) => log.error({ err: error }, "the thread that writes failed"));
    worker.once("exit", () => {
      heartbeat.stop();
      cancelGivingUp();
      this.#worker = undefined;
      this.#replies.settleAll(GONE);
      if (this.#isClosed) return;
      onEnd(heartbeat.hasHung ? "hung" : "ended");
      const restMs = this.#restarts.restMs(clock.now() - startedAt);
      log.warn({ restMs }, "the thread that writes ended: starting it again");
      clock.after(restMs, () => this.#beginAgain());
    });
    for (const number of this.#stores.keys()) this.#openIn(number);
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

  #hear(message: FromThread): void {
    if (message.kind === "answer") this.#replies.settle(message.id, message.result);
    else void this.#ask(message);
  }

  async #ask({ id, ask: number, method, paramsJson, maxBytes }: Asked): Promise<void> {
    const { ask, signal } = this.#asking.get(id) ?? {};
    const worker = this.#worker;
    const reply: Reply =
      ask && signal
        ? await ask(method, paramsJson, signal, { purpose: "follow", maxBytes }).catch(failed)
        : { kind: "aborted" };
    const json = reply.kind === "result" ? sendable(reply.json) : undefined;
    // The thread has been replaced: the new one did not ask this.
    if (this.#worker !== worker) return;
    this.#post(
      { kind: "reply", ask: number, reply: json ? { kind: "result", json } : reply },
      json && [json.buffer as ArrayBuffer],
    );
  }
}

const failed = (error: unknown): Reply => ({ kind: "failed", reason: String(error) });

/** A reply of at least this size is transferred if its memory holds nothing else; a smaller one is copied, in bytes. */
const LARGE = 2 ** 20;
/** The bytes around the result of one call, at most. */
const AROUND = 64;
const BRACE = 0x7b;

/** The bytes in memory that can be transferred to another thread. */
function sendable(json: Buffer): Buffer {
  const whole = new Uint8Array(json.buffer);
  // The answer to several calls is an array, and its memory holds other results.
  const isAlone = whole[0] === BRACE && whole.length - json.length <= AROUND;
  return json.length >= LARGE && isAlone ? json : Buffer.from(Uint8Array.from(json).buffer);
}

/** The program stands beside this code, bundled or not. */
const PROGRAM = ((here) => {
  const bundled = join(here, "thread-main.mjs");
  return existsSync(bundled) ? bundled : join(here, "thread-main.ts");
})(dirname(import.meta.filename));
