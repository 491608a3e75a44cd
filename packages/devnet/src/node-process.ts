// A development node as a child process: the command that runs it, if this machine's platform has one, a port that
// nobody uses, and its supervision: it is restarted when it dies, and never left behind.
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import type { Logger } from "pino";
import type { Clock } from "../../../src/lib/clock.ts";

export type Command = {
  readonly file: string;
  readonly args: readonly string[];
  /** A folder for all that it writes, temporary files too; removed when we are killed and cannot do it ourselves. */
  readonly litter?: string | undefined;
};

const require = createRequire(import.meta.url);
const ARCHITECTURES: Readonly<Record<string, string | undefined>> = {
  x64: "amd64",
  arm64: "arm64",
};

type AnvilOptions = {
  readonly port: number;
  readonly chainId: number;
  /** For the states of old blocks. Left out, those of 256 blocks are in memory, and no others. */
  readonly folder?: string;
};

/** More than a day's blocks. Each state is a copy of all there is, which `kept-states.ts` keeps small. */
const STATES_ON_DISK = 16_000;

/** The command that runs anvil, or undefined when there is none for this platform. */
export function anvilCommand(options: AnvilOptions): Command | undefined {
  const architecture = ARCHITECTURES[process.arch] ?? process.arch;
  const folder = folderOf(`@foundry-rs/anvil-${process.platform}-${architecture}`);
  if (!folder) return undefined;
  const { folder: states } = options;
  const args = [
    ["--port", options.port],
    ["--chain-id", options.chainId],
    "--steps-tracing", // else debug_traceTransaction has no struct logs
    states === undefined
      ? ["--prune-history", 256] // else it fills ~/.foundry with the states of old blocks
      : ["--cache-path", states, "--max-persisted-states", STATES_ON_DISK],
    "--quiet",
  ];
  return { file: join(folder, "bin", "anvil"), args: args.flat().map(String), litter: states };
}

/** The command that runs conflux-rust, or undefined when there is none for this platform. */
export function confluxCommand(settings: object): Command | undefined {
  const libc = process.platform === "linux" ? "-gnu" : "";
  const packages = ["@xcfx/node", `@xcfx/node-${process.platform}-${process.arch}${libc}`];
  if (!packages.every(folderOf)) return undefined;
  return { file: process.execPath, args: [CONFLUX_PROCESS, JSON.stringify(settings)] };
}

/** It stands beside the code that this is in, bundled or not. */
const CONFLUX_PROCESS = ["conflux-process.mjs", "conflux-process.ts"]
  .map((name) => join(import.meta.dirname, name))
  .find(existsSync) as string;

/** Nothing is found on Windows: the guard around the nodes is a POSIX shell. */
function folderOf(packageName: string): string | undefined {
  if (process.platform === "win32") return undefined;
  const places = require.resolve.paths(packageName) ?? [];
  return places.map((place) => join(place, packageName)).find((path) => existsSync(path));
}

/** One port on the loopback interface for each name. All are held until all are known: they differ. */
export async function freePorts<Name extends string>(
  ...names: readonly Name[]
): Promise<Record<Name, number>> {
  const servers = await Promise.all(names.map(listening));
  const ports = names.map((name, index) => [name, portOf(servers[index])] as const);
  await Promise.all(servers.map(closed));
  return Object.fromEntries(ports) as Record<Name, number>;
}

const listening = (): Promise<Server> =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen(0, "127.0.0.1", () => resolve(server));
  });

const closed = (server: Server): Promise<void> =>
  new Promise((resolve) => void server.close(() => resolve()));

function portOf(server: Server | undefined): number {
  const address = server?.address();
  if (!address || typeof address === "string") throw new Error("no port is free");
  return address.port;
}

type Guard = ChildProcessByStdio<Writable, null, Readable>;

/**
 * Holds our pipe on descriptor 3. When we are gone, whichever way, `cat` sees its end and the node is
 * killed: a signal handler of ours would not run at kill -9.
 */
