// Writes the mempool journal of one network: the hashes of pending transactions that its nodes announce, merged, each
// once, in the order of arrival, and bounded. A gateway listens to nodes only while filters need the journal. All
// gateways that listen write the journal: the first gateway that writes a hash writes the hash for all.
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import { Mutex } from "../lib/mutex.ts";
import { repeat, within } from "../lib/waiting.ts";
import type { State } from "../state/state.ts";
import type { Pool } from "../upstream/pool.ts";
import { JournalCopy, type MempoolFilters, type MempoolItems } from "./mempool-reader.ts";
import { MempoolSources } from "./mempool-sources.ts";

/** The most hashes that wait for a write while the state is away. */
const WAITING_AT_MOST = 65_536;
/** The most hashes in one step of the state, and the most steps of one flush. */
const WRITTEN_AT_ONCE = 512;
const MOST_STEPS = 1_000;
/** The gateway stops listening this long after the last use of a filter, in ms: longer than a filter lives unpolled. */
const REST_AFTER_MS = 360_000;
/** The time that a new filter waits for the first node, in milliseconds. */
const TIMEOUT_MS = 3_000;
/** The pause between two flushes, in milliseconds. */
const FLUSHED_EVERY_MS = 1_000;

export type JournalParts = {
  readonly pool: Pick<Pool, "usable" | "isSettled" | "onChange">;
  readonly state: Pick<State, "append" | "readFrom">;
  readonly clock: Clock;
};

export class MempoolJournal implements MempoolFilters {
  readonly #copy: JournalCopy;
  readonly #sources: MempoolSources;
  /** Hashes that nodes announced and the journal does not have. */
  readonly #unwritten = new Set<string>();
  /** The lowest end of the journal: lower numbers were given to clients, or belong to dropped hashes. */
  #least = 0;
  /** The hashes that were dropped while the state could not be written: filters that lack them are lost. */
  #left = 0;
  #usedAtMs = Number.NEGATIVE_INFINITY;
  /** undefined while the gateway does not listen. */
  #listening: AbortController | undefined;
  /** Reads and writes of the state, one after the other. */
  readonly #turns = new Mutex();
  #isFlushPlanned = false;
  readonly #parts: JournalParts;

  /** @param options.prefix The prefix of the family's methods. */
  constructor(
    { network, prefix }: { network: string; prefix: "eth" | "cfx" },
    parts: JournalParts,
  ) {
    this.#parts = parts;
    this.#copy = new JournalCopy({ network }, parts);
    this.#sources = new MempoolSources(
      { prefix },
      { ...parts, onHash: (hash) => this.#announced(hash) },
    );
  }

  /** Listens at once if kept filters exist. */
  async start(sequences: readonly number[]): Promise<void> {
    // Hashes that clients got, but that the state lost, keep their numbers.
    this.#least = Math.max(0, ...sequences);
    if (sequences.length > 0) this.listen();
  }

  async close(): Promise<void> {
    if (!this.#listening) return;
    this.#listening.abort();
    await this.#turns.run(() => this.#flush()).catch(() => undefined);
  }

  /** @throws RpcError -32601 when no node announces pending transactions, 503 when no node could be asked. */
  async begin(caller: { readonly signal: AbortSignal }): Promise<number> {
    this.listen();
    const { clock } = this.#parts;
    const giveUpAt = clock.now() + TIMEOUT_MS;
    for (;;) {
      const { state } = this.#sources;
      if (state === "open") return this.#caughtUp();
      if (state === "nobody") throw errors.noMempoolSource();
      if (caller.signal.aborted || clock.now() >= giveUpAt) throw errors.noUpstream();
      await this.#sources.change(giveUpAt - clock.now());
    }
  }

  async since(sequence: number, most: number): Promise<MempoolItems | undefined> {
    this.listen();
    await this.#turns.run(() => this.#flush());
    if (sequence > this.#copy.end) this.#least = sequence; // the state lost hashes that clients got
    return this.#copy.since(sequence, most);
  }

  /** The end of the journal, once it has all hashes that the nodes know: a new filter must not deliver older hashes. */
  async #caughtUp(): Promise<number> {
    const { clock } = this.#parts;
    await within(TIMEOUT_MS, this.#sources.catchUp(), { clock });
    await this.#turns.run(() => this.#flush());
    return this.#copy.end;
  }

  /** Listens to the nodes. Called with each use of a filter. */
  listen(): void {
    this.#usedAtMs = this.#parts.clock.now();
    if (this.#listening) return;
    const listening = new AbortController();
    this.#listening = listening;
    this.#turns.run(() => this.#flush()).catch(() => undefined);
    const { signal } = listening;
    this.#sources.listen(signal);
    const { clock } = this.#parts;
    void repeat(FLUSHED_EVERY_MS, () => this.#flushOrRest(listening), { clock, signal });
  }

  async #flushOrRest(listening: AbortController): Promise<void> {
    if (this.#parts.clock.now() - this.#usedAtMs >= REST_AFTER_MS) {
      this.#listening = undefined;
      listening.abort();
    }
    await this.#turns.run(() => this.#flush());
  }

  #announced(hash: string): void {
    if (this.#copy.has(hash)) return;
    this.#unwritten.add(hash);
    if (this.#unwritten.size > WAITING_AT_MOST) this.#leaveOldest();
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    this.#turns.run(() => this.#flush()).catch(() => undefined); // the next flush comes within a second
  }

  #leaveOldest(): void {
    const [oldest] = this.#unwritten;
    if (oldest !== undefined) this.#unwritten.delete(oldest);
    this.#left += 1;
  }

  /** Writes the announced hashes, and reads those that other gateways wrote. */
  async #flush(): Promise<void> {
    this.#isFlushPlanned = false;
    const { end } = this.#copy;
    await this.#copy.catchUp();
    // If other gateways wrote meanwhile, they also wrote the hashes that were dropped here.
    if (this.#left > 0 && this.#copy.end === end) this.#least = end + this.#left;
    this.#left = 0;
    for (let step = 0; step < MOST_STEPS; step += 1) {
      const hashes = this.#nextHashes();
      if (hashes.length === 0 && this.#least <= this.#copy.end) return;
      await this.#copy.append(hashes, this.#least);
    }
  }

  #nextHashes(): readonly string[] {
    const hashes: string[] = [];
    for (const hash of this.#unwritten) {
      if (this.#copy.has(hash)) this.#unwritten.delete(hash);
      else if (hashes.push(hash) === WRITTEN_AT_ONCE) break;
    }
    return hashes;
  }
}
