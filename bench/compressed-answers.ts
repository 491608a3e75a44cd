// The processor time that a compressed answer costs the gateway's connection to a node, beside a plain one, in turns. The
// node is another process on this machine, so the figures leave out what the network gains.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { systemClock } from "../src/lib/clock.ts";
import { HttpConnection } from "../src/upstream/connection/http-connection.ts";
import { answerOf } from "./compressed-bodies.ts";

const ROUNDS = 7;
const CODINGS = ["plain", "gzip", "br", "zstd"] as const;
const CASES = [
  { name: "receipt", calls: 3_000, atOnce: 16 },
  { name: "logs", calls: 20, atOnce: 2 },
] as const;

const never = new AbortController().signal;
const node = spawn(process.execPath, [join(import.meta.dirname, "servers/compressing-node.ts")], {
  stdio: ["ignore", "pipe", "inherit"],
});
const [port] = (await once(node.stdout, "data")) as [Buffer];

function connectionFor(path: string, coding: (typeof CODINGS)[number]): HttpConnection {
  const headers: Record<string, string> = coding === "plain" ? {} : { "accept-encoding": coding };
  const url = `http://127.0.0.1:${String(port).trim()}/${path}`;
  const options = { url, headers, connections: 16, timeoutMs: 60_000, responseBytes: 1 << 26 };
  return new HttpConnection(options, { clock: systemClock });
}

/** The processor time of one call, and the time in which the event loop ran nothing else, both in microseconds. */
async function measure(
  connection: HttpConnection,
  { calls, atOnce }: { readonly calls: number; readonly atOnce: number },
): Promise<{ all: number; loop: number }> {
  const cpu = process.cpuUsage();
  const loop = performance.eventLoopUtilization();
  const one = async (): Promise<void> => {
    for (let call = 0; call < calls / atOnce; call += 1) {
      const exchange = await connection.send({ json: "{}" }, never);
      if (exchange.kind !== "answered") throw new Error(JSON.stringify(exchange));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, one));
  const { user, system } = process.cpuUsage(cpu);
  const { active } = performance.eventLoopUtilization(loop);
  return { all: (user + system) / calls, loop: (active * 1_000) / calls };
}

const middle = (values: readonly number[]): string =>
  String(
    Math.round(values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.NaN),
  );

try {
  console.log("| answer | bytes | coding | processor µs a call | of these in the event loop |");
  console.log("|---|---:|---|---:|---:|");
  for (const each of CASES) {
    const body = answerOf(each.name);
    const bytes = `${body.length} (gzip ${gzipSync(body).length})`;
    const runs = CODINGS.map((coding) => ({
      coding,
      connection: connectionFor(each.name, coding),
      taken: [] as { all: number; loop: number }[],
    }));
    for (const { connection } of runs) await measure(connection, each);
    for (let round = 0; round < ROUNDS; round += 1)
      for (const run of runs) run.taken.push(await measure(run.connection, each));
    for (const { coding, connection, taken } of runs) {
      const all = middle(taken.map((time) => time.all));
      const loop = middle(taken.map((time) => time.loop));
      console.log(`| ${each.name} | ${bytes} | ${coding} | ${all} | ${loop} |`);
      await connection.close();
    }
  }
} finally {
  node.kill();
}
