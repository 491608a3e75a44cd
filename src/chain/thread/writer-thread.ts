// The thread that writes, as callers' thread sees it: begun with the first store, and begun again when it ends or hangs.
// What it was asked until then fails, and is asked again by whoever follows the chain.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Logger } from "pino";
import { NotWritable } from "../../disk/writable.ts";
import type { Signal } from "../../lib/cancellation.ts";
import type { Clock } from "../../lib/clock.ts";
import { Restarts } from "../../lib/waiting.ts";
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
  /** Of what lives long, in MiB; left out: as V8 has it for this machine. */
  readonly heapMib?: number;
};

export type WriterThreadParts = {
  /** It is no more, though nobody stopped it. */
  readonly onEnd: (why: "hung" | "ended") => void;
  /** How long it may be without a sign of life, in milliseconds. */
  readonly silenceMs: () => number;
  readonly clock: Pick<Clock, "now" | "after">;
  readonly log: Pick<Logger, "warn" | "error">;
};

type OpenStore = { options: OpenedStore; readonly onBegunAgain: () => void };
type Pending = {
  readonly settle: (result: ThreadResult) => void;
  readonly ask?: AskedNode["ask"];
  readonly signal?: Signal;
};

/** How often its sign of life is looked for, in milliseconds. */
const LOOK_MS = 500;
/** It loads its program. */
const BEGINNING_MS = 20_000;
/** A thread ends between two steps of its program, or never: something native holds it, and perhaps the store's lock. */
const ENDING_MS = 5_000;
/** What LMDB says of an environment whose writer died in the middle: only another process can open it again. */
const PANIC = -30_795;
/** What garbage of short life takes at most, in MiB: three halves, of which one is in use. More made nothing faster. */
const YOUNG_MIB = 24;

const GONE: ThreadResult = { kind: "failed", why: "the thread that writes has ended", code: "" };

export class WriterThread {
  #worker: Worker | undefined;
  /** What was asked before the start. */
  #unsent: { readonly message: ToThread; readonly transferred: ArrayBuffer[] }[] | undefined = [];
  #isClosed = false;
  readonly #restarts = new Restarts();
  #lastId = 0;
  /** The threads' own number; a store that is opened keeps its number when another thread takes over. */
  readonly #stores = new Map<number, OpenStore>();
  readonly #pending = new Map<number, Pending>();
  readonly #options: WriterThreadOptions;
  readonly #parts: WriterThreadParts;

