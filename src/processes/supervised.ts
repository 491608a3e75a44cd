// Keeps one child process running: starts the child, and starts it again when it ends although it was not told to.
import type { ChildProcess } from "node:child_process";
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import { Heartbeat, PendingReplies, RestartBackoff } from "../lib/waiting.ts";
import type { ChildReply, FromChild, Request, Start, ToChild } from "./messages.ts";

export type SupervisedParts = {
  /** Starts a new process with a channel for messages. */
  readonly fork: () => ChildProcess;
  /** The first message to each process that takes this place. */
  readonly start: () => Start;
  /** Gets messages of the child that are not for the supervisor itself. */
  readonly onMessage: (message: FromChild) => void;
  /** Called when the process has ended. @param why `hung`: the process hung, and was killed; otherwise `ended`. */
  readonly onEnd: (why: "hung" | "ended") => void;
  /** The longest time without a heartbeat, in milliseconds. */
  readonly silenceMs: () => number;
  readonly clock: Clock;
  readonly log: Logger;
};

/** The error of a child that cannot begin, or cannot do a request; the message says why. */
export class ChildFailed extends Error {
  override readonly name = "ChildFailed";
}

type Ending = {
  readonly pid: number | undefined;
  readonly code: number | null;
  readonly signal: string | null;
};

/** A signal to a group of processes reaches all of them within this time, in milliseconds. */
const SIGNALS_TOGETHER_MS = 500;

export class Supervised {
  readonly name: string;
  #child: ChildProcess | undefined;
  readonly #restarts = new RestartBackoff();
  #isStopping = false;
  #hasBeenReady = false;
  /** Whether the present process is ready. */
  #isReady = false;
  /** The reason why the last process could not begin. */
  #failure: string | undefined;
  #heartbeat: Heartbeat | undefined;
  readonly #replies = new PendingReplies<ChildReply>();
  readonly #firstReady = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #stopping = new AbortController();
  readonly #parts: SupervisedParts;

  constructor(options: { readonly name: string }, parts: SupervisedParts) {
    this.name = options.name;
    this.#parts = parts;
    this.#firstReady.promise.catch(() => undefined); // the caller of `start` gets the rejection
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Whether the present process is ready, and sent a heartbeat lately. */
  get isServing(): boolean {
    return this.#isReady && this.#heartbeat?.isAlive === true;
  }

  /** Resolves when the first process is ready. @throws ChildFailed */
  start(): Promise<void> {
    void this.#run();
    return this.#firstReady.promise;
  }

  send(message: ToChild): void {
    const child = this.#child;
    if (child?.connected) child.send(message, () => undefined); // `#live` notices the end of a child
  }

  /** Asks the child. @throws ChildFailed when the child refuses, ends before it answers, or takes too long. */
  async request(request: Request, withinMs: number): Promise<unknown> {
    const { clock } = this.#parts;
    const { id, reply } = this.#replies.begin({ ms: withinMs, reply: NO_REPLY, clock });
    if (this.#child) this.send({ kind: "request", id, request });
    else this.#replies.settle(id, NOT_THERE);
    const settled = await reply;
    if (settled.kind === "done") return settled.value;
    throw new ChildFailed(`${this.name}: ${settled.why}`);
  }

  /** Tells the child to end, kills the child after `withinMs` milliseconds, and resolves when it is gone. */
  async stop(withinMs: number): Promise<void> {
    const { clock, log } = this.#parts;
    this.#isStopping = true;
    this.#stopping.abort();
    this.send({ kind: "stop" });
    if (!this.#child) this.#ended.resolve();
    const cancel = clock.after(withinMs, () => {
      log.warn(
        { child: this.name, pid: this.pid },
        "a process did not end in time, and was killed",
      );
      this.kill();
    });
    await this.#ended.promise;
    cancel();
  }

  /** Kills the child at once. */
  kill(): void {
    this.#isStopping = true;
    this.#stopping.abort();
    this.#child?.kill("SIGKILL");
  }

  async #run(): Promise<void> {
    const { clock, log, onEnd } = this.#parts;
    while (!this.#isStopping) {
      const startedAt = clock.now();
      const { pid, ...how } = await this.#live();
      onEnd(this.#heartbeat?.hasHung ? "hung" : "ended");
      if (this.#isStopping) break;
      if (!this.#hasBeenReady) {
        const why = this.#failure ?? `${this.name} ended at its start`;
        return this.#firstReady.reject(new ChildFailed(why));
      }
      const restMs = this.#restarts.restMs(clock.now() - startedAt);
      const child = this.name;
      log.warn(
        { child, pid, ...how, why: this.#failure, restMs },
        "a process ended, and is started again",
      );
      if (restMs > 0) await clock.sleep(restMs, this.#stopping.signal).catch(() => undefined);
    }
    this.#ended.resolve();
  }

  /** One process, from its beginning to its end. */
  async #live(): Promise<Ending> {
    this.#failure = undefined;
    this.#heartbeat = undefined;
    let child: ChildProcess;
    try {
      child = this.#parts.fork();
    } catch (error) {
      return this.#notStarted((error as Error).message);
    }
    this.#child = child;
    const heartbeat = this.#watch(child);
    this.#heartbeat = heartbeat;
    child.on("message", (message) => this.#hear(message as FromChild));
    this.send({ kind: "start", ...this.#parts.start() });
    const ending = await new Promise<Ending>((resolve) => {
      child.once("exit", (code, signal) => resolve({ pid: child.pid, code, signal }));
      child.on("error", ({ message }) => {
        // Of a process that never was, no `exit` comes; for others the error is that of a message.
        if (child.pid === undefined) resolve(this.#notStarted(message));
      });
    });
    heartbeat.stop();
    this.#child = undefined;
    this.#isReady = false;
    this.#replies.settleAll(NOT_THERE);
    return ending;
  }

  #notStarted(why: string): Ending {
    this.#failure = `the system did not start it: ${why}`;
    return { pid: undefined, code: null, signal: null };
  }

  /** Kills the child when no heartbeat comes for too long. */
  #watch(child: ChildProcess): Heartbeat {
    const { clock, log, silenceMs } = this.#parts;
    const onHang = (silentMs: number): void => {
      log.error({ child: this.name, pid: child.pid, silentMs }, "a process hung, and was killed");
      child.kill("SIGKILL");
    };
    return new Heartbeat({ clock, silenceMs, onHang });
  }

  #hear(message: FromChild): void {
    this.#heartbeat?.beat();
    if (message.kind === "alive") return;
    if (message.kind === "ready") {
      this.#hasBeenReady = true;
      this.#isReady = true;
      this.#firstReady.resolve();
    } else if (message.kind === "failed") this.#failure = message.why;
    else if (message.kind === "told to end") this.#endAlone();
    else if (message.kind === "reply") this.#replies.settle(message.id, message.reply);
    else this.#parts.onMessage(message);
  }

  /**
   * Called when the child got a signal. If the signal was not for the whole gateway, the child ends in order, and
   * another child takes its place.
   */
  #endAlone(): void {
    const child = this.#child;
    this.#parts.clock.after(SIGNALS_TOGETHER_MS, () => {
      if (!this.#isStopping && this.#child === child) this.send({ kind: "stop" });
    });
  }
}

const NOT_THERE: ChildReply = { kind: "failed", why: "the process does not run" };
const NO_REPLY: ChildReply = { kind: "failed", why: "the process does not answer" };
