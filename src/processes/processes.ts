// The child processes of one gateway, a writer and servers, and the messages between them.
import { type ChildProcess, fork } from "node:child_process";
import type { Logger } from "pino";
import type { Config } from "../config/schema.ts";
import type { Clock } from "../lib/clock.ts";
import type { Measured } from "../observe/combined-metrics.ts";
import type { NetworkIncidents } from "../observe/incidents.ts";
import type { UnexpectedKind } from "../observe/metrics.ts";
import type { SlowCall } from "../observe/stories.ts";
import type { HeldTexts } from "../state/held-state.ts";
import type { ChildRole, FromChild, Request, Start } from "./messages.ts";
import { ChildFailed, Supervised } from "./supervised.ts";
import type { News } from "./writer-link.ts";

export type ProcessesOptions = {
  readonly servers: number;
  /** The port on which all servers listen. */
  readonly port: number;
  /** The program, which becomes a child with the argument `child`. */
  readonly program: string;
};

export type ProcessesParts = {
  /** The configuration with which children begin. */
  readonly config: () => Config;
  /** The changes of the state that the supervisor holds and cannot write: children show these changes. */
  readonly held: () => HeldTexts;
  readonly onEnd: (name: string, why: "hung" | "ended") => void;
  /** Called when a child had an unexpected error. */
  readonly onUnexpected: (kind: UnexpectedKind) => void;
  readonly clock: Clock;
  readonly log: Logger;
};

/** The most by which a hanging process delays others, in milliseconds. */
const TIMEOUT_MS = 1_000;
/** The time in which a process must close everything, in milliseconds. */
const CLOSING_MS = 2_000;
/** The timeout of the preparation of networks, and of a commit, in milliseconds. */
const PREPARING_TIMEOUT_MS = 60_000;

/** The pause between the restarts of two servers, in milliseconds. */
const APART_MS = 1_000;

export class Processes {
  readonly #writer: Supervised;
  readonly #servers: readonly Supervised[];
  readonly #news = new Map<string, News>();
  #turn = 0;
  readonly #options: ProcessesOptions;
  readonly #parts: ProcessesParts;

