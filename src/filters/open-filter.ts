// One filter while it is used: one poll after the other, and how far its client was told for certain.
import type { RawJson } from "../jsonrpc/envelope.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { orAborted } from "../lib/or-aborted.ts";
import type { State } from "../state/state.ts";
import { type Cursor, decodeFilter, encodeFilter, type FilterRecord } from "./filter-record.ts";

/** The sending of the answer that a poll is part of. */
export type Delivery = {
  /** Calls `task` once, when the answer was handed to the network, or when it never will be. */
  onSent(task: (wasSent: boolean) => void): void;
};

export type Changes = { readonly items: readonly RawJson[]; readonly at: Cursor };

/** What happened since a client was in one of the places. */
export type Look = (places: readonly Cursor[]) => Promise<Changes>;

/** What one poll told. Given up: its caller's time was over, and it was told an error instead. */
type Step = { readonly at: Cursor; readonly isGivenUp: () => boolean };

/** How much later than in memory a use may be written, in milliseconds. */
const WRITTEN_LATE_MS = 60_000;

export class OpenFilter {
  record: FilterRecord;
  usedAtMs: number;
  /** What is kept of it now. */
  #text: string;
  /** Nothing happened between `record.told` and here. Newer than the record, and not written for itself. */
  #seen: Cursor | undefined;
  /** An answer on its way. */
  #onItsWay:
    | { readonly delivery: Delivery; readonly steps: Step[]; readonly settled: Promise<void> }
    | undefined;
  /** The poll that runs. */
  #turn: Promise<unknown> = Promise.resolve();
  #inLine = 0;
  readonly #key: string;
  readonly #state: State;

  constructor(options: { key: string; text: string; usedAtMs: number }, parts: { state: State }) {
    this.#key = options.key;
    this.#text = options.text;
    this.usedAtMs = options.usedAtMs;
    this.record = decodeFilter(options.text);
    this.#state = parts.state;
  }

  /** Resolves when nothing is left to be written. */
  async atRest(): Promise<void> {
    await this.#turn;
  }

  /**
   * What happened since the last poll whose answer was sent. The next poll waits until this one's
   * answer is: so nothing is told twice, and nothing is lost with an answer that does not arrive.
   *
   * @returns undefined when the filter is gone.
   */
  async poll(
    look: Look,
    caller: { readonly delivery: Delivery; readonly signal: AbortSignal },
    nowMs: number,
  ): Promise<Changes | undefined> {
    this.usedAtMs = nowMs;
    let hasGivenUp = false;
    const poll = { delivery: caller.delivery, nowMs, isGivenUp: () => hasGivenUp };
    const giveUp = (): Error => {
      hasGivenUp = true;
      return errors.upstreamTimeout();
    };
    for (;;) {
      const onItsWay = this.#onItsWay;
      if (onItsWay && onItsWay.delivery !== caller.delivery) {
        await orAborted(onItsWay.settled, caller.signal, giveUp);
        continue;
      }
      const isAlone = this.#inLine === 0;
      this.#inLine += 1;
      const turn = this.#turn
        .then(() => this.#take(look, poll))
        .finally(() => {
          this.#inLine -= 1;
        });
      this.#turn = turn.catch(() => undefined);
      const changes = await (isAlone ? turn : orAborted(turn, caller.signal, giveUp));
      if (changes === "gone") return undefined;
      if (changes !== "again") return changes;
    }
  }

  async #take(
    look: Look,
    { delivery, nowMs, isGivenUp }: Pick<Step, "isGivenUp"> & { delivery: Delivery; nowMs: number },
  ): Promise<Changes | "gone" | "again"> {
    // Another poll may have been first in line.
    if (this.#onItsWay && this.#onItsWay.delivery !== delivery) return "again";
    if (!(await this.#refresh())) return "gone";
    const changes = await look(this.#places());
    const { unsure } = this.record;
    const told = this.#seen ?? this.record.told;
    if (changes.items.length > 0) {
      const next = { told, unsure: [...unsure, changes.at], usedAtMs: nowMs };
      if (!(await this.#write(next))) return "again";
      this.#send(delivery, { at: changes.at, isGivenUp }, unsure);
      return changes;
    }
    if (this.#onItsWay) return changes;
    // Nothing happened since wherever the client may be: it is here.
    if (unsure.length > 0)
      return (await this.#write({ told: changes.at, unsure: [] })) ? changes : "again";
    this.#seen = changes.at;
    const isOld = nowMs - this.record.usedAtMs > WRITTEN_LATE_MS;
    return !isOld || (await this.#write({ told, usedAtMs: nowMs })) ? changes : "again";
  }

  /** Another process may have polled it. @returns false when the filter is gone. */
  async #refresh(): Promise<boolean> {
    const text = await this.#state.get(this.#key);
    if (text === undefined) return false;
    if (text === this.#text) return true;
    this.#text = text;
    this.record = decodeFilter(text);
    this.#seen = undefined;
    return true;
  }

  /** Where the client may be. */
  #places(): readonly Cursor[] {
    const last = this.#onItsWay?.steps.at(-1);
    if (last) return [last.at]; // a batch that polls twice
    const { told, unsure } = this.record;
    return [this.#seen ?? told, ...unsure];
  }

  #send(delivery: Delivery, step: Step, unsure: readonly Cursor[]): void {
    if (this.#onItsWay) {
      this.#onItsWay.steps.push(step);
      return;
    }
    let settle: () => void = () => undefined;
    const settled = new Promise<void>((resolve) => {
      settle = resolve;
    });
    const steps = [step];
    this.#onItsWay = { delivery, steps, settled };
    delivery.onSent((wasSent) => {
      const arrived = wasSent ? lastTold(steps) : undefined;
      if (arrived) this.#seen = undefined;
      this.#onItsWay = undefined;
      const next = arrived ? { told: arrived, unsure: [] } : { unsure };
      // Not waited for by this answer: were it lost, the next poll would only be unsure.
      this.#turn = this.#turn.then(() => this.#write(next)).catch(() => undefined);
      settle();
    });
  }

  async #write(changed: Partial<Record<keyof FilterRecord, unknown>>): Promise<boolean> {
    const record = { ...this.record, ...changed } as FilterRecord;
    const text = encodeFilter(record);
    if (!(await this.#state.replace(this.#key, this.#text, text))) return false;
    this.record = record;
    this.#text = text;
    return true;
  }
}

/** What came behind a step that was given up was not told in one row with what came before. */
function lastTold(steps: readonly Step[]): Cursor | undefined {
  const end = steps.findIndex(({ isGivenUp }) => isGivenUp());
  return steps.slice(0, end < 0 ? steps.length : end).at(-1)?.at;
}
