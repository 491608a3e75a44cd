// `npm run check`: all checks of the sources that do not run them. The checks run in parallel, and each prints its
// output when it is done.
import { spawn } from "node:child_process";
import { once } from "node:events";

const CHECKS = [
  "biome check --error-on-warnings .",
  "node node_modules/typescript-7/bin/tsc",
  "node node_modules/typescript-7/bin/tsc --project web",
  "node scripts/pure-queries.ts",
  "node scripts/type-names.ts",
  "node scripts/named-files.ts",
  "node scripts/plain-sentences.ts",
  "node scripts/named-metrics.ts",
  "depcruise --output-type err src web packages/*/src test bench scripts",
  "knip --no-config-hints",
  "npm ci --dry-run --offline --ignore-scripts --loglevel=error", // is the lock file complete? if not: npm run lock
  "npm run --silent check:generated",
];

/** Runs a command. @returns Whether it succeeded. */
async function isPassed(command: string): Promise<boolean> {
  const child = spawn(command, { shell: true, stdio: ["ignore", "pipe", "pipe"] });
  const said: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk: Buffer) => said.push(chunk));
  const [code] = (await once(child, "close")) as [number | null];
  process.stdout.write(Buffer.concat(said));
  if (code !== 0) console.error(`failed: ${command}`);
  return code === 0;
}

const passed = await Promise.all(CHECKS.map(isPassed));
process.exitCode = passed.every(Boolean) ? 0 : 1;
