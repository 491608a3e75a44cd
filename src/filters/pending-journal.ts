// The pending transactions of one network, as its nodes tell them: merged, each hash once, in the order
// first seen, and not without bound. Nodes are listened to only while somebody has a filter for it. Of
// several gateways one writes the journal; the others listen too, to go on when it is gone.
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import { within } from "../lib/within.ts";
import type { State } from "../state/state.ts";
import type { Pool } from "../upstream/pool.ts";
import { JournalCopy } from "./journal-copy.ts";
import { JournalLease } from "./journal-lease.ts";
import { PendingSources } from "./pending-sources.ts";

/** What a filter for pending transactions needs of whoever has them. */
export type Journal = {
  /** @param sequences Where the kept filters are. */
  start(sequences: readonly number[]): Promise<void>;
  close(): Promise<void>;
  /** Where a new filter begins. @throws RpcError */
  begin(caller: { readonly signal: AbortSignal }): Promise<number>;
  /** The first `most` hashes since then, as JSON; undefined when some of them are no longer kept. */
  since(sequence: number, most?: number): Promise<Pending | undefined>;
};

export type Pending = { readonly items: string[]; readonly at: { readonly sequence: number } };

/** So many hashes are kept; a filter that fell behind them is lost. */
const KEPT = 32_768;
const FORGOTTEN_AT_ONCE = 4_096;
/** So many wait to be written while the state is away, or another gateway writes. */
const WAITING_AT_MOST = 2 * KEPT;
/** So many are written in one step. */
const WRITTEN_AT_ONCE = 512;
/** Longer than any filter lives without a poll, in milliseconds. */
const REST_AFTER_MS = 360_000;
/** How long the making of a filter waits for some node, in milliseconds. */
const PATIENCE_MS = 3_000;
/** So often the lease is renewed, or looked at. */
const RENEWED_EVERY_MS = 1_000;
/** How long a new filter waits for whoever writes, and how often it looks, in milliseconds. */
const WRITER_PATIENCE_MS = 1_000;
const LOOK_AGAIN_MS = 20;

export type JournalOptions = {
  readonly network: string;
  /** See `LeaseOptions`. */
  readonly gateway: string;
  /** Of the names of the family's methods. */
  readonly prefix: "eth" | "cfx";
};

export type JournalParts = {
  readonly pool: Pick<Pool, "usable" | "isSettled" | "onChange">;
  readonly state: State;
  readonly clock: Clock;
};

export class PendingJournal implements Journal {
  readonly #copy: JournalCopy;
  readonly #lease: JournalLease;
  readonly #sources: PendingSources;
  /** Told by nodes, and not in the journal. */
  readonly #unwritten = new Set<string>();
  /** The numbers below were told by filters. */
  #leastEnd = 0;
  /** So many have no number and never will: filters that would have told them are lost. */
  #left = 0;
  #usedAtMs = Number.NEGATIVE_INFINITY;
  /** undefined while nobody is listened to. */
  #listening: AbortController | undefined;
  /** What is done to the state, one after the other. */
  #turn: Promise<unknown> = Promise.resolve();
  #isFlushPlanned = false;
  readonly #parts: JournalParts;

  constructor({ network, gateway, prefix }: JournalOptions, parts: JournalParts) {
    this.#parts = parts;
    this.#copy = new JournalCopy({ network }, parts);
    this.#lease = new JournalLease({ key: `pending _owner ${network}`, gateway }, parts);
    this.#sources = new PendingSources(
      { prefix },
      { ...parts, onHash: (hash) => this.#hear(hash) },
    );
  }

  /** With filters that are kept, nodes are listened to at once. */
  async start(sequences: readonly number[]): Promise<void> {
    // What was told and not written any more has its numbers all the same.
    this.#leastEnd = Math.max(0, ...sequences);
    if (sequences.length > 0) this.listen();
  }

