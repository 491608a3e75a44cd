// Requests the health endpoint as an orchestrator does, each time over a new connection; in a thread of its own, since
// a thread that reads the answers of an attack would measure its own delay.
import { get } from "node:http";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const EVERY_MS = 250;
const GIVE_UP_MS = 10_000;

export class HealthCheck {
  readonly #url: string;
  #slowestMs = 0;
  #thread: Worker | undefined;

  constructor(options: { url: string }) {
    this.#url = options.url;
  }

  start(): void {
    this.#thread ??= new Worker(new URL(import.meta.url), { workerData: { healthUrl: this.#url } });
    this.#thread.on("message", (ms: number) => {
      this.#slowestMs = Math.max(this.#slowestMs, ms);
    });
  }

  stop(): void {
    void this.#thread?.terminate();
  }

  /** The time of the slowest check since the last call, in milliseconds. A failed check counts as 10 s. */
  takeSlowestMs(): number {
    const slowestMs = this.#slowestMs;
    this.#slowestMs = 0;
    return slowestMs;
  }
}

function check(url: string, told: (ms: number) => void): void {
  const startedAt = performance.now();
  const request = get(url, { agent: false, timeout: GIVE_UP_MS }, (response) => {
    response.resume();
    told(response.statusCode === 200 ? performance.now() - startedAt : GIVE_UP_MS);
  });
  request.on("timeout", () => request.destroy(new Error("no answer")));
  request.on("error", () => told(GIVE_UP_MS));
}

if (!isMainThread && workerData?.healthUrl)
  setInterval(() => check(workerData.healthUrl, (ms) => parentPort?.postMessage(ms)), EVERY_MS);
