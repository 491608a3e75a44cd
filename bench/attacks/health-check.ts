// Asks whether the gateway is there, as an orchestrator does, on a connection of its own each time.
import { get } from "node:http";

const EVERY_MS = 250;
const GIVE_UP_MS = 10_000;

export class HealthCheck {
  readonly #url: string;
  #slowestMs = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: { url: string }) {
    this.#url = options.url;
  }

  start(): void {
    this.#timer ??= setInterval(() => this.#check(), EVERY_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Of the checks that ended since the last time, in milliseconds. One that failed took 10 s. */
  takeSlowestMs(): number {
    const slowestMs = this.#slowestMs;
    this.#slowestMs = 0;
    return slowestMs;
  }

  #check(): void {
    const startedAt = performance.now();
    const told = (ms: number): void => {
      this.#slowestMs = Math.max(this.#slowestMs, ms);
    };
    const request = get(this.#url, { agent: false, timeout: GIVE_UP_MS }, (response) => {
      response.resume();
      told(response.statusCode === 200 ? performance.now() - startedAt : GIVE_UP_MS);
    });
    request.on("timeout", () => request.destroy(new Error("no answer")));
    request.on("error", () => told(GIVE_UP_MS));
  }
}
