// One thread of the program `thread-main.ts`, as the thread that answers callers sees it: sends calls to the thread,
// makes the thread's calls to nodes, and watches its heartbeat.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Logger } from "pino";
import type { Signal } from "../../lib/cancellation.ts";
import type { Clock } from "../../lib/clock.ts";
import { Heartbeat, type PendingReplies } from "../../lib/waiting.ts";
import type { Reply } from "../../upstream/reply.ts";
import type { AskedUpstream } from "../dialect.ts";
import type { Asked, FromThread, ThreadResult, ThreadStart, ToThread } from "./messages.ts";

export type ThreadLinkOptions = Pick<ThreadStart, "isSpare"> & {
  /** The name of the thread in the log. */
  readonly name: string;
  /** The file of the program; left out: the one beside this file. */
  readonly program?: string | undefined;
  /** The most memory for objects that live long, in MiB; left out: V8's own limit for this machine. */
  readonly heapMib?: number | undefined;
};

export type ThreadLinkParts = {
  /** The calls to the thread; all are settled when the thread ends. */
  readonly replies: PendingReplies<ThreadResult>;
  /** A callback: the thread has ended, for whatever reason. */
  readonly onEnd: (why: "hung" | "ended") => void;
  /** A callback: the thread cannot be ended. */
  readonly onStuck: (why: string) => void;
  /** How long the thread may be without a heartbeat, in milliseconds. */
  readonly silenceMs: () => number;
  readonly clock: Pick<Clock, "after">;
  readonly log: Pick<Logger, "error">;
};

/** How to call the node from which a block is ingested, and the signal that ends these calls. */
export type NodeAsking = { readonly ask: AskedUpstream["ask"]; readonly signal: Signal };

/**
 * A thread ends between two steps of its program. If it does not end within this time, in milliseconds, native code
 * holds the thread, and perhaps the store's lock.
 */
const ENDING_MS = 5_000;
/**
 * The most memory for short-lived objects, in MiB: three parts, of which one is in use. A block leaves some 7 MB of
 * garbage; with half of this memory the collector copied the objects of each block once or twice.
 */
const YOUNG_MIB = 48;

export type Sending = {
  readonly message: ToThread;
  readonly transferred?: readonly ArrayBuffer[] | undefined;
  /** For a call that ingests a block: how the thread's calls reach the node, until the thread has answered. */
  readonly asking?: NodeAsking | undefined;
};

export const GONE = {
  kind: "failed",
  why: "the writer thread has ended",
  code: "",
} satisfies ThreadResult;

export class ThreadLink {
  readonly #worker: Worker;
  /** The thread raises this number while it lives. */
  readonly #beats: Int32Array;
  #isUp = false;
  #hasEnded = false;
  #underWay = 0;
  #used: ReturnType<Worker["performance"]["eventLoopUtilization"]>;
  /** How to call the node, for each block that is being ingested, by the id of the call. */
  readonly #asking = new Map<number, NodeAsking>();
  readonly #parts: ThreadLinkParts;

  constructor(
    { name, isSpare, program = PROGRAM, heapMib }: ThreadLinkOptions,
    parts: ThreadLinkParts,
  ) {
    this.#parts = parts;
    const { clock, log, replies, onEnd, onStuck, silenceMs } = parts;
    const beats = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT);
    const worker = new Worker(program, {
      workerData: { beats, isSpare } satisfies ThreadStart,
      resourceLimits: {
        maxYoungGenerationSizeMb: YOUNG_MIB,
        ...(heapMib && { maxOldGenerationSizeMb: heapMib }),
      },
    });
    this.#worker = worker;
    this.#used = worker.performance.eventLoopUtilization();
    worker.unref(); // the thread alone does not keep the process alive
    this.#beats = new Int32Array(beats);
    let cancelGivingUp = (): void => undefined;
    const heartbeat = new Heartbeat({
      clock,
      silenceMs,
      takeBeats: () => this.#takeBeats(),
      onHang: (silentMs) => {
        log.error({ silentMs }, `${name} hung and was ended`);
        cancelGivingUp = clock.after(ENDING_MS, () => onStuck(`${name} cannot be ended`));
        this.#end();
      },
    });
    worker.on("message", (message: FromThread) => this.#hear(message));
    worker.on("error", (error) => log.error({ err: error }, `${name} failed`));
    worker.once("exit", () => {
      this.#hasEnded = true;
      heartbeat.stop();
      cancelGivingUp();
      replies.settleAll(GONE);
      onEnd(heartbeat.hasHung ? "hung" : "ended");
    });
  }

