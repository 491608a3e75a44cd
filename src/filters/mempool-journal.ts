// The mempool journal of one network: the hashes of pending transactions that its nodes tell, merged, each once, in the
// order in which they were seen, and bounded. Nodes are listened to only while there is a filter for them. All gateways
// that listen write the journal: the first one that writes a hash writes it for all.
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import { Mutex } from "../lib/mutex.ts";
import { repeat, within } from "../lib/waiting.ts";
import type { State } from "../state/state.ts";
import type { Pool } from "../upstream/pool.ts";
import { JournalCopy, type MempoolFilters, type MempoolItems } from "./mempool-reader.ts";
import { MempoolSources } from "./mempool-sources.ts";

/** How many hashes wait to be written while the state is away. */
const WAITING_AT_MOST = 65_536;
/** How many hashes are written in one step, and how many steps follow each other. */
const WRITTEN_AT_ONCE = 512;
const MOST_STEPS = 1_000;
/**
 * After this time without a filter, nodes are no longer listened to: longer than any filter lives without a poll, in
 * milliseconds.
 */
const REST_AFTER_MS = 360_000;
/** How long a new filter waits for the first node, in milliseconds. */
const TIMEOUT_MS = 3_000;
/** How often announced hashes are written, and hashes of other gateways read, in milliseconds. */
const FLUSHED_EVERY_MS = 1_000;

export type JournalParts = {
  readonly pool: Pick<Pool, "usable" | "isSettled" | "onChange">;
  readonly state: Pick<State, "append" | "readFrom">;
  readonly clock: Clock;
};

export class MempoolJournal implements MempoolFilters {
  readonly #copy: JournalCopy;
  readonly #sources: MempoolSources;
  /** Hashes that nodes told and the journal does not have. */
  readonly #unwritten = new Set<string>();
  /** Lower numbers were told to filters, or belong to hashes that were left out. */
  #least = 0;
  /** How many hashes were left out since nothing could be written: filters that should have told them are lost. */
  #left = 0;
  #usedAtMs = Number.NEGATIVE_INFINITY;
  /** undefined while nobody is listened to. */
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

  /** When there are kept filters, nodes are listened to at once. */
  async start(sequences: readonly number[]): Promise<void> {
    // Hashes that were told, but not written any more, keep their numbers.
    this.#least = Math.max(0, ...sequences);
    if (sequences.length > 0) this.listen();
  }

  async close(): Promise<void> {
    if (!this.#listening) return;
    this.#listening.abort();
    await this.#turns.run(() => this.#flush()).catch(() => undefined);
  }

  /** @throws RpcError -32601 when no node tells of pending transactions, 503 when none could be asked. */
  async begin(caller: { readonly signal: AbortSignal }): Promise<number> {
    this.listen();
    const { clock } = this.#parts;
    const giveUpAt = clock.now() + TIMEOUT_MS;
    for (;;) {
      const { state } = this.#sources;
      if (state === "open") return this.#caughtUp();
      if (state === "nobody") throw errors.nobodyTellsPending();
      if (caller.signal.aborted || clock.now() >= giveUpAt) throw errors.noUpstream();
      await this.#sources.change(giveUpAt - clock.now());
    }
  }

  async since(
    sequence: number,
    most = Number.POSITIVE_INFINITY,
  ): Promise<MempoolItems | undefined> {
    this.listen();
    await this.#turns.run(() => this.#flush());
    if (sequence > this.#copy.end) this.#least = sequence; // the state lost hashes that were told
    return this.#copy.since(sequence, most);
  }

  /**
   * The end of the journal, after all that the nodes know is in it: a filter does not tell what was there before it.
   */
  async #caughtUp(): Promise<number> {
    const { clock } = this.#parts;
    await within(TIMEOUT_MS, this.#sources.catchUp(), { clock });
    await this.#turns.run(() => this.#flush());
    return this.#copy.end;
  }

  /** To be called when somebody has a filter. */
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
    this.#turns.run(() => this.#flush()).catch(() => undefined); // it is tried again within a second
  }

  #leaveOldest(): void {
    const [oldest] = this.#unwritten;
    if (oldest !== undefined) this.#unwritten.delete(oldest);
    this.#left += 1;
  }

  /** Writes the announced hashes, and reads those that others wrote. */
  async #flush(): Promise<void> {
    this.#isFlushPlanned = false;
    const { end } = this.#copy;
    await this.#copy.catchUp();
    // Other gateways wrote meanwhile, also the hashes that were left out here.
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