const GUARD = `
exec 3<&0
export RUST_BACKTRACE=0
litter=$1; shift
[ -z "$litter" ] || export TMPDIR="$litter" # conflux-rust leaves 160 MB in a temporary folder when it is killed
"$@" 3<&- </dev/null & node=$!
exec 2>/dev/null # else the last words are the shell's: "Killed"
(cat <&3; kill -9 $node; [ -z "$litter" ] || { sleep 1; rm -rf "$litter"; }) >/dev/null &
trap : TERM # the node hears it too: outlive it, so that it has somebody to wait for it
wait $node; code=$?
kill -0 $node 2>/dev/null && { wait $node; code=$?; }
exit $code`;

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;
const STABLE_AFTER_MS = 30_000;
const GRACE_MS = 3_000;
const KEPT_CHARACTERS = 4_000;

export class SupervisedNode {
  #guard: Guard | undefined;
  /** Settles when neither the guard nor the node lives: the last one to go closes stderr. */
  #closed: Promise<unknown> = Promise.resolve();
  #startedAt = 0;
  #pauseMs = 0;
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
    const guard = spawnGuard(this.#command);
    let tail = "";
    guard.stderr.on("data", (chunk: Buffer) => {
      tail = (tail + chunk.toString()).slice(-KEPT_CHARACTERS);
    });
    guard.stdin.on("error", () => undefined); // the pipe is only there to end
    guard.once("error", (error) => this.#log.error({ node: this.#name }, error.message));
    guard.once("exit", () => {
      if (!this.#stopping.signal.aborted) this.#signalAll("SIGKILL"); // the guard's `cat`, at least
    });
    guard.once("close", (code, signal) => {
      void this.#restart({ code: code ?? signal, lastWords: lastLineOf(tail) });
    });
    this.#guard = guard;
    this.#closed = new Promise((resolve) => guard.once("close", resolve));
    this.#startedAt = this.#clock.now();
  }

  /** How long the node has been running since it was started last. */
  ageMs(): number {
    return this.#clock.now() - this.#startedAt;
  }

  /** Resolves when the node is gone: politely, or after a grace by force. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#signalAll("SIGTERM");
    const cancel = this.#clock.after(GRACE_MS, () => this.#signalAll("SIGKILL"));
    await this.#closed;
    cancel();
  }

  async #restart(death: { code: number | string | null; lastWords: string }): Promise<void> {
    const { signal } = this.#stopping;
    if (signal.aborted) return;
    this.#pauseMs = nextPauseMs({ previousMs: this.#pauseMs, ranMs: this.ageMs() });
    this.#log.warn(
      { node: this.#name, ...death, pauseMs: this.#pauseMs },
      "development node died, restarting",
    );
    await this.#clock.sleep(this.#pauseMs, signal).catch(() => undefined);
    if (!signal.aborted) this.start();
  }

  /** The guard, its `cat` and the node: they are a process group of their own. */
  #signalAll(name: "SIGTERM" | "SIGKILL"): void {
    const pid = this.#guard?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, name);
    } catch {
      // Nobody of the group lives any more: what was wanted.
    }
  }
}

const spawnGuard = ({ file, args, litter = "" }: Command): Guard =>
  spawn("sh", ["-c", GUARD, "guard", litter, file, ...args], {
    stdio: ["pipe", "ignore", "pipe"],
    detached: true, // a group of its own: Ctrl-C at the terminal is for us to pass on, in order
  });

/** Each death in a row doubles the pause; a node that ran for long had recovered. */
export const nextPauseMs = (death: { previousMs: number; ranMs: number }): number =>
  death.ranMs > STABLE_AFTER_MS
    ? FIRST_PAUSE_MS
    : Math.min(Math.max(FIRST_PAUSE_MS, 2 * death.previousMs), LONGEST_PAUSE_MS);

/** What a node said last, without Rust's advice on backtraces. */
export function lastLineOf(text: string): string {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.findLast((line) => line !== "" && !line.startsWith("note:"))?.slice(0, 300) ?? "";
}
