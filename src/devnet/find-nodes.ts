// Where the development nodes' programs are on this machine, if its platform has them.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "./supervise.ts";

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
  const packages = ["@xcfx/node", `@xcfx/node-${process.platform}-${process.arch}${libc}`, "cive"];
  if (!packages.every(folderOf)) return undefined;
  const script = fileURLToPath(new URL("./conflux-process.ts", import.meta.url));
  return { file: process.execPath, args: [script, JSON.stringify(settings)] };
}

/** Nothing is found on Windows: the guard around the nodes is a POSIX shell. */
function folderOf(packageName: string): string | undefined {
  if (process.platform === "win32") return undefined;
  const places = require.resolve.paths(packageName) ?? [];
  return places.map((place) => join(place, packageName)).find((path) => existsSync(path));
}