  async close(): Promise<void> {
    if (!this.#listening) return;
    this.#listening.abort();
    await this.#inTurn(() => this.#flush()).catch(() => undefined);
    await this.#lease.release().catch(() => undefined);
  }

  /** @throws RpcError -32601 when no node tells of pending transactions, 503 when none could be asked. */
  async begin(caller: { readonly signal: AbortSignal }): Promise<number> {
    this.listen();
    const { clock } = this.#parts;
    const giveUpAt = clock.now() + PATIENCE_MS;
    for (;;) {
      const { state } = this.#sources;
      if (state === "open") return this.#caughtUp();
      if (state === "nobody") throw errors.nobodyTellsPending();
      if (caller.signal.aborted || clock.now() >= giveUpAt) throw errors.noUpstream();
      await this.#sources.change(giveUpAt - clock.now());
    }
  }

  async since(sequence: number, most = Number.POSITIVE_INFINITY): Promise<Pending | undefined> {
    this.listen();
    await this.#inTurn(() => this.#flush());
    if (sequence > this.#copy.end) await this.#inTurn(() => this.#copy.readAnew());
    return pendingOf(this.#copy.since(sequence, most), sequence);
  }

  /** The end, once all is here that the nodes know: what was there before a filter is not told by it. */
  async #caughtUp(): Promise<number> {
    const { clock } = this.#parts;
    await within(PATIENCE_MS, this.#sources.catchUp(), { clock });
    await this.#inTurn(() => this.#flush());
    const giveUpAt = clock.now() + WRITER_PATIENCE_MS;
    // Another gateway writes: what was told here was told there.
    while (this.#unwritten.size > 0 && clock.now() < giveUpAt) {
      await clock.sleep(LOOK_AGAIN_MS);
      await this.#inTurn(() => this.#flush());
    }
    return this.#copy.end;
  }

  /** Somebody has a filter. */
  listen(): void {
    this.#usedAtMs = this.#parts.clock.now();
    if (this.#listening) return;
    const listening = new AbortController();
    this.#listening = listening;
    this.#inTurn(() => this.#takeUp()).catch(() => undefined);
    this.#sources.listen(listening.signal);
    void this.#renewAgainAndAgain(listening);
  }

  async #renewAgainAndAgain(listening: AbortController): Promise<void> {
    const { clock } = this.#parts;
    const { signal } = listening;
    while (!signal.aborted) {
      await clock.sleep(RENEWED_EVERY_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
      const isUnused = clock.now() - this.#usedAtMs >= REST_AFTER_MS;
      if (isUnused) this.#listening = undefined;
      if (isUnused) listening.abort();
      // While the state is away, it is tried again.
      await this.#inTurn(() => (isUnused ? this.#lease.release() : this.#renew())).catch(
        () => undefined,
      );
    }
  }

  #hear(hash: string): void {
    if (this.#copy.has(hash)) return;
    this.#unwritten.add(hash);
    if (this.#unwritten.size > WAITING_AT_MOST) this.#leaveOldest();
    if (this.#isFlushPlanned) return;
    this.#isFlushPlanned = true;
    this.#inTurn(() => this.#flush()).catch(() => undefined); // then with the next renewal
  }

  #leaveOldest(): void {
    const [oldest] = this.#unwritten;
    if (oldest !== undefined) this.#unwritten.delete(oldest);
    if (this.#lease.isHeld) this.#left += 1;
  }

  #inTurn<Value>(task: () => Promise<Value>): Promise<Value> {
    const turn = this.#turn.then(task);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** Reads what is kept, and begins to write if nobody does. */
  async #takeUp(): Promise<void> {
    await this.#copy.readAnew();
    await this.#renew();
  }

  async #renew(): Promise<void> {
    const wasHeld = this.#lease.isHeld;
    const isHeld = await this.#lease.renew();
    if (isHeld && !wasHeld) await this.#beginToWrite();
    await this.#flush();
  }

  async #beginToWrite(): Promise<void> {
    const stale = await this.#copy.readAnew();
    for (let done = 0; done < stale.length; done += WRITTEN_AT_ONCE)
      if (!(await this.#change(stale.slice(done, done + WRITTEN_AT_ONCE)))) return;
    if (this.#copy.end < this.#leastEnd) await this.#skipTo(this.#leastEnd);
  }

  /** What comes is not one row with what was before. */
  async #skipTo(sequence: number): Promise<void> {
    const beginning = await this.#copy.beginningAt(sequence);
    if (await this.#change([beginning])) this.#copy.beginAt(sequence);
  }

  /** Writes what was heard, or reads what another one wrote. */
  async #flush(): Promise<void> {
    this.#isFlushPlanned = false;
    if (!this.#lease.isHeld) await this.#copy.catchUp();
    for (const hash of this.#unwritten) if (this.#copy.has(hash)) this.#unwritten.delete(hash);
    if (this.#lease.isHeld && this.#left > 0) {
      await this.#skipTo(this.#copy.end + this.#left);
      this.#left = 0;
    }
    while (this.#lease.isHeld && this.#unwritten.size > 0) {
      const hashes = [...this.#unwritten].slice(0, WRITTEN_AT_ONCE);
      if (!(await this.#change(this.#copy.additionsOf(hashes)))) return;
      this.#copy.add(hashes);
      for (const hash of hashes) this.#unwritten.delete(hash);
      await this.#forgetOld();
    }
  }

  async #forgetOld(): Promise<void> {
    if (this.#copy.end - this.#copy.first < KEPT + FORGOTTEN_AT_ONCE) return;
    for (let count = 0; count < FORGOTTEN_AT_ONCE; count += WRITTEN_AT_ONCE) {
      if (!(await this.#change(await this.#copy.removalsOf(WRITTEN_AT_ONCE)))) return;
      this.#copy.forget(WRITTEN_AT_ONCE);
    }
  }

  /** As the holder of the lease. Else, and when it is not clear what happened, the journal is read again. */
  async #change(changes: Parameters<State["change"]>[0]): Promise<boolean> {
    try {
      if (await this.#parts.state.change([this.#lease.condition, ...changes])) return true;
    } catch (error) {
      this.#lease.doubt();
      throw error;
    }
    this.#lease.doubt();
    return false;
  }
}

export const pendingOf = (
  hashes: readonly string[] | undefined,
  sequence: number,
): Pending | undefined =>
  hashes && {
    items: hashes.map((hash) => `"${hash}"`),
    at: { sequence: sequence + hashes.length },
  };
