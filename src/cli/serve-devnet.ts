// `headgate serve` without a configuration: starts two real development nodes and the gateway over them, and prints the
// URLs, the key and the calls to paste that a new user needs.
import { mkdtemp, rm, rmdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Logger } from "pino";
import manifest from "../../package.json" with { type: "json" };
import type { SampleCall } from "../../packages/devnet/src/activity.ts";
import type { Devnet, DevnetNode, startDevnet } from "../../packages/devnet/src/devnet.ts";
import { parseConfig } from "../config/parse-config.ts";
import type { Config } from "../config/schema.ts";
import { makeFolder } from "../disk/make-folder.ts";
import type { Gateway } from "../gateway.ts";
import { systemClock } from "../lib/clock.ts";
import { type RpcCaller, rpcCaller } from "../upstream/connection/connect.ts";
import { CommandFailure, orMistakes } from "./read-config.ts";

/** Starts the nodes and the gateway over them. @throws CommandFailure when the nodes are not installed. */
export async function serveDevnet({
  log,
  leftPath,
  startOver,
}: {
  readonly log: Logger;
  /** The file in which other commands find the configuration while the gateway runs. */
  readonly leftPath: string;
  readonly startOver: (config: Config) => Promise<Gateway>;
}): Promise<Gateway> {
  const clock = systemClock;
  const connect = (url: string): RpcCaller => rpcCaller(url, { clock });
  const start = await devnetStarter();
  const devnet = await start({ clock, log, connect });
  // Each start makes a new chain, so an old store is useless.
  const data = await mkdtemp(join(tmpdir(), "headgate-devnet-"));
  const end = async (): Promise<void> => {
    await devnet.stop();
    await rm(data, { recursive: true, force: true });
    await rm(leftPath, { force: true });
    await rmdir(dirname(leftPath)).catch(() => undefined); // fails if the folder has other files
  };
  try {
    const text = devnetConfig(devnet, data);
    const gateway = await startOver(orMistakes(parseConfig(text, {})));
    await leave(leftPath, text).catch(() =>
      log.warn("this folder cannot be written: headgate keys will find no configuration in it"),
    );
    announce(devnet, gateway.urls);
    for (const node of devnet.nodes) void printSamples(node, gateway.urls.server, connect);
    return {
      ...gateway,
      stop: async (why) => {
        await gateway.stop(why);
        await end();
      },
    };
  } catch (error) {
    await end();
    throw error;
  }
}

/** The text of the configuration: JSON, which is YAML, so that it passes the usual checks. */
function devnetConfig({ nodes }: Devnet, data: string): string {
  const networks = Object.fromEntries(
    nodes.map(({ network, family, chainId, url }) => [
      network,
      { family, chainId, upstreams: [{ url: pushingUrl(family, url), name: "devnet" }] },
    ]),
  );
  return JSON.stringify({ data, keys: [{ name: "demo", key: "demo" }], networks });
}

/** Leaves the configuration for `headgate keys` until this process ends. */
async function leave(path: string, text: string): Promise<void> {
  makeFolder(dirname(path));
  await writeFile(path, `# process ${process.pid}\n${text}\n`, { mode: 0o600 });
}

/** anvil has a WebSocket on the same port, over which it announces new blocks. */
const pushingUrl = (family: "evm" | "conflux", url: string): string =>
  family === "evm" ? url.replace(/^http/, "ws") : url;

const print = (text: string): void => void process.stdout.write(`${text}\n`);

function announce(devnet: Devnet, urls: { server: string; admin: string }): void {
  print("");
  print("Headgate runs over development nodes of its own. The demo key is `demo`.");
  for (const { network } of devnet.nodes) print(`  ${network}  ${baseUrl(urls.server, network)}`);
  print(`  metrics     ${urls.admin}/metrics`);
  print("Calls to paste follow as soon as each node is ready (Conflux: ten seconds).");
}

/**
 * Prints calls to paste once the node has blocks to show; nothing if it never has. Each call is tried first, so that the
 * gateway has followed the chain that far when the call is printed.
 */
async function printSamples(
  node: Pick<DevnetNode, "network" | "samples">,
  serverUrl: string,
  connect: (url: string) => RpcCaller,
): Promise<void> {
  const samples = await node.samples.catch(() => []);
  if (samples.length === 0) return;
  const gateway = connect(baseUrl(serverUrl, node.network));
  for (const { method, params } of samples)
    await gateway.call(method, params).catch(() => undefined); // some samples show an error
  print("");
  print(`${node.network}:`);
  for (const sample of samples) print(pasteable(sample, baseUrl(serverUrl, node.network)));
}

const baseUrl = (serverUrl: string, network: string): string => `${serverUrl}/${network}/v1/demo`;

function pasteable({ title, method, params }: SampleCall, url: string): string {
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method, params });
  return `# ${title}\ncurl -s ${url} -H 'content-type: application/json' -d '${body}'`;
}

const DEVNET = "headgate-devnet";

/** The command that installs the development nodes beside this package. */
function howToInstall(): string {
  const here = import.meta.dirname;
  const devnet = `${DEVNET}@${manifest.version}`;
  if (here.includes("/_npx/")) return `npx --package headgate --package ${devnet} headgate dev`;
  const isLocal = here.startsWith(process.cwd());
  return `npm install ${isLocal ? "" : "--global "}${devnet}`;
}

/** Loads the development nodes. @throws CommandFailure when they are not installed. */
async function devnetStarter(): Promise<typeof startDevnet> {
  try {
    return ((await import(DEVNET)) as { startDevnet: typeof startDevnet }).startDevnet;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw cause;
    throw new CommandFailure(
      `the development nodes are a package of their own, which is not installed: ${howToInstall()}\nTo use nodes of your own: headgate https://node.example.com; headgate init https://node.example.com writes a file`,
      { exitCode: 1, cause },
    );
  }
}
