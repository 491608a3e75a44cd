// Where the development nodes' programs are on this machine, if its platform has them.
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Command } from "./supervise.ts";

const require = createRequire(import.meta.url);
const ARCHITECTURES: Readonly<Record<string, string | undefined>> = {
  x64: "amd64",
  arm64: "arm64",
};

/** The command that runs anvil, or undefined when there is none for this platform. */
export function anvilCommand(options: { port: number; chainId: number }): Command | undefined {
  const folder = folderOf(
    `@foundry-rs/anvil-${process.platform}-${ARCHITECTURES[process.arch] ?? process.arch}`,
  );
  if (!folder) return undefined;
  const args = [
    "--port",
    options.port,
    "--chain-id",
    options.chainId,
    "--steps-tracing",
    "--quiet",
  ];
  return { file: join(folder, "bin", "anvil"), args: args.map(String) };
}

/** The command that runs conflux-rust, or undefined when there is none for this platform. */
export function confluxCommand(settings: object): Command | undefined {
  const libc = process.platform === "linux" ? "-gnu" : process.platform === "win32" ? "-msvc" : "";
  if (!folderOf(`@xcfx/node-${process.platform}-${process.arch}${libc}`)) return undefined;
  const script = fileURLToPath(new URL("./conflux-process.ts", import.meta.url));
  return { file: process.execPath, args: [script, JSON.stringify(settings)] };
}

function folderOf(packageName: string): string | undefined {
  const places = require.resolve.paths(packageName) ?? [];
  const found = places.map((place) => join(place, packageName)).find((path) => existsSync(path));
  return found && dirname(join(found, "package.json"));
}
