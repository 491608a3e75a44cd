// The time from the start of a gateway's process until it listens, with one network whose node is away. The named
// programs take turns: `node bench/start.ts bin/headgate.mjs ELSEWHERE/bin/headgate.mjs`. Each starts once before, so
// that V8's compiled code is in its cache.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { HEAP } from "../test/support/gateway-process.ts";

const ROUNDS = Number(process.env["BENCH_ROUNDS"] ?? 21);
const given = process.argv.slice(2);
const programs = given.length > 0 ? given : [join(import.meta.dirname, "../bin/headgate.mjs")];

const folder = mkdtempSync(join(tmpdir(), "headgate-start-"));
process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
const config = join(folder, "headgate.yaml");
const host = "127.0.0.1";
writeFileSync(
  config,
  JSON.stringify({
    data: join(folder, "data"),
    listen: { host, port: 0 },
    admin: { listen: { host, port: 0 } },
    keys: [{ name: "bench", key: "a-key-that-is-long-enough" }],
    networks: { dead: { family: "evm", chainId: 1, upstreams: [{ url: `http://${host}:9` }] } },
  }),
);

type Start = { readonly wallMs: number; readonly cpuMs: number };

async function start(program: string): Promise<Start> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [...HEAP, program, "serve", "--config", config], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { MALLOC_MMAP_THRESHOLD_: "262144", ...process.env },
  });
  const ended = once(child, "exit");
  for await (const line of createInterface(child.stdout)) {
    if (!line.includes('"msg":"listening"')) continue;
    const measured = { wallMs: performance.now() - startedAt, cpuMs: cpuMsOf(child.pid ?? 0) };
    child.kill("SIGTERM");
    await ended;
    return measured;
  }
  throw new Error(`${program} did not listen`);
}

/** The processor time of all threads of a process, in milliseconds; Linux tells it in ticks of ten. */
function cpuMsOf(pid: number): number {
  const [, fields = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
  const [user, system] = fields.split(" ").slice(11, 13).map(Number);
  return ((user ?? 0) + (system ?? 0)) * 10;
}

const starts = new Map(programs.map((program) => [program, [] as Start[]]));
for (const program of programs) await start(program);
for (let round = 0; round < ROUNDS; round += 1)
  for (const [program, some] of starts) some.push(await start(program));

const quartiles = (values: number[]): string => {
  values.sort((a, b) => a - b);
  const at = (share: number): string =>
    (values[Math.floor(share * (values.length - 1))] ?? 0).toFixed(0);
  return `${at(0)} | ${at(0.25)} | ${at(0.5)} | ${at(1)}`;
};
process.stdout.write(
  "| program | ms to listening: least | quartile | median | most | CPU ms: least | quartile | median | most |\n|---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
);
for (const [program, some] of starts)
  process.stdout.write(
    `| ${program} | ${quartiles(some.map(({ wallMs }) => wallMs))} | ${quartiles(some.map(({ cpuMs }) => cpuMs))} |\n`,
  );
