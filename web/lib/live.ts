// The gateway's event stream: the state of networks and nodes, each second. It is open while the page is visible, closes
// while the page is hidden, and reconnects after a failure with growing pauses.
import type { LiveHistory, LiveStatus } from "../../src/admin/schemas.ts";
import type { Platform } from "./platform.ts";
import { Store } from "./store.ts";

export type Live = {
  readonly status?: LiveStatus;
  /** The time of the last event by this machine's clock; left out: no event came yet. */
  readonly atMs?: number;
  /** `stale`: no event came for a while, so that the figures are old. */
  readonly state: "connecting" | "live" | "stale";
};

type EventSourceLike = Pick<EventSource, "addEventListener" | "close" | "readyState">;

export type LiveParts = {
  readonly platform: Pick<Platform, "now" | "every" | "after">;
  readonly open: (path: string) => EventSourceLike;
  /** Called when the gateway refused the stream: perhaps the session has ended. */
  readonly onRefused: () => void;
  readonly onStatus: (status: LiveStatus, atMs: number) => void;
  /** Called with the gateway's history when the stream begins. */
  readonly onHistory: (history: LiveHistory, atMs: number) => void;
};

/** The gateway sends an event each second. */
const STALE_AFTER_MS = 4_000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;
/** After so many refusals in a row, a page without figures shows that there is no stream. */
const MOST_REFUSALS = 3;
const REFUSED = 2; // EventSource.CLOSED

export class LiveStream {
  readonly store = new Store<Live>({ state: "connecting" });
  readonly #parts: LiveParts;
  #source: EventSourceLike | undefined;
  #callOff: () => void = () => undefined;
  #retryMs = FIRST_RETRY_MS;
  /** Refusals in a row. */
  #refusals = 0;

  constructor(parts: LiveParts) {
    this.#parts = parts;
    parts.platform.every(1_000, () => this.#judge());
  }

  /** Opens the stream; does nothing while it is open. */
  open(): void {
    if (this.#source) return;
    this.#callOff();
    const source = this.#parts.open("events");
    this.#source = source;
    source.addEventListener("status", (event) => this.#take(event as MessageEvent<string>));
    source.addEventListener("history", ({ data }: MessageEvent<string>) =>
      this.#parts.onHistory(JSON.parse(data) as LiveHistory, this.#parts.platform.now()),
    );
    source.addEventListener("error", () => this.#retry(source));
  }

  close(): void {
    this.#callOff();
    this.#source?.close();
    this.#source = undefined;
  }

  #take({ data }: MessageEvent<string>): void {
    const status = JSON.parse(data) as LiveStatus;
    const atMs = this.#parts.platform.now();
    this.#retryMs = FIRST_RETRY_MS;
    this.#refusals = 0;
    this.#parts.onStatus(status, atMs);
    this.store.set({ status, atMs, state: "live" });
  }

  /** Replaces the browser's own retries, which have no bound, and which do not happen after a refusal. */
  #retry(source: EventSourceLike): void {
    if (source !== this.#source) return;
    const isRefused = source.readyState === REFUSED;
    this.close();
    if (isRefused) this.#refuse();
    this.#callOff = this.#parts.platform.after(this.#retryMs, () => this.open());
    this.#retryMs = Math.min(this.#retryMs * 2, LAST_RETRY_MS);
  }

  #refuse(): void {
    this.#refusals += 1;
    if (this.#refusals >= MOST_REFUSALS && !this.store.value.status)
      this.store.set({ state: "stale" });
    this.#parts.onRefused();
  }

  #judge(): void {
    const { atMs, ...live } = this.store.value;
    // This machine's clock may have been set back.
    const agoMs = atMs === undefined ? 0 : Math.abs(this.#parts.platform.now() - atMs);
    const isOld = atMs !== undefined && agoMs > STALE_AFTER_MS;
    if (isOld) this.store.set({ ...live, atMs, state: "stale" });
  }
}
