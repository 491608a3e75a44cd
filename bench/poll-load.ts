// Polls of many filters, evenly spread over time, in a process of its own. The latency of a poll counts from its
// planned moment, whether or not earlier polls are answered. Takes one `PollLoad` a message and answers with its
// figures.
import { Pool } from "undici";

export type PollLoad = {
  readonly url: string;
  readonly filters: readonly string[];
  /** The interval between two polls of one filter. */
  readonly everyMs: number;
  readonly seconds: number;
  readonly connections: number;
};

export type Latency = {
  readonly count: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
};

export type PollsSeen = {
  /** The time until the last answer. */
  readonly seconds: number;
  readonly all: Latency;
  /** The round of polls with the median p99, which excludes a single disturbance of the machine. */
  readonly middleTurn: Latency;
  /** Polls that returned logs, and polls that returned none. */
  readonly telling: Latency;
  readonly empty: Latency;
  /** The delay between planned moments and requests: the load's own part of the latency. */
  readonly late: Latency;
  /** The number of logs in the answers. */
  readonly logs: number;
  readonly failures: number;
  readonly firstFailure: string | undefined;
  /** The load's own share of one core. */
  readonly loadShare: number;
};

process.on("message", (load: PollLoad) => {
  void pollAll(load).then((seen) => process.send?.(seen));
});

async function pollAll({ url, filters, everyMs, seconds, connections }: PollLoad) {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections });
  const gapMs = everyMs / filters.length;
  const planned = Math.floor((seconds * 1000) / gapMs);
  const empty: number[] = [];
  const telling: number[] = [];
  const turns = Array.from({ length: Math.ceil(planned / filters.length) }, (): number[] => []);
  const late: number[] = [];
  const failures: string[] = [];
  const running: Promise<void>[] = [];
  let logs = 0;
  const before = process.cpuUsage();
  const startedAt = performance.now();

  const poll = async (index: number): Promise<void> => {
    const plannedAt = startedAt + index * gapMs;
    late.push(performance.now() - plannedAt);
    try {
      const { statusCode, body } = await pool.request({
        path: pathname,
        method: "POST",
        headers: { "content-type": "application/json" },
        body: bodyOf(filters[index % filters.length] ?? ""),
      });
      const text = await body.text();
      const ms = performance.now() - plannedAt;
      const found = text.split('"logIndex"').length - 1;
      (found > 0 ? telling : empty).push(ms);
      turns[Math.floor(index / filters.length)]?.push(ms);
      logs += found;
      if (statusCode !== 200 || !text.includes('"result":'))
        failures.push(`${statusCode} ${text.slice(0, 300)}`);
    } catch (error) {
      failures.push(String(error));
    }
  };

  while (running.length < planned) {
    const due = Math.floor((performance.now() - startedAt) / gapMs) + 1;
    while (running.length < Math.min(due, planned)) running.push(poll(running.length));
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(running);
  const took = (performance.now() - startedAt) / 1000;
  const { user, system } = process.cpuUsage(before);
  await pool.close();
  const seen: PollsSeen = {
    seconds: took,
    all: latencyOf([...empty, ...telling]),
    middleTurn: middleOf(turns.map(latencyOf)),
    telling: latencyOf(telling),
    empty: latencyOf(empty),
    late: latencyOf(late),
    logs,
    failures: failures.length,
    firstFailure: failures[0],
    loadShare: (user + system) / 1e6 / took,
  };
  return seen;
}

const bodyOf = (filter: string): string =>
  `{"jsonrpc":"2.0","id":1,"method":"eth_getFilterChanges","params":["${filter}"]}`;

function middleOf(turns: readonly Latency[]): Latency {
  const sorted = turns.toSorted((a, b) => a.p99Ms - b.p99Ms);
  return sorted[Math.floor(sorted.length / 2)] ?? latencyOf([]);
}

function latencyOf(times: readonly number[]): Latency {
  const sorted = times.toSorted((a, b) => a - b);
  const percentile = (share: number): number =>
    sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  return {
    count: times.length,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    maxMs: percentile(1),
  };
}
