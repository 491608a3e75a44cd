// The load in a process of its own, so that its cost does not count as the server's. Takes one `Load` a message and
// answers with its figures.
import autocannon from "autocannon";

export type Load = {
  readonly url: string;
  /** Each connection repeats its share of the bodies, or all of them when there are fewer bodies than connections. */
  readonly bodies: readonly string[];
  readonly seconds: number;
  readonly connections: number;
};

export type Seen = {
  readonly requests: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** The load's own share of one core; near 1, the load is the bottleneck. */
  readonly loadShare: number;
  /** Responses with a status other than 2xx, and requests without a response. */
  readonly failures: number;
};

process.on("message", (load: Load) => {
  void putOn(load).then((seen) => process.send?.(seen));
});

async function putOn({ url, bodies, seconds, connections }: Load): Promise<Seen> {
  const before = process.cpuUsage();
  const times: number[] = [];
  let opened = 0;
  const shareOf = (connection: number) =>
    (bodies.length < connections
      ? bodies
      : bodies.filter((_, index) => index % connections === connection % connections)
    ).map((body) => ({ method: "POST" as const, body }));
  const result = await new Promise<autocannon.Result>((resolve, reject) => {
    const run = autocannon(
      {
        url,
        method: "POST",
        headers: { "content-type": "application/json" },
        connections,
        duration: seconds,
        setupClient: (client) => client.setRequests(shareOf(opened++)),
      },
      (error, outcome) => (error ? reject(error) : resolve(outcome)),
    );
    // autocannon's own histogram has whole milliseconds only.
    run.on("response", (_client, _status, _bytes, ms) => times.push(ms));
  });
  const { user, system } = process.cpuUsage(before);
  times.sort((a, b) => a - b);
  const percentile = (share: number): number => times[Math.floor(times.length * share)] ?? 0;
  return {
    requests: times.length,
    seconds: result.duration,
    p50Ms: percentile(0.5),
    p99Ms: percentile(0.99),
    loadShare: (user + system) / 1e6 / result.duration,
    failures: result.non2xx + result.errors + result.timeouts,
  };
}
