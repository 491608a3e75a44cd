// Who writes a journal that many gateways share: whoever holds its entry in the state. The holder renews it
// all the time; one that stands still belongs to nobody. No clocks are compared: each looks at its own.
import { randomBytes } from "node:crypto";
import type { Clock } from "../lib/clock.ts";
import type { Change, State } from "../state/state.ts";

export type LeaseOptions = {
  /** The entry. */
  readonly key: string;
  /** The same after a restart: what its killed predecessor held, a gateway takes back at once. */
  readonly gateway: string;
};

export type LeaseParts = {
  readonly state: Pick<State, "get" | "replace">;
  readonly clock: Pick<Clock, "now">;
};

/** An entry that was not renewed for so long is free, in milliseconds. */
const STALE_AFTER_MS = 5_000;

export class JournalLease {
  /** The entry as this process wrote it; undefined while another one holds it. */
  #mine: string | undefined;
  /** A write that failed may have happened all the same. */
  #attempted: string | undefined;
  /** The entry of the other, and since when it is the same. */
  #theirs: { readonly text: string | undefined; readonly sinceMs: number } | undefined;
  #hasLooked = false;
  #count = 0;
  readonly #process = randomBytes(8).toString("hex");
  readonly #options: LeaseOptions;
  readonly #parts: LeaseParts;

  constructor(options: LeaseOptions, parts: LeaseParts) {
    this.#options = options;
    this.#parts = parts;
  }

  get isHeld(): boolean {
    return this.#mine !== undefined;
  }

  /** Goes with every change that only the holder may make. */
  get condition(): Change {
    const { key } = this.#options;
    return { key, expected: this.#mine, next: this.#mine };
  }

  /** Renews it, or takes it when it is free. @returns Whether it is held. @throws While the state is away. */
  async renew(): Promise<boolean> {
    const { state } = this.#parts;
    const { key, gateway } = this.#options;
    const held = await state.get(key);
    if (held !== undefined && held === this.#attempted) this.#mine = held;
    if (held !== this.#mine || held === undefined) {
      this.#mine = undefined;
      if (!this.#isFree(held)) return false;
    }
    this.#count += 1;
    const next = `${gateway} ${this.#process} ${this.#count}`;
    this.#attempted = next;
    this.#mine = (await state.replace(key, held, next)) ? next : undefined;
    return this.isHeld;
  }

  /** A change with its condition was refused: somebody else may hold it. */
  doubt(): void {
    this.#mine = undefined;
  }

  async release(): Promise<void> {
    const { state } = this.#parts;
    const mine = this.#mine;
    this.#mine = undefined;
    if (mine !== undefined) await state.replace(this.#options.key, mine, undefined);
  }

  #isFree(held: string | undefined): boolean {
    const now = this.#parts.clock.now();
    const isFirstLook = !this.#hasLooked;
    this.#hasLooked = true;
    if (!this.#theirs || this.#theirs.text !== held) this.#theirs = { text: held, sinceMs: now };
    if (held === undefined || held.includes(` ${this.#process} `)) return true;
    if (isFirstLook && held.startsWith(`${this.#options.gateway} `)) return true;
    return now - this.#theirs.sinceMs >= STALE_AFTER_MS;
  }
}