  constructor(options: ProcessesOptions, parts: ProcessesParts) {
    this.#options = options;
    this.#parts = parts;
    this.#writer = this.#place("writer", { kind: "writer" });
    this.#servers = Array.from({ length: options.servers }, (_, index) => {
      const number = index + 1;
      return this.#place(`server ${number}`, { kind: "server", number, port: options.port });
    });
  }

  /** Resolves when all servers listen. @throws ChildFailed */
  async start(): Promise<void> {
    await this.#writer.start();
    await Promise.all(this.#servers.map((server) => server.start()));
  }

  /** Whether any server is ready and sends heartbeats. */
  get isAlive(): boolean {
    return this.#servers.some((server) => server.isServing);
  }

  /**
   * Lets running calls end, and then ends the servers. Until then servers read the stores, so the writer stays.
   * @param withinMs The time in which the calls must end, in milliseconds.
   */
  async stopServers(withinMs: number): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.stop(withinMs + CLOSING_MS)));
  }

  /** Called after `stopServers`. */
  stopWriter(): Promise<void> {
    return this.#writer.stop(CLOSING_MS);
  }

  kill(): void {
    for (const child of this.#all) child.kill();
  }

  /** The metrics of the processes that answer in time. */
  async measure(): Promise<Measured> {
    const answers = this.#all.map(async (child) => {
      const values = await child.request({ what: "measure" }, TIMEOUT_MS);
      return [child.name, values as object[]] as const;
    });
    return new Map(await inTime(answers));
  }

  /** The status of the networks, as the writer sees them. */
  status(): Promise<unknown> {
    return this.#writer.request({ what: "status" }, 3 * TIMEOUT_MS);
  }

  /** The incidents of the processes that answer in time. */
  async incidents(): Promise<readonly NetworkIncidents[]> {
    return (await told<readonly NetworkIncidents[]>(this.#all, { what: "incidents" })).flat();
  }

  /** Makes all processes look at the state. Resolves when the processes that answer in time have done so. */
  async lookAtState(): Promise<void> {
    await told(this.#all, { what: "look at state", held: this.#parts.held() });
  }

  /** The recent slow and failed calls of the servers that answer in time, newest first. */
  async calls(): Promise<readonly SlowCall[]> {
    const calls = await told<readonly SlowCall[]>(this.#servers, { what: "calls" });
    return calls.flat().sort((one, other) => (one.at < other.at ? 1 : -1));
  }

  /** Asks one of the servers that answer, in rotation. @throws ChildFailed */
  async ofServer<Value>(request: Request): Promise<Value> {
    const serving = this.#servers.filter(({ isServing }) => isServing);
    this.#turn += 1;
    const server = serving[this.#turn % serving.length];
    if (!server) throw new ChildFailed("no process answers callers now");
    const withinMs = this.#parts.config().timeouts.callMs + TIMEOUT_MS;
    return (await server.request(request, withinMs)) as Value;
  }

  /**
   * Prepares a configuration, first in the writer, since servers read the stores that the writer makes.
   * @throws ChildFailed; then no process has changed.
   */
  async prepare(config: Config): Promise<void> {
    try {
      const prepare = (child: Supervised): Promise<unknown> =>
        child.request({ what: "prepare", config }, PREPARING_TIMEOUT_MS);
      await prepare(this.#writer);
      await Promise.all(this.#servers.map(prepare));
    } catch (error) {
      await this.cancel();
      throw error;
    }
  }

  async cancel(): Promise<void> {
    await Promise.allSettled(
      this.#all.map((child) => child.request({ what: "cancel" }, PREPARING_TIMEOUT_MS)),
    );
  }

  /** Commits the prepared configuration, first in the servers, so that no server reads a store that the writer closes. */
  async commit(withinMs: number): Promise<void> {
    const commit = (child: Supervised): Promise<unknown> =>
      child
        .request({ what: "commit", withinMs }, PREPARING_TIMEOUT_MS)
        // The child was started meanwhile with the earlier configuration: another child takes its place.
        .catch(() => child.send({ kind: "stop" }));
    await Promise.all(this.#servers.map(commit));
    await commit(this.#writer);
  }

  get #all(): readonly Supervised[] {
    return [this.#writer, ...this.#servers];
  }

  #place(name: string, role: ChildRole): Supervised {
    const { clock, log, config, onEnd, onUnexpected } = this.#parts;
    const start = (): Start => ({
      config: config(),
      role,
      processes: this.#options.servers + 1,
      held: this.#parts.held(),
      news: role.kind === "server" ? [...this.#news.values()] : [],
    });
    return new Supervised(
      { name },
      {
        ...{ start, clock, log },
        onMessage: (message) => {
          if (message.kind === "unexpected") onUnexpected(message.what);
          else if (role.kind === "writer") this.#hearWriter(message);
          else this.#hearServer(message);
        },
        fork: () => forkChild(this.#options.program),
        silenceMs: () => config().timeouts.heartbeatMs,
        onEnd: (why) => {
          if (role.kind === "writer")
            for (const server of this.#servers) server.send({ kind: "writer away" });
          onEnd(name, why);
        },
      },
    );
  }

  #hearWriter(message: FromChild): void {
    if (message.kind === "answer") this.#servers[message.server - 1]?.send(message);
    if (message.kind !== "news") return;
    const { network, news } = message;
    // A writer that has just begun is not live, but its store is as good as before.
    const before = this.#news.get(network)?.news;
    const isLive = news.isLive || before?.isLive === true;
    if (before?.store !== undefined && before.store !== news.store) this.#replaceServers(network);
    this.#news.set(network, { network, news: { ...news, isLive } });
    for (const server of this.#servers) server.send(message);
  }

  /** Replaces the servers, whose store file no process writes any more: one after the other, so that some answer. */
  #replaceServers(network: string): void {
    const { clock, log } = this.#parts;
    log.warn({ network }, "the store was replaced: the processes that read it are started again");
    for (const [index, server] of this.#servers.entries())
      clock.after(index * APART_MS, () => server.send({ kind: "stop" }));
  }

  #hearServer(message: FromChild): void {
    if (message.kind !== "question") return;
    const { server, id } = message;
    if (this.#writer.pid !== undefined) this.#writer.send(message);
    else this.#servers[server - 1]?.send({ kind: "answer", server, id, result: { kind: "away" } });
  }
}

/** The answers of the processes that answer in time. */
const told = async <Value>(asked: readonly Supervised[], request: Request): Promise<Value[]> =>
  (await inTime(asked.map((child) => child.request(request, TIMEOUT_MS)))) as Value[];

/** The values of the promises that do not reject. */
const inTime = async <Value>(asked: readonly Promise<Value>[]): Promise<Value[]> =>
  (await Promise.allSettled(asked)).flatMap((each) =>
    each.status === "fulfilled" ? [each.value] : [],
  );

/** Starts a child, whose log lines go where ours go. `advanced` sends bytes as they are. */
const forkChild = (program: string): ChildProcess =>
  fork(program, ["child"], {
    serialization: "advanced",
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
