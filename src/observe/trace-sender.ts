// Sends the stories of calls that have ended to a collector, in groups, from a bounded queue. No call
// waits for the collector. Stories that it does not take are dropped and counted.

import type { Logger } from "pino";
import type { Config } from "../config/schema.ts";
import type { Clock } from "../lib/clock.ts";
import { within } from "../lib/waiting.ts";
import type { Metrics } from "./metrics.ts";
import type { Story } from "./story.ts";

export type TraceSenderOptions = Pick<
  NonNullable<Config["tracing"]>,
  "url" | "headers" | "timeoutMs" | "queue" | "service" | "attributes"
> & {
  readonly version: string;
  /** The name of this process of this gateway. */
  readonly instance: string;
};

export type SpanExporter = {
  /** Never rejects. @returns Why the stories did not arrive; undefined if they did. */
  send(stories: readonly Story[]): Promise<string | undefined>;
  /** Aborts the requests in flight. */
  cut(): void;
};

export type TraceSenderParts = {
  /** Loads the exporter, which is large, when the first story is sent. */
  readonly load: (options: TraceSenderOptions) => Promise<SpanExporter>;
  readonly metrics: Pick<Metrics, "traced">;
  readonly clock: Pick<Clock, "now" | "after" | "sleep">;
  readonly log: Pick<Logger, "warn" | "info">;
};

const SEND_AFTER_MS = 500;
/** Calls in one request to the collector: a few milliseconds of work. */
const AT_ONCE = 100;
/** Milliseconds between the timeout of a request and the end of its connection. */
const GRACE_MS = 1_000;
/** How long a closing gateway waits for the collector, in milliseconds. */
const FLUSH_MS = 1_000;
const LOG_AGAIN_AFTER_MS = 60_000;

export class TraceSender {
  #waiting: Story[] = [];
  #exporter: Promise<SpanExporter> | undefined;
  #sending: Promise<void> | undefined;
  #cancelTimer: (() => void) | undefined;
  #loggedAtMs = Number.NEGATIVE_INFINITY;
  #isClosed = false;
  readonly #options: TraceSenderOptions;
  readonly #parts: TraceSenderParts;

  constructor(options: TraceSenderOptions, parts: TraceSenderParts) {
    this.#options = options;
    this.#parts = parts;
  }

  /** Queues the story of a call that has ended, or counts it as dropped. */
  add(story: Story): void {
    if (this.#isClosed || this.#waiting.length >= this.#options.queue) {
      this.#parts.metrics.traced("dropped", 1);
      return;
    }
    this.#waiting.push(story);
    if (!this.#sending) this.#cancelTimer ??= this.#parts.clock.after(SEND_AFTER_MS, this.#begin);
  }

  /** Sends the waiting stories, as many as the collector takes within `FLUSH_MS`. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#begin();
    await within(FLUSH_MS, this.#sending ?? Promise.resolve(), this.#parts);
    if (this.#waiting.length > 0) this.#parts.metrics.traced("dropped", this.#waiting.length);
    this.#waiting = [];
    (await this.#exporter?.catch(() => undefined))?.cut();
  }

  readonly #begin = (): void => {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    if (this.#waiting.length > 0) this.#sending ??= this.#sendAll();
  };

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const stories = this.#waiting.splice(0, AT_ONCE);
      const why = await this.#send(stories);
      this.#parts.metrics.traced(why === undefined ? "sent" : "failed", stories.length);
      if (why !== undefined) this.#logSeldom(why);
    }
    this.#sending = undefined;
  }

  /** @returns Why the stories did not arrive; undefined if they did. */
  async #send(stories: readonly Story[]): Promise<string | undefined> {
    const { clock, load } = this.#parts;
    let cancel = (): void => undefined;
    try {
      this.#exporter ??= load(this.#options);
      const exporter = await this.#exporter;
      // The exporter's own timeout does not end a response that arrives byte by byte.
      cancel = clock.after(this.#options.timeoutMs + GRACE_MS, () => exporter.cut());
      return await exporter.send(stories);
    } catch (error) {
      return error instanceof Error ? error.name : "it could not be sent";
    } finally {
      cancel();
    }
  }

  #logSeldom(why: string): void {
    const now = this.#parts.clock.now();
    if (now - this.#loggedAtMs < LOG_AGAIN_AFTER_MS) return;
    this.#loggedAtMs = now;
    this.#parts.log.warn({ why }, "traces do not reach the collector: see headgate_traces_total");
  }
}
