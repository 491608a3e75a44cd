// Runs a node as a child process: restarted when it dies, and never left behind.
import { type ChildProcess, spawn } from "node:child_process";
import type { Logger } from "pino";
import type { Clock } from "../lib/clock.ts";

export type Command = { readonly file: string; readonly args: readonly string[] };

/**
 * Holds our pipe on descriptor 3. When we are gone, whichever way, `cat` sees its end and the node is
 * killed: a signal handler of ours would not run at kill -9.
 */
const GUARD = `exec 3<&0; "$@" 3<&- </dev/null & node=$!; (cat <&3 >/dev/null; kill -9 $node 2>/dev/null) & wait $node`;

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
/** A node that ran for so long has recovered: the next pause is a short one again. */
const STABLE_AFTER_MS = 30_000;

export class SupervisedNode {
  #child: ChildProcess | undefined;
  #lastWords = "";
  #pauseMs = FIRST_PAUSE_MS;
  readonly #stopping = new AbortController();
  readonly #name: string;
  readonly #command: Command;
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(options: { name: string; command: Command }, parts: { clock: Clock; log: Logger }) {
    this.#name = options.name;
    this.#command = options.command;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /** Starts the node and keeps it running until stop(). */
  start(): void {
    const startedAt = this.#clock.now();
    const { file, args } = this.#command;
    const child = spawn("sh", ["-c", GUARD, "guard", file, ...args], {
      stdio: ["pipe", "ignore", "pipe"],
      detached: true, // a group of its own: Ctrl-C at the terminal is for us to pass on, in order
    });
    this.#child = child;
    child.stdin?.on("error", () => undefined); // the pipe is only there to end
    child.stderr?.on("data", (chunk: Buffer) => {
      this.#lastWords = chunk.toString().trim().split("\n").at(-1) ?? "";
    });
    child.once("error", (error) => this.#log.error({ node: this.#name }, error.message));
    child.once("exit", (code, signal) => {
      void this.#restart({ code: code ?? signal, ranMs: this.#clock.now() - startedAt });
    });
  }

  stop(): void {
    this.#stopping.abort();
    this.#killGroup();
  }

  async #restart({ code, ranMs }: { code: number | string | null; ranMs: number }): Promise<void> {
    this.#killGroup();
    const { signal } = this.#stopping;
    if (signal.aborted) return;
    if (ranMs > STABLE_AFTER_MS) this.#pauseMs = FIRST_PAUSE_MS;
    const pauseMs = this.#pauseMs;
    this.#pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS);
    const lastWords = this.#lastWords;
    this.#log.warn(
      { node: this.#name, code, lastWords, pauseMs },
      "development node died, restarting",
    );
    await this.#clock.sleep(pauseMs, signal).catch(() => undefined);
    if (!signal.aborted) this.start();
  }

  /** The guard, its `cat` and the node; development nodes have nothing to save. */
  #killGroup(): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, "SIGKILL");
    } catch {
      // Nobody of the group lives any more: what was wanted.
    }
  }
}
