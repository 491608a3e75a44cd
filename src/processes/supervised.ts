// One place among the processes: a child that is started, and started again when it ends without being told to.
import type { ChildProcess } from "node:child_process";
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";
import type { FromChild, Reply, Request, Start, ToChild } from "./messages.ts";

export type SupervisedParts = {
  /** A new process, which hears and tells messages. */
  readonly fork: () => ChildProcess;
  /** The first message of each process that takes this place. */
  readonly start: () => Start;
  /** What a child tells that is not for the supervisor itself. */
  readonly onMessage: (message: FromChild) => void;
  /** It is no more, whatever the reason. */
  readonly onEnd: () => void;
  readonly clock: Clock;
  readonly log: Logger;
};

/** It cannot begin; the message says why. */
export class ChildFailed extends Error {
  override readonly name = "ChildFailed";
}

/** Who lived so long is started again at once, in milliseconds. */
const STEADY_AFTER_MS = 5_000;
const FIRST_REST_MS = 100;
/** Who signals a group of processes reaches all of them within so many milliseconds. */
const SIGNALS_TOGETHER_MS = 500;
const LONGEST_REST_MS = 5_000;

export class Supervised {
  readonly name: string;
  #child: ChildProcess | undefined;
  /** Times in a row that it ended soon. */
  #shortLives = 0;
  #isStopping = false;
  #hasBeenReady = false;
  /** Why the last one could not begin. */
  #failure: string | undefined;
  #lastId = 0;
  readonly #waiting = new Map<number, (reply: Reply) => void>();
  readonly #firstReady = Promise.withResolvers<void>();
  readonly #ended = Promise.withResolvers<void>();
  readonly #stopping = new AbortController();
  readonly #parts: SupervisedParts;

  constructor(options: { readonly name: string }, parts: SupervisedParts) {
    this.name = options.name;
    this.#parts = parts;
    this.#firstReady.promise.catch(() => undefined); // whoever started it hears of it
  }

  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Resolves when the first process is ready. @throws ChildFailed */
  start(): Promise<void> {
    void this.#run();
    return this.#firstReady.promise;
  }

  send(message: ToChild): void {
    const child = this.#child;
    if (child?.connected) child.send(message, () => undefined); // who is gone is noticed elsewhere
  }

  /** @throws When it says no, ends before it answers, or takes too long. */
  request(request: Request, withinMs: number): Promise<unknown> {
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      const settle = (reply: Reply): void => {
        cancel();
        this.#waiting.delete(id);
        if (reply.kind === "done") resolve(reply.value);
        else reject(new ChildFailed(`${this.name}: ${reply.why}`));
      };
      const tooLate = (): void => settle({ kind: "failed", why: "it does not answer" });
      const cancel = this.#parts.clock.after(withinMs, tooLate);
      this.#waiting.set(id, settle);
      if (this.#child) this.send({ kind: "request", id, request });
      else settle(NOT_THERE);
    });
  }

  /** Tells it to end what it does, and resolves when it is gone: at the latest after `withinMs`. */
  async stop(withinMs: number): Promise<void> {
    const { clock, log } = this.#parts;
    this.#isStopping = true;
    this.#stopping.abort();
    this.send({ kind: "stop" });
    if (!this.#child) this.#ended.resolve();
    const cancel = clock.after(withinMs, () => {
      log.warn(
        { child: this.name, pid: this.pid },
        "a process did not end within its time: killed",
      );
      this.kill();
    });
    await this.#ended.promise;
    cancel();
  }

  /** Ends it at once. */
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
      onEnd();
      if (this.#isStopping) break;
      if (!this.#hasBeenReady) {
        const why = this.#failure ?? `${this.name} ended at its start`;
        return this.#firstReady.reject(new ChildFailed(why));
      }
      const restMs = this.#restMs(clock.now() - startedAt);
      const child = this.name;
      log.warn(
        { child, pid, ...how, why: this.#failure, restMs },
        "a process ended: starting it again",
      );
      if (restMs > 0) await clock.sleep(restMs, this.#stopping.signal).catch(() => undefined);
    }
    this.#ended.resolve();
  }

  /** One process, from its beginning to its end. */
  #live(): Promise<{ pid: number | undefined; code: number | null; signal: string | null }> {
    const child = this.#parts.fork();
    this.#child = child;
    this.#failure = undefined;
    child.on("message", (message) => this.#hear(message as FromChild));
    child.send({ kind: "start", ...this.#parts.start() } satisfies ToChild, () => undefined);
    return new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        this.#child = undefined;
        for (const settle of [...this.#waiting.values()]) settle(NOT_THERE);
        resolve({ pid: child.pid, code, signal });
      });
      child.once("error", () => undefined); // it could not be started: `exit` may not come
    });
  }

  #hear(message: FromChild): void {
    if (message.kind === "ready") {
      this.#hasBeenReady = true;
      this.#firstReady.resolve();
    } else if (message.kind === "failed") this.#failure = message.why;
    else if (message.kind === "told to end") this.#endAlone();
    else if (message.kind === "reply") this.#waiting.get(message.id)?.(message.reply);
    else this.#parts.onMessage(message);
  }

  /** It was signalled; when that was not for the whole gateway, it ends in order, and another takes its place. */
  #endAlone(): void {
    const child = this.#child;
    this.#parts.clock.after(SIGNALS_TOGETHER_MS, () => {
      if (!this.#isStopping && this.#child === child) this.send({ kind: "stop" });
    });
  }

  /** At once the first time; longer and longer for who dies again and again. */
  #restMs(livedMs: number): number {
    this.#shortLives = livedMs < STEADY_AFTER_MS ? this.#shortLives + 1 : 0;
    if (this.#shortLives <= 1) return 0;
    return Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** (this.#shortLives - 2));
  }
}

const NOT_THERE: Reply = { kind: "failed", why: "it is not there" };