  constructor(options: WriterThreadOptions, parts: WriterThreadParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** @param store.onBegunAgain Another thread has opened it. @returns Its number. */
  open(store: OpenStore): number {
    this.#lastId += 1;
    const number = this.#lastId;
    this.#stores.set(number, store);
    if (this.#worker) this.#openIn(number);
    else if (!this.#unsent && !this.#isClosed) this.#begin();
    return number;
  }

  /** What was asked until now waited: a gateway listens sooner that does not begin two threads at once. */
  start(): void {
    const unsent = this.#unsent ?? [];
    this.#unsent = undefined;
    if (this.#stores.size > 0) this.#begin();
    for (const { message, transferred } of unsent) this.#post(message, transferred);
  }

  /** It needs no number any more. */
  forgetStore(store: number): void {
    this.#stores.delete(store);
  }

  /** @throws NotWritable; Error when it fails, or the thread ends before it is done. */
  async request(
    store: number,
    call: ThreadCall,
    transferred: ArrayBuffer[] = [],
  ): Promise<unknown> {
    return this.#request(store, call, { transferred }).result;
  }

  /** @returns The number under which what is taken is held there. @throws As `request`. */
  take(
    store: number,
    call: TakeCall,
    asking: Pick<Pending, "ask" | "signal">,
  ): { readonly id: number; readonly result: Promise<unknown> } {
    return this.#request(store, call, asking);
  }

  /** Nobody wants what was taken. */
  forget(id: number): void {
    this.#post({ kind: "forget", id });
  }

  /** Before the stores are closed: what waits for a start fails. */
  callOff(): void {
    if (!this.#unsent) return;
    this.#isClosed = true;
    this.#unsent = undefined;
    for (const { settle } of [...this.#pending.values()]) settle(GONE);
  }

  /** After the stores were closed. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#worker?.terminate();
  }

  #request(
    store: number,
    call: ThreadCall,
    { transferred = [], ...asking }: Omit<Pending, "settle"> & { transferred?: ArrayBuffer[] },
  ): { readonly id: number; readonly result: Promise<unknown> } {
    this.#lastId += 1;
    const id = this.#lastId;
    const result = new Promise((resolve, reject) => {
      const settle = (settled: ThreadResult): void => {
        this.#pending.delete(id);
        if (settled.kind === "done") resolve(settled.value);
        else reject(this.#errorOf(settled));
      };
      this.#pending.set(id, { settle, ...asking });
      if (this.#worker || this.#unsent) this.#post({ kind: "call", id, store, call }, transferred);
      else settle(GONE);
    });
    return { id, result };
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
    const { clock, log, onEnd } = this.#parts;
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
    worker.unref(); // the gateway is there for its callers
    const heart = this.#watchHeart(worker, new Int32Array(beats));
    worker.on("message", (message: FromThread) => this.#hear(message));
    worker.on("error", (error) => log.error({ err: error }, "the thread that writes failed"));
    worker.once("exit", () => {
      heart.stop();
      this.#worker = undefined;
      for (const { settle } of [...this.#pending.values()]) settle(GONE);
      if (this.#isClosed) return;
      onEnd(heart.hasHung() ? "hung" : "ended");
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

  /** Looks are counted, not time: while this thread itself stood still, none was due. */
  #watchHeart(worker: Worker, beats: Int32Array) {
    const { clock, log, silenceMs } = this.#parts;
    let seen = 0;
    let missed = -BEGINNING_MS / LOOK_MS;
    let hasHung = false;
    const look = (): void => {
      cancel = clock.after(LOOK_MS, look);
      const beaten = Atomics.load(beats, 0);
      missed = beaten === seen ? missed + 1 : 0;
      seen = beaten;
      if (hasHung || missed * LOOK_MS < silenceMs()) return;
      hasHung = true;
      log.error({ silentMs: missed * LOOK_MS }, "the thread that writes hangs: ended");
      cancel();
      cancel = clock.after(ENDING_MS, () => this.#giveUp("the thread that writes cannot be ended"));
      void worker.terminate();
    };
    let cancel = clock.after(LOOK_MS, look);
    return { stop: () => cancel(), hasHung: () => hasHung };
  }

  /** Nobody expected it: the process is to be replaced, which takes the place of all its threads. */
  #giveUp(why: string): void {
    this.#parts.clock.after(0, () => {
      throw new Error(why);
    });
  }

  #hear(message: FromThread): void {
    if (message.kind === "answer") this.#pending.get(message.id)?.settle(message.result);
    else void this.#ask(message);
  }

  async #ask({ id, ask: number, method, paramsJson, maxBytes }: Asked): Promise<void> {
    const { ask, signal } = this.#pending.get(id) ?? {};
    const worker = this.#worker;
    const reply: Reply =
      ask && signal
        ? await ask(method, paramsJson, signal, { purpose: "follow", maxBytes }).catch(failed)
        : { kind: "aborted" };
    const json = reply.kind === "result" ? sendable(reply.json) : undefined;
    // Another thread has asked nothing.
    if (this.#worker !== worker) return;
    this.#post(
      { kind: "reply", ask: number, reply: json ? { kind: "result", json } : reply },
      json && [json.buffer as ArrayBuffer],
    );
  }
}

const failed = (error: unknown): Reply => ({ kind: "failed", reason: String(error) });

/** From this size on bytes are handed over where they are their memory's only ones; less is copied. */
const LARGE = 2 ** 20;
/** What is around the result of one call. */
const AROUND = 64;
const BRACE = 0x7b;

/** In memory that can be handed to another thread. */
function sendable(json: Buffer): Buffer {
  const whole = new Uint8Array(json.buffer);
  // An answer to several calls is an array.
  const isAlone = whole[0] === BRACE && whole.length - json.length <= AROUND;
  return json.length >= LARGE && isAlone ? json : Buffer.from(Uint8Array.from(json).buffer);
}

/** It stands beside the code that this is in, bundled or not. */
const PROGRAM = ((here) => {
  const bundled = join(here, "thread-main.mjs");
  return existsSync(bundled) ? bundled : join(here, "thread-main.ts");
})(dirname(import.meta.filename));
