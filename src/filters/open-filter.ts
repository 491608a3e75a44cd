// One filter while it is used: one poll after the other, and how far its client was told for certain.
import type { RawJson } from "../jsonrpc/envelope.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
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
export const WRITTEN_LATE_MS = 60_000;
/** How long another process may take to note that its answer was sent, and how often that is looked for. */
const ELSEWHERE_PATIENCE_MS = 1_000;
const LOOK_AGAIN_MS = 5;
/** What another process began before that is not on its way any more, in milliseconds. */
const ELSEWHERE_AT_MOST_MS = 5_000;
/** How soon what could not be written is tried again, in milliseconds. */
const OWED_AGAIN_AFTER_MS = 250;

type Changed = Partial<Record<keyof FilterRecord, unknown>>;

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
  /**
   * What the state does not have yet, since it could not be reached: where it has one of the texts, the
   * change is to be made. A write that failed may have happened.
   */
  #owed: { readonly texts: readonly string[]; readonly changed: Changed } | undefined;
  #isPaying = false;
  #isClosed = false;
  readonly #key: string;
  /** Other processes may poll it, too. */
  readonly #isShared: boolean;
  readonly #state: Pick<State, "get" | "replace">;
  readonly #clock: Pick<Clock, "now" | "sleep">;

  constructor(
    options: { key: string; text: string; usedAtMs: number; isShared: boolean },
    parts: { state: Pick<State, "get" | "replace">; clock: Pick<Clock, "now" | "sleep"> },
  ) {
    this.#key = options.key;
    this.#text = options.text;
    this.#isShared = options.isShared;
    this.usedAtMs = options.usedAtMs;
    this.record = decodeFilter(options.text);
    this.#state = parts.state;
    this.#clock = parts.clock;
  }

  /** Resolves when nothing is left to be written, or the state is away. */
  async atRest(): Promise<void> {
    await this.#turn;
  }

  /** As `atRest`, and what cannot be written is not tried again. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#turn;
  }

  /** It is used without a poll. @returns false when it is gone. */
  async use(nowMs: number): Promise<boolean> {
    this.usedAtMs = nowMs;
    if (!this.#isShared) return true;
    const turn = this.#turn.then(async () => {
      if (!(await this.#refresh())) return false;
      const isOld = nowMs - this.record.usedAtMs > WRITTEN_LATE_MS;
      if (isOld && !this.#onItsWay && !this.#owed) await this.#write({ usedAtMs: nowMs });
      return true;
    });
    this.#turn = turn.catch(() => undefined);
    return turn;
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
    if (!(await this.#pay())) return "again";
    if (this.#isShared && !(await this.#answeredElsewhere(nowMs))) return "gone";
    const changes = await look(this.#places());
    const { unsure } = this.record;
    const told = this.#seen ?? this.record.told;
    if (changes.items.length > 0) {
      const next = { told, unsure: [...unsure, changes.at], usedAtMs: nowMs };
      if (!(await this.#writeOrOwe(next, { unsure }))) return "again";
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

  /**
   * Waits a little for another process whose answer is on its way: its client polls here next, and is not
   * told twice. @returns false when the filter is gone.
   */
  async #answeredElsewhere(nowMs: number): Promise<boolean> {
    const giveUpAt = this.#clock.now() + ELSEWHERE_PATIENCE_MS;
    const isUnclear = (): boolean =>
      !this.#onItsWay &&
      this.record.unsure.length > 0 &&
      nowMs - this.record.usedAtMs < ELSEWHERE_AT_MOST_MS;
    while (isUnclear() && this.#clock.now() < giveUpAt) {
      await this.#clock.sleep(LOOK_AGAIN_MS);
      if (!(await this.#refresh())) return false;
    }
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
      this.#owe([this.#text], next);
      settle();
    });
  }

  /** @param otherwise What holds when the write failed: nobody is told anything then. */
  async #writeOrOwe(changed: Changed, otherwise: Changed): Promise<boolean> {
    try {
      return await this.#write(changed);
    } catch (error) {
      this.#owe([encodeFilter(this.#with(changed))], otherwise);
      throw error;
    }
  }

  #owe(texts: readonly string[], changed: Changed): void {
    this.#owed = { texts: [...texts, ...(this.#owed?.texts ?? [])], changed };
    if (!this.#isPaying) void this.#payAgainAndAgain();
  }

  /** In turn with the polls; another process may poll next, and is not to wait for one here. */
  async #payAgainAndAgain(): Promise<void> {
    this.#isPaying = true;
    for (let isFirst = true; this.#owed && (isFirst || !this.#isClosed); isFirst = false) {
      if (!isFirst) await this.#clock.sleep(OWED_AGAIN_AFTER_MS);
      const turn = this.#turn.then(async () => {
        const isUpToDate = isFirst && this.#owed?.texts.includes(this.#text);
        if (!isUpToDate && !(await this.#refresh())) this.#owed = undefined;
        await this.#pay();
      });
      this.#turn = turn.catch(() => undefined);
      await this.#turn;
    }
    this.#isPaying = false;
  }

  /** @returns false when another process was faster. */
  async #pay(): Promise<boolean> {
    const owed = this.#owed;
    if (!owed) return true;
    if (owed.texts.includes(this.#text) && !(await this.#write(owed.changed))) return false;
    this.#owed = undefined;
    return true;
  }

  #with(changed: Changed): FilterRecord {
    return { ...this.record, ...changed } as FilterRecord;
  }

  async #write(changed: Changed): Promise<boolean> {
    const record = this.#with(changed);
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
