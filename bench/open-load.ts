// Calls at planned moments, in a process of its own: the latency of a call counts from its planned moment, whether or
// not earlier calls are answered. Takes one `OpenLoad` a message and answers with its figures.
import { Pool } from "undici";

export type OpenLoad = {
  readonly url: string;
  readonly bodies: readonly string[];
  readonly perSecond: number;
  readonly seconds: number;
  readonly connections: number;
};

/** Latencies in milliseconds. */
export type OpenLoadSeen = {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly p999Ms: number;
  readonly maxMs: number;
  /** The delay between planned moments and requests (p99, p99.9): the load's own part of the latency. */
  readonly lateMs: number;
  readonly late999Ms: number;
  readonly failures: number;
};

process.on("message", (load: OpenLoad) => {
  void putOn(load).then((seen) => process.send?.(seen));
});

async function putOn(load: OpenLoad): Promise<OpenLoadSeen> {
  const { url, bodies, perSecond, seconds, connections } = load;
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections });
  const gapMs = 1000 / perSecond;
  const times: number[] = [];
  const late: number[] = [];
  const running: Promise<void>[] = [];
  let failures = 0;
  const startedAt = performance.now();

  const call = async (index: number): Promise<void> => {
    const plannedAt = startedAt + index * gapMs;
    late.push(performance.now() - plannedAt);
    const answer = await pool
      .request({
        ...{ path: pathname, method: "POST", headers: { "content-type": "application/json" } },
        body: bodies[index % bodies.length] ?? "",
      })
      .then(({ body }) => body.text())
      .catch(String);
    times.push(performance.now() - plannedAt);
    if (!answer.includes('"result":{')) failures += 1;
  };

  while (running.length < perSecond * seconds) {
    const due = Math.floor((performance.now() - startedAt) / gapMs) + 1;
    while (running.length < Math.min(due, perSecond * seconds)) running.push(call(running.length));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(running);
  await pool.close();
  const at = (sorted: readonly number[], share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  times.sort((a, b) => a - b);
  late.sort((a, b) => a - b);
  return {
    ...{ p50Ms: at(times, 0.5), p99Ms: at(times, 0.99), p999Ms: at(times, 0.999) },
    ...{ maxMs: at(times, 1), lateMs: at(late, 0.99), late999Ms: at(late, 0.999), failures },
  };
}
