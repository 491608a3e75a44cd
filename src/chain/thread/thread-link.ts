// One thread of the program `thread-main.ts`, seen from the thread that answers callers: what it is asked and answers, its
// questions to nodes, and whether it lives.
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { Worker } from "node:worker_threads";
import type { Logger } from "pino";
import type { Signal } from "../../lib/cancellation.ts";
import type { Clock } from "../../lib/clock.ts";
import { Heartbeat, type PendingReplies } from "../../lib/waiting.ts";
import type { Reply } from "../../upstream/reply.ts";
import type { AskedNode } from "../dialect.ts";
import type { Asked, FromThread, ThreadResult, ThreadStart, ToThread } from "./messages.ts";

export type ThreadLinkOptions = {
  /** As the log calls it. */
  readonly name: string;
  /** Whether callers and heads go before what the thread does. */
  readonly isSpare: boolean;
  /** Left out: the one beside this file. */
  readonly program?: string | undefined;
  /** The most memory for objects that live long, in MiB; left out: V8's own limit for this machine. */
  readonly heapMib?: number | undefined;
};

export type ThreadLinkParts = {
  /** All are settled when the thread ends. */
  readonly replies: PendingReplies<ThreadResult>;
  /** Is called when the thread has ended, whoever ended it. */
  readonly onEnd: (why: "hung" | "ended") => void;
  /** Is called when the thread cannot be ended. */
  readonly onStuck: (why: string) => void;
  /** How long it may be without a sign of life, in milliseconds. */
  readonly silenceMs: () => number;
  readonly clock: Pick<Clock, "after">;
  readonly log: Pick<Logger, "error">;
};

/** The node from which a block is taken: how it is asked, and until when. */
export type NodeAsking = { readonly ask: AskedNode["ask"]; readonly signal: Signal };

/**
 * A thread ends between two steps of its program. If it does not end in this time, native code holds it, and perhaps
 * the store's lock; in milliseconds.
 */
const ENDING_MS = 5_000;
/**
 * The most memory for short-lived garbage, in MiB: three parts, of which one is in use. A block leaves some 7 MB behind; in half
 * of this room the collector copied what was read of each block once or twice.
 */
const YOUNG_MIB = 48;

export type Sending = {
  readonly message: ToThread;
  readonly transferred?: readonly ArrayBuffer[] | undefined;
  /** Of a call that takes a block: the thread asks the node so until it has answered. */
  readonly asking?: NodeAsking | undefined;
};

export const GONE = {
  kind: "failed",
  why: "the thread that writes has ended",
  code: "",
} satisfies ThreadResult;

export class ThreadLink {
  readonly #worker: Worker;
  /** It raises this number while it lives. */
  readonly #beats: Int32Array;
  #isUp = false;
  #hasEnded = false;
  #underWay = 0;
  #used: ReturnType<Worker["performance"]["eventLoopUtilization"]>;
  /** For each block that is being taken. */
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
        log.error({ silentMs }, `${name} hangs: ended`);
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

  /** How many calls it has not answered. */
  get underWay(): number {
    return this.#underWay;
  }

  /** Whether its program runs, and answers soon. */
  get isUp(): boolean {
    return this.#isUp || Atomics.load(this.#beats, 0) > 0;
  }

  /** @returns For which share of the time since it was taken last the thread was busy. */
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
    // Not by `once` of node:events: a thread that fails ends too, and its error is in the log already.
    await new Promise((resolve) => this.#worker.once("exit", resolve));
  }

  /** V8 aborts the whole process when a thread is interrupted between two of its modules: then it ends itself. */
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
