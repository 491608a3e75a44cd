// The load, in a process of its own: what it costs is not charged to the server that is measured.
// Takes one `Load` a message and answers with what it saw.
import autocannon from "autocannon";

export type Load = {
  readonly url: string;
  /** Each connection sends its share of them over and over; all of them where there are fewer than connections. */
  readonly bodies: readonly string[];
  readonly seconds: number;
  readonly connections: number;
};

export type Seen = {
  readonly requests: number;
  readonly seconds: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** How much of one core the load itself took; near 1, it is the load that is measured. */
  readonly loadShare: number;
  /** Answers that were no 200, and requests without an answer. */
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
    // autocannon's own histogram knows whole milliseconds only.
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
