// The packages as published, installed into empty folders. They are packed once for all tests of a run.
import { execFile, execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, renameSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import { until } from "../support/processes.ts";

const run = promisify(execFile);

/** Runs npm; returns its output, also in the error of a failed run. */
export async function npm(
  folder: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = {},
): Promise<string> {
  // npm takes packages from its cache: most are there since the repository's own installation.
  const quiet = ["--prefer-offline", "--no-audit", "--no-fund", "--loglevel=error"];
  const env = { ...withoutNpm(process.env), ...environment };
  const { stdout } = await run("npm", [...args, ...quiet], { cwd: folder, env });
  return stdout;
}

/** The environment without the settings and scripts of an npm that runs vitest. */
const withoutNpm = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith("npm_")));

const packing = new Map<string, Promise<string>>();

/** The path of the packed tarball of a package in the repository. */
export function packed(from: "." | "packages/devnet" = "."): Promise<string> {
  const tarball = packing.get(from) ?? pack(from);
  packing.set(from, tarball);
  return tarball;
}

async function pack(from: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "headgate-packed-"));
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  await npm(from, ["pack", "--pack-destination", folder]);
  const [name = ""] = readdirSync(folder);
  return join(folder, name);
}

const folders: string[] = [];

/** An empty folder of that name, with a manifest. */
export async function emptyFolder(name: string): Promise<string> {
  const above = await mkdtemp(join(tmpdir(), "headgate-package-"));
  folders.push(above);
  const folder = join(above, name);
  await mkdir(folder);
  await writeFile(join(folder, "package.json"), '{ "private": true }');
  return folder;
}

export function removeFolders(): void {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
}

/** The key in the data of 0.1.0, which is valid nowhere else. */
export const KEY_OF_0_1_0 = "hg_F97OgqQ1FkgFp2YVdrlrS3vZvvf3fZWFq";

/** Unpacks the `data` of a gateway 0.1.0: network `dev` over an anvil of five blocks, a key, and two filters. */
export function unpackDataOf010(folder: string): void {
  execFileSync("tar", ["-xzf", "test/package/data/of-0.1.0.tar.gz", "-C", folder]);
}

/** The folder of another version of Node.js, from the registry, which has Linux builds. */
export async function nodeOf(version: string): Promise<string> {
  const name = `node-linux-${process.arch}`;
  const folder = await emptyFolder("node");
  await npm(folder, ["install", "--ignore-scripts", `${name}@${version}`]);
  const bin = join(folder, "bin");
  // Not a copy: a process that another thread starts at the same time inherits the open files, and a file that is open
  // for writing cannot be executed ("Text file busy").
  renameSync(join(folder, "node_modules", name, "bin"), bin);
  return bin;
}

export type Started = {
  readonly url: string;
  readonly printed: () => string;
  /** Sends SIGTERM to the started process; resolves with its exit code. */
  stop(): Promise<number | null>;
};

/** Starts a command line that runs a gateway, and waits until it listens. */
export async function start(
  [file = "", ...args]: readonly string[],
  options: { readonly cwd: string; readonly env?: NodeJS.ProcessEnv },
): Promise<Started> {
  const child = spawn(file, args, {
    cwd: options.cwd,
    env: { ...withoutNpm(process.env), ...options.env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let printed = "";
  child.stdout.on("data", (chunk) => {
    printed += chunk;
  });
  child.stderr.on("data", (chunk) => {
    printed += chunk;
  });
  const listening = new Promise<string>((resolve) => {
    createInterface({ input: child.stdout }).on("line", (line) => {
      const { msg, server } = line.startsWith("{") ? JSON.parse(line) : {};
      if (msg === "listening") resolve(server);
    });
  });
  const ended = once(child, "exit");
  const failed = ended.then(() => Promise.reject(new Error(`it ended: ${printed}`)));
  failed.catch(() => undefined);
  const url = await Promise.race([listening, failed]);
  return {
    url,
    printed: () => printed,
    stop: async () => {
      child.kill("SIGTERM");
      const [code] = (await ended) as [number | null];
      await until("nobody listens", () =>
        fetch(`${url}/healthz`).then(
          () => false,
          () => true,
        ),
      );
      return code;
    },
  };
}
