// The pending transactions of one network, as its nodes tell them: merged, each hash once, in the order
// first seen, and not without bound. Nodes are listened to only while somebody has a filter for it.
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { State } from "../state/state.ts";
import type { Pool } from "../upstream/pool.ts";
import { PendingSource } from "./pending-source.ts";

/** So many hashes are kept; a filter that fell behind them is lost. */
const KEPT = 32_768;
const FORGOTTEN_AT_ONCE = 4_096;
/** Longer than any filter lives without a poll, in milliseconds. */
const REST_AFTER_MS = 360_000;
/** How long the making of a filter waits for some node, in milliseconds. */
const PATIENCE_MS = 3_000;

export type JournalParts = {
  readonly pool: Pick<Pool, "usable" | "isSettled" | "onChange">;
  readonly state: State;
  readonly clock: Clock;
};

export class PendingJournal {
  /** The hashes from `#first` on. */
  #hashes: string[] = [];
  #first = 0;
  readonly #known = new Set<string>();
  readonly #sources = new Map<string, PendingSource>();
  #usedAtMs = Number.NEGATIVE_INFINITY;
  /** undefined while nobody is listened to. */
  #listening: AbortController | undefined;
  #changed: (() => void)[] = [];
  #writing: Promise<unknown> = Promise.resolve();
  readonly #methods: "eth" | "cfx";
  readonly #prefix: string;
  readonly #parts: JournalParts;

  /** @param options.prefix Of the names of the family's methods. */
  constructor(options: { network: string; prefix?: "eth" | "cfx" }, parts: JournalParts) {
    this.#methods = options.prefix ?? "eth";
    this.#prefix = `pending ${options.network} `;
    this.#parts = parts;
  }

  /** @param sequences Where the kept filters are. With some, nodes are listened to at once. */
  async start(sequences: readonly number[]): Promise<void> {
    const { state } = this.#parts;
    for (const { key, text } of await state.list(this.#prefix)) {
      const sequence = Number.parseInt(key.slice(this.#prefix.length), 16);
      if (sequence !== this.#end) this.#beginAt(sequence);
      this.#remember(text);
    }
    // What was told and not written any more has its numbers all the same.
    const end = sequences.reduce((most, sequence) => Math.max(most, sequence), this.#end);
    if (end > this.#end) this.#beginAt(end);
    if (sequences.length > 0) this.#listen();
  }

  async close(): Promise<void> {
    this.#listening?.abort();
    await this.#writing;
  }

  /**
   * Where a new filter begins.
   *
   * @throws RpcError -32601 when no node tells of pending transactions, 503 when none could be asked.
   */
  async begin(caller: { readonly signal: AbortSignal }): Promise<number> {
    this.#listen();
    const { clock, pool } = this.#parts;
    const giveUpAt = clock.now() + PATIENCE_MS;
    for (;;) {
      const states = [...this.#sources.values()].map(({ state }) => state);
      if (states.includes("open")) return this.#caughtUp();
      const isAnswered = states.length > 0 && states.every((state) => state === "missing");
      if (isAnswered && pool.isSettled()) throw errors.nobodyTellsPending();
      if (caller.signal.aborted || clock.now() >= giveUpAt) throw errors.noUpstream();
      await this.#someChange(giveUpAt - clock.now());
    }
  }

  /** The end, once all is here that the nodes know: what was there before a filter is not told by it. */
  async #caughtUp(): Promise<number> {
    const patient = new AbortController();
    const patience = this.#parts.clock.sleep(PATIENCE_MS, patient.signal).catch(() => undefined);
    const sources = [...this.#sources.values()].map((source) => source.catchUp());
    await Promise.race([Promise.all(sources), patience]);
    patient.abort();
    return this.#end;
  }

  /** The first `most` hashes since then, as JSON; undefined when some of them are no longer kept. */
  since(
    sequence: number,
    most = Number.POSITIVE_INFINITY,
  ): { items: string[]; at: { sequence: number } } | undefined {
    this.#listen();
    if (sequence < this.#first) return undefined;
    const start = sequence - this.#first;
    const hashes = this.#hashes.slice(start, start + most);
    const at = { sequence: sequence + hashes.length };
    return { items: hashes.map((hash) => `"${hash}"`), at };
  }

  get #end(): number {
    return this.#first + this.#hashes.length;
  }

  #listen(): void {
    const { clock, pool } = this.#parts;
    this.#usedAtMs = clock.now();
    if (this.#listening) return;
    const listening = new AbortController();
    this.#listening = listening;
    const { signal } = listening;
    const look = (): void => {
      for (const node of pool.usable()) this.#listenTo(node, signal);
      this.#tellChange();
    };
    const stopLooking = pool.onChange(look);
    signal.addEventListener("abort", () => {
      stopLooking();
      this.#sources.clear();
    });
    look();
    void this.#restWhenUnused(listening);
  }

  #listenTo(node: ReturnType<Pool["usable"]>[number], signal: AbortSignal): void {
    if (this.#sources.has(node.name)) return;
    const source = new PendingSource(
      node,
      { prefix: this.#methods },
      {
        clock: this.#parts.clock,
        onHash: (hash) => this.#add(hash),
        onChange: () => this.#tellChange(),
      },
    );
    this.#sources.set(node.name, source);
    void source.run(signal);
  }

  async #restWhenUnused(listening: AbortController): Promise<void> {
    const { clock } = this.#parts;
    const { signal } = listening;
    while (!signal.aborted) {
      const leftMs = this.#usedAtMs + REST_AFTER_MS - clock.now();
      if (leftMs <= 0) {
        this.#listening = undefined;
        listening.abort();
      } else await clock.sleep(leftMs, signal).catch(() => undefined);
    }
  }

  #add(hash: string): void {
    if (this.#known.has(hash)) return;
    this.#write(this.#end, undefined, hash);
    this.#remember(hash);
  }

  /** Forgets all before: its numbers and what follows are not one row. */
  #beginAt(sequence: number): void {
    this.#forget(this.#hashes.length);
    this.#first = sequence;
  }

  #remember(hash: string): void {
    this.#known.add(hash);
    this.#hashes.push(hash);
    if (this.#hashes.length >= KEPT + FORGOTTEN_AT_ONCE) this.#forget(FORGOTTEN_AT_ONCE);
  }

  #forget(count: number): void {
    const old = this.#hashes.splice(0, count);
    for (const [index, each] of old.entries()) {
      this.#known.delete(each);
      this.#write(this.#first + index, each, undefined);
    }
    this.#first += old.length;
  }

  /** Keys are in the order of their numbers. */
  #write(sequence: number, expected: string | undefined, next: string | undefined): void {
    const key = this.#prefix + sequence.toString(16).padStart(12, "0");
    const written = this.#parts.state.replace(key, expected, next).catch(() => false);
    this.#writing = this.#writing.then(() => written);
  }

  #tellChange(): void {
    for (const listener of this.#changed.splice(0)) listener();
  }

  #someChange(withinMs: number): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#parts.clock.after(withinMs, resolve);
      this.#changed.push(() => {
        cancel();
        resolve();
      });
    });
  }
}
