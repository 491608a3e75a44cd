// A real Redis in a folder of its own, which a test can kill, suspend and start again on the same port. Tests that
// need one skip with a warning where no redis-server is installed.
import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { freePorts } from "../../packages/devnet/src/node-process.ts";
import { until } from "./processes.ts";

export const hasRedis = spawnSync("redis-server", ["--version"]).status === 0;

if (!hasRedis) console.warn("redis-server is not installed: tests of the shared state are skipped");
if (!hasRedis && process.env["CI"]) throw new Error("these tests need redis-server");

/** Every acknowledged write is on the disk. */
const durable = ['save ""', "appendonly yes", "appendfsync always"];

type Options = {
  readonly port: number;
  readonly folder: string;
  /** Lines of redis.conf; later ones win. */
  readonly settings: readonly string[];
  readonly flags: readonly string[];
};

export class RedisServer {
  readonly port: number;
  readonly #options: Options;
  #process: ChildProcess | undefined;

  constructor(options: Options) {
    this.port = options.port;
    this.#options = options;
  }

  /** `redis://127.0.0.1:<port>` */
  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Starts Redis, also after `kill`, with all acknowledged writes; resolves when it answers. */
  async start(): Promise<void> {
    const { folder, settings, flags } = this.#options;
    const path = join(folder, "redis.conf");
    const own = [`port ${this.port}`, "bind 127.0.0.1", `dir ${folder}`];
    await writeFile(path, [...own, ...settings, ""].join("\n"));
    this.#process = spawn("redis-server", [path, ...flags], { stdio: "ignore" });
    await until("Redis answers", () => this.isUp());
  }

  /** Whether Redis answers; the refusal of a missing password is an answer, too. */
  async isUp(): Promise<boolean> {
    const answer = await this.command("ping").catch(() => "");
    return /PONG|NOAUTH/.test(answer);
  }

  /** The output of a command of redis-cli. */
  async command(...words: readonly string[]): Promise<string> {
    const { stdout } = await promisify(execFile)("redis-cli", ["-p", `${this.port}`, ...words]);
    return stdout.trim();
  }

  /** Sends SIGKILL, so that nothing more is written. */
  async kill(): Promise<void> {
    const running = this.#process;
    if (!running || running.exitCode !== null || running.signalCode !== null) return;
    const ended = once(running, "exit");
    running.kill("SIGKILL");
    await ended;
  }

  /** Suspends the process: it keeps its connections and answers nothing. */
  pause(): void {
    this.#process?.kill("SIGSTOP");
  }

  resume(): void {
    this.#process?.kill("SIGCONT");
  }

  async close(): Promise<void> {
    await this.kill();
    await rm(this.#options.folder, { recursive: true, force: true });
  }
}

/** @param settings Further lines of redis.conf. */
export async function startRedis(...settings: readonly string[]): Promise<RedisServer> {
  const server = await newRedis({ settings });
  await server.start();
  return server;
}

/** A Redis that has a port but is not started yet. */
export async function newRedis(
  options: Partial<Pick<Options, "settings">> = {},
): Promise<RedisServer> {
  return create({ settings: [...durable, ...(options.settings ?? [])], flags: [] });
}

/** Starts a single Sentinel over the master and its replicas, which have a password. */
export async function startSentinel(
  name: string,
  master: RedisServer,
  password: string,
): Promise<RedisServer> {
  const settings = [
    `sentinel monitor ${name} 127.0.0.1 ${master.port} 1`,
    `sentinel auth-pass ${name} ${password}`,
    `sentinel down-after-milliseconds ${name} 500`,
    `sentinel failover-timeout ${name} 3000`,
  ];
  const sentinel = await create({ settings, flags: ["--sentinel"] });
  await sentinel.start();
  return sentinel;
}

/** Starts three nodes, each with a third of the slots. */
export async function startCluster(): Promise<RedisServer[]> {
  const buses = Object.values(await freePorts("one", "two", "three"));
  const nodes = await Promise.all(buses.map((bus) => startRedis(...clusterSettings(bus))));
  const ranges = ["0 5460", "5461 10922", "10923 16383"];
  for (const [index, node] of nodes.entries()) {
    await node.command("cluster", "addslotsrange", ...(ranges[index]?.split(" ") ?? []));
    await nodes[0]?.command("cluster", "meet", "127.0.0.1", `${node.port}`, `${buses[index]}`);
  }
  await until("the cluster is whole", () =>
    Promise.all(nodes.map(isWhole)).then((all) => all.every(Boolean)),
  );
  return nodes;
}

const clusterSettings = (bus: number): string[] => [
  "cluster-enabled yes",
  `cluster-port ${bus}`,
  "cluster-node-timeout 1000",
];

async function isWhole(node: RedisServer): Promise<boolean> {
  const text = await node.command("cluster", "info");
  return text.includes("cluster_state:ok") && text.includes("cluster_known_nodes:3");
}

async function create(options: Pick<Options, "settings" | "flags">): Promise<RedisServer> {
  const { port } = await freePorts("port");
  const folder = await mkdtemp(join(tmpdir(), "headgate-redis-"));
  return new RedisServer({ port, folder, ...options });
}