  /** How many calls the thread has not answered. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Whether the thread's program has begun to run. */
  get isUp(): boolean {
    return this.#isUp || Atomics.load(this.#beats, 0) > 0;
  }

  /** @returns The share of the time since the last call in which the thread was busy. */
  takeUse(): number {
    const { performance } = this.#worker;
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, this.#used);
    this.#used = now;
    return utilization;
  }

  send({ message, transferred = [], asking }: Sending): void {
    if (message.kind === "call") {
      this.#underWay += 1;
      if (asking) this.#asking.set(message.id, asking);
    }
    this.#worker.postMessage(message, transferred);
  }

  async close(): Promise<void> {
    if (this.#hasEnded) return;
    this.#worker.ref();
    this.#end();
    // `once` of node:events would reject when the thread fails. A failed thread ends, too, and its error was logged.
    await new Promise((resolve) => this.#worker.once("exit", resolve));
  }

  /** V8 aborts the process when a thread is terminated between two of its modules: such a thread is told to exit. */
  #end(): void {
    if (this.isUp) void this.#worker.terminate();
    else this.#worker.postMessage({ kind: "end" } satisfies ToThread);
  }

  #takeBeats(): number {
    const beats = Atomics.exchange(this.#beats, 0, 0);
    this.#isUp ||= beats > 0;
    return beats;
  }

  #hear(message: FromThread): void {
    if (message.kind === "ask") return void this.#ask(message);
    this.#underWay -= 1;
    this.#asking.delete(message.id);
    this.#parts.replies.settle(message.id, message.result);
  }

  async #ask({ id, ask: number, method, paramsJson, maxBytes }: Asked): Promise<void> {
    const { ask, signal } = this.#asking.get(id) ?? {};
    const reply: Reply =
      ask && signal
        ? await ask(method, paramsJson, signal, { purpose: "follow", maxBytes }).catch(failed)
        : { kind: "aborted" };
    if (this.#hasEnded) return;
    const json = reply.kind === "result" ? sendable(reply.json) : undefined;
    this.send({
      message: { kind: "reply", ask: number, reply: json ? { kind: "result", json } : reply },
      transferred: json && [json.buffer as ArrayBuffer],
    });
  }
}

const failed = (error: unknown): Reply => ({ kind: "failed", reason: String(error) });

/** A reply of at least this many bytes is transferred, if its memory holds nothing else; a smaller reply is copied. */
const LARGE = 2 ** 20;
/** The most bytes around the result of one call. */
const AROUND = 64;
const BRACE = 0x7b;

/** The bytes of a reply in memory that can be transferred to another thread. */
function sendable(json: Buffer): Buffer {
  const whole = new Uint8Array(json.buffer);
  // The response to several calls is an array, and its memory holds other results.
  const isAlone = whole[0] === BRACE && whole.length - json.length <= AROUND;
  return json.length >= LARGE && isAlone ? json : Buffer.from(Uint8Array.from(json).buffer);
}

/** The program stands beside this code, bundled or not. */
const PROGRAM = ((here) => {
  const bundled = join(here, "thread-main.mjs");
  return existsSync(bundled) ? bundled : join(here, "thread-main.ts");
})(dirname(import.meta.filename));
