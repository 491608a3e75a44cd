// The gateway's event stream: how networks and nodes do, each second. It is open while somebody can see the page, ends
// while the page is hidden, and begins again, later and later, when it broke off.
import type { LiveHistory, LiveStatus } from "../../src/admin/schemas.ts";
import type { Platform } from "./platform.ts";
import { Store } from "./store.ts";

export type Live = {
  readonly status?: LiveStatus;
  /** When it came, by this machine's clock; left out: none came yet. */
  readonly atMs?: number;
  /** `stale`: nothing came for a while; what is shown is of the past. */
  readonly state: "connecting" | "live" | "stale";
};

type EventSourceLike = Pick<EventSource, "addEventListener" | "close" | "readyState">;

export type LiveParts = {
  readonly platform: Pick<Platform, "now" | "every" | "after">;
  readonly open: (path: string) => EventSourceLike;
  /** Called when the stream was refused: is somebody still logged in? */
  readonly onRefused: () => void;
  /** Called with each status. */
  readonly onStatus: (status: LiveStatus, atMs: number) => void;
  /** Called with what was before, when the stream begins. */
  readonly onHistory: (history: LiveHistory, atMs: number) => void;
};

/** Events come each second. */
const STALE_AFTER_MS = 4_000;
const FIRST_RETRY_MS = 500;
const LAST_RETRY_MS = 10_000;
/** Then who looks is told. */
const MOST_REFUSALS = 3;
const REFUSED = 2; // EventSource.CLOSED

export class LiveStream {
  readonly store = new Store<Live>({ state: "connecting" });
  readonly #parts: LiveParts;
  #source: EventSourceLike | undefined;
  #callOff: () => void = () => undefined;
  #retryMs = FIRST_RETRY_MS;
  /** In a row. */
  #refusals = 0;

  constructor(parts: LiveParts) {
    this.#parts = parts;
    parts.platform.every(1_000, () => this.#judge());
  }

  /** Does nothing while it is open. */
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

  /** The browser's own retries know no bounds, and none where it was refused. */
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
