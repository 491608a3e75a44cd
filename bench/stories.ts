// `node bench/stories.ts`: the cost of a call's story for the thread that answers, for each kind of use: a stored
// receipt, and one attempt at an upstream; in microseconds of processor time. The collector is another process.
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Caller, RequestScope } from "../src/calls/caller.ts";
import { BodyAnswerer } from "../src/calls/life-of-a-call.ts";
import { systemClock as clock } from "../src/lib/clock.ts";
import { spanExporter } from "../src/observe/otlp-exporter.ts";
import { type SamplingOptions, Stories } from "../src/observe/stories.ts";
import type { Story } from "../src/observe/story.ts";
import { openParts } from "./call-parts.ts";

if (process.argv[2] === "collector") {
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.end());
  });
  server.listen(0, "127.0.0.1", () => process.send?.((server.address() as AddressInfo).port));
} else await run();

async function run(): Promise<void> {
  const TIMES = 200_000;
  const AT_ONCE = 100;
  const folder = mkdtempSync(join(tmpdir(), "headgate-stories-"));
  const collector = fork(import.meta.filename, ["collector"]);
  const [port] = (await once(collector, "message")) as [number];
  process.on("exit", () => {
    collector.kill();
    rmSync(folder, { recursive: true, force: true });
  });
  const parts = await openParts({ folder, key: "bench-key" });
  const { grant, memory, turns, network, metrics, costs, log } = parts;
  const traced: Story[] = [];
  const callerFor = (): Caller => ({
    ...{ network, grant, requestId: "1", client: () => undefined, headers: {} },
    scope: new RequestScope({ deadlineMs: 1_000 }, { clock, memory, turns }),
  });
  const answererWith = (stories: Stories | undefined) =>
    new BodyAnswerer(
      { batch: 100, batchResponseBytes: 2 ** 25 },
      { clock, metrics, costs, memory, log, turns, stories },
    );
  const call = (method: string, params: readonly unknown[]): Buffer =>
    Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  const block = answererWith(undefined).answer(
    call("eth_getBlockByNumber", ["0x14", false]),
    callerFor(),
  );
  if (block instanceof Promise) throw new Error("it waits");
  const { transactions } = JSON.parse(block.pieces.join("")).result as { transactions: string[] };
  const body = call("eth_getTransactionReceipt", [transactions[0]]);
  const sampling = (sample: number): SamplingOptions => ({
    ...{ sample, followsCallers: true, failed: true, slowMs: 5_000, tellsUpstreams: true },
  });
  const storiesFor = (tailed: number, tracing: SamplingOptions | undefined): Stories =>
    new Stories(
      { tail: { calls: tailed, slowMs: 1_000 }, tracing },
      { clock, chance: Math.random, onTraced: (one) => void traced.push(one) },
    );
  const exporter = spanExporter({
    ...{ url: `http://127.0.0.1:${port}/v1/traces`, headers: {}, timeoutMs: 5_000, queue: 0 },
    ...{ service: "bench", attributes: {}, version: "0", instance: "0" },
  });
  /** The least of five rounds: other work of the machine only adds to a round. */
  const micros = async (step: () => unknown, isSent: boolean): Promise<number> => {
    let least = Number.POSITIVE_INFINITY;
    for (let round = 0; round < 5; round += 1) {
      const before = process.threadCpuUsage();
      for (let at = 0; at < TIMES; at += 1) {
        step();
        if (traced.length < AT_ONCE) continue;
        if (isSent) await exporter.send(traced.splice(0));
        else traced.length = 0;
      }
      const { user, system } = process.threadCpuUsage(before);
      least = Math.min(least, (user + system) / TIMES);
    }
    return least;
  };
  const print = (what: string, cost: number): void =>
    void process.stdout.write(`| ${what} | ${cost.toFixed(2)} |\n`);
  process.stdout.write("| a stored receipt, from its body to its answer | µs |\n|---|---:|\n");
  const rows: readonly (readonly [string, Stories | undefined])[] = [
    ["without stories at all", undefined],
    ["nobody wants one (the default)", storiesFor(0, undefined)],
    ["a tail of slow and failed calls", storiesFor(200, undefined)],
    ["traced, none sampled", storiesFor(0, sampling(0))],
    ["traced, 1 % sampled and sent", storiesFor(0, sampling(0.01))],
    ["traced, all sampled and sent", storiesFor(0, sampling(1))],
  ];
  for (const [what, stories] of rows) {
    const answerer = answererWith(stories);
    print(what, await micros(() => answerer.answer(body, callerFor()), true));
  }
  const story = storiesFor(0, sampling(0));
  const upstream = { upstream: { name: "node" }, why: undefined };
  const reply = { kind: "result" };
  const attempt = (): void => {
    const begun = story.begin(callerFor(), false, undefined);
    begun?.asked(upstream, "eth_call")?.ended(reply);
  };
  const withoutAttempt = (): void => void story.begin(callerFor(), false, undefined);
  const lone = await micros(withoutAttempt, false);
  print("one attempt at an upstream, with its headers", (await micros(attempt, false)) - lone);
  process.exit();
}
