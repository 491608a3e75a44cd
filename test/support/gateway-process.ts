// The real gateway as a child process, for whole-system tests: started with a configuration, observed through its log,
// stopped at the end.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { until } from "./processes.ts";

type LogLine = Readonly<Record<string, unknown>> & { msg?: string; level?: number };

export type RunningGateway = {
  /** `http://127.0.0.1:<port>` */
  readonly url: string;
  readonly metricsUrl: string;
  readonly configPath: string;
  readonly process: ChildProcess;
  readonly log: readonly LogLine[];
  /** The URL for calls to a network with a key. */
  endpoint(network: string, key?: string): string;
  /** Writes another configuration without a signal. */
  write(settings: GatewaySettings | string): Promise<void>;
  /** Writes another configuration and sends SIGHUP; returns the log lines about it. A text is written as it is. */
  reload(settings: GatewaySettings | string): Promise<readonly LogLine[]>;
  /** Sends SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>;
};

/** A test's settings; `withDefaults` adds ports, a key and the log level. */
export type GatewaySettings = Readonly<Record<string, unknown>> & { readonly networks: object };

const KEY = "test-key";

/** The logs of the gateways of the present test file, in the order of their starts (failed-logs.ts). */
export const startedLogs: (readonly LogLine[])[] = [];

/** Starts the gateway and waits until it listens. It takes free ports, and there is a key `test-key`. */
export async function startGatewayProcess(
  settings: GatewaySettings,
  environment: NodeJS.ProcessEnv = {},
): Promise<RunningGateway> {
  const folder = await mkdtemp(join(tmpdir(), "headgate-test-"));
  const configPath = join(folder, "headgate.yaml");
  const write = (written: GatewaySettings | string): Promise<void> =>
    writeFile(
      configPath,
      typeof written === "string"
        ? written
        : JSON.stringify({ data: join(folder, "data"), ...withDefaults(written) }),
    );
  await write(settings);
  const child = runMain(["--config", configPath], environment);
  const log = collectLog(child);
  startedLogs.push(log);
  const ended = once(child, "exit");
  const listening = await until("the gateway listens", async () => {
    if (child.exitCode !== null) throw new Error(`the gateway ended: ${JSON.stringify(log)}`);
    return log.find(({ msg }) => msg === "listening");
  });
  const url = String(listening["server"]);
  return {
    url,
    metricsUrl: `${listening["admin"]}/metrics`,
    configPath,
    process: child,
    log,
    endpoint: (network, key = KEY) => `${url}/${network}/v1/${key}`,
    write,
    reload: async (changed) => {
      await write(changed);
      const from = log.length;
      child.kill("SIGHUP");
      await until("the configuration is read again", async () =>
        log.slice(from).some(({ msg }) => /^configuration (not )?reloaded/.test(msg ?? "")),
      );
      return log.slice(from).filter(({ msg }) => msg?.startsWith("configuration "));
    },
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) child.kill("SIGTERM");
      const [code] = (await ended) as [number | null];
      await rm(folder, { recursive: true, force: true });
      return code;
    },
  };
}

/** Runs a command line to its end. */
export async function runCommand(
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = runMain(args, environment);
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk) => {
    stdout += chunk;
  });
  child.stderr?.on("data", (chunk) => {
    stderr += chunk;
  });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout, stderr };
}

/** The heap options of `npm start`. */
export const HEAP = ["--max-semi-space-size=16", "--concurrent-marking-max-worker-num=1"];
const ALLOCATION = { MALLOC_MMAP_THRESHOLD_: "262144", MALLOC_TRIM_THRESHOLD_: "262144" };

const runMain = (args: readonly string[], environment: NodeJS.ProcessEnv = {}): ChildProcess =>
  spawn(process.execPath, [...HEAP, "bin/headgate.mjs", ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...ALLOCATION, ...environment },
  });

const withDefaults = (settings: GatewaySettings): object => ({
  listen: { port: 0 },
  admin: { listen: { port: 0 } },
  keys: [{ name: "test", key: KEY }],
  log: { level: "debug" },
  ...settings,
  // Tests have no load balancer: a gateway that was asked for its readiness would wait for one at its end.
  timeouts: { leave: "1ms", ...(settings["timeouts"] as object | undefined) },
  networks: Object.fromEntries(
    Object.entries(settings.networks).map(([name, network]) => [name, unprobed(network)]),
  ),
});

/** Turns probes off unless a test wants them: tests count calls to nodes, or delay their answers. */
function unprobed(network: { upstreams?: unknown }): object {
  const { upstreams } = network;
  if (!Array.isArray(upstreams)) return network;
  const isWhole = (upstream: unknown): upstream is object => typeof upstream === "object";
  return {
    ...network,
    upstreams: upstreams.map((each) => (isWhole(each) ? { probe: false, ...each } : each)),
  };
}

/** Collects lines as they come; a line that is no JSON becomes a message. */
function collectLog(child: ChildProcess): LogLine[] {
  const lines: LogLine[] = [];
  const read = (text: string): void => {
    try {
      lines.push(JSON.parse(text));
    } catch {
      lines.push({ msg: text });
    }
  };
  for (const stream of [child.stdout, child.stderr]) {
    if (stream) createInterface({ input: stream }).on("line", read);
  }
  return lines;
}
