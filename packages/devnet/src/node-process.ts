// A development node as a child process: its command on this platform, if there is one, a free port, and its
// supervision: the supervisor restarts a node that dies, and leaves no process behind.
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
  /** The folder for all files of the node, also temporary ones; the guard removes it when this process was killed. */
  readonly temporaryFolder?: string | undefined;
};

const require = createRequire(import.meta.url);
const ARCHITECTURES: Readonly<Record<string, string | undefined>> = {
  x64: "amd64",
  arm64: "arm64",
};

type AnvilOptions = {
  readonly port: number;
  readonly chainId: number;
  /** The folder for the states of old blocks. Left out, anvil keeps the states of 256 blocks, in memory. */
  readonly folder?: string;
};

/** The states of more than a day's blocks. Each is a full copy, which `kept-states.ts` shortens. */
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
    "--steps-tracing", // without this debug_traceTransaction has no struct logs
    states === undefined
      ? ["--prune-history", 256] // without this anvil fills ~/.foundry with the states of old blocks
      : ["--cache-path", states, "--max-persisted-states", STATES_ON_DISK],
    "--quiet",
  ];
  return {
    file: join(folder, "bin", "anvil"),
    args: args.flat().map(String),
    temporaryFolder: states,
  };
}

/** The command that runs conflux-rust, or undefined when there is none for this platform. */
export function confluxCommand(settings: object): Command | undefined {
  const libc = process.platform === "linux" ? "-gnu" : "";
  const packages = ["@xcfx/node", `@xcfx/node-${process.platform}-${process.arch}${libc}`];
  if (!packages.every(folderOf)) return undefined;
  return { file: process.execPath, args: [CONFLUX_PROCESS, JSON.stringify(settings)] };
}

/** The program stands beside this module, in the bundle too. */
const CONFLUX_PROCESS = ["conflux-process.mjs", "conflux-process.ts"]
  .map((name) => join(import.meta.dirname, name))
  .find(existsSync) as string;

/** The folder of an installed package; always undefined on Windows: the guard around the nodes is a POSIX shell. */
function folderOf(packageName: string): string | undefined {
  if (process.platform === "win32") return undefined;
  const places = require.resolve.paths(packageName) ?? [];
  return places.map((place) => join(place, packageName)).find((path) => existsSync(path));
}

/** One free port on the loopback interface for each name. All ports are held until all are known, so that they differ. */
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
 * A shell script that holds this process's pipe on descriptor 3. When this process is gone, `cat` sees the pipe's end
 * and the script kills the node: a signal handler in this process would not run at kill -9.
 */
const GUARD = `
exec 3<&0
export RUST_BACKTRACE=0
temporary=$1; shift
[ -z "$temporary" ] || export TMPDIR="$temporary" # conflux-rust leaves 160 MB in a temporary folder when it is killed
"$@" 3<&- </dev/null & node=$!
exec 2>/dev/null # else the last words are the shell's: "Killed"
(cat <&3; kill -9 $node; [ -z "$temporary" ] || { sleep 1; rm -rf "$temporary"; }) >/dev/null &
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
  /** Settles when both the guard and the node are gone: the last of the two closes stderr. */
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
    guard.stdin.on("error", () => undefined); // only the end of the pipe matters
    guard.once("error", (error) => this.#log.error({ node: this.#name }, error.message));
    guard.once("exit", () => {
      if (!this.#stopping.signal.aborted) this.#signalAll("SIGKILL"); // ends at least the guard's `cat`
    });
    guard.once("close", (code, signal) => {
      void this.#restart({ code: code ?? signal, lastWords: lastLineOf(tail) });
    });
    this.#guard = guard;
    this.#closed = new Promise((resolve) => guard.once("close", resolve));
    this.#startedAt = this.#clock.now();
  }

  /** The time since the node's last start. */
  ageMs(): number {
    return this.#clock.now() - this.#startedAt;
  }

  /** Resolves when the node is gone: SIGTERM first, SIGKILL after the grace period. */
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

  /** Signals the guard, its `cat` and the node, which are one process group. */
  #signalAll(name: "SIGTERM" | "SIGKILL"): void {
    const pid = this.#guard?.pid;
    if (pid === undefined) return;
    try {
      process.kill(-pid, name);
    } catch {
      // No process of the group is left, which is the aim.
    }
  }
}

const spawnGuard = ({ file, args, temporaryFolder = "" }: Command): Guard =>
  spawn("sh", ["-c", GUARD, "guard", temporaryFolder, file, ...args], {
    stdio: ["pipe", "ignore", "pipe"],
    detached: true, // a process group of its own: this process passes on Ctrl-C of the terminal, in order
  });

/** Each death in a row doubles the pause; a node that ran for longer than STABLE_AFTER_MS had recovered. */
export const nextPauseMs = (death: { previousMs: number; ranMs: number }): number =>
  death.ranMs > STABLE_AFTER_MS
    ? FIRST_PAUSE_MS
    : Math.min(Math.max(FIRST_PAUSE_MS, 2 * death.previousMs), LONGEST_PAUSE_MS);

/** The last line that a node wrote, without Rust's advice on backtraces; at most 300 characters. */
export function lastLineOf(text: string): string {
  const lines = text.split("\n").map((line) => line.trim());
  return lines.findLast((line) => line !== "" && !line.startsWith("note:"))?.slice(0, 300) ?? "";
}
