// One filter while it is used. It takes one poll after the other, and knows which items its client has for certain.
import type { LogSelection } from "../chain/log-selection.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { orAborted } from "../lib/waiting.ts";
import type { Cursor, FilterRecord } from "./filter-record.ts";
import { KeptRecord, type KeptRecordParts } from "./kept-record.ts";

/** How the answer that a poll is part of is sent. */
export type Delivery = {
  /** Calls `task` once, when the answer was handed to the network, or when it never will be. */
  onSent(task: (wasSent: boolean) => void): void;
};

export type Changes = {
  readonly items: readonly RawJson[];
  /** More logs after the items, too many to be held: they are read when they are sent. */
  readonly more?: LogSelection | undefined;
  readonly at: Cursor;
};

/** Finds the items since a client was at one of the cursors. */
export type Look = (cursors: readonly Cursor[]) => Promise<Changes>;

/** One poll. It is given up when the caller's time was up and the caller got an error instead. */
type Step = { readonly at: Cursor; readonly isGivenUp: () => boolean };

/** How much later than in memory a use may be written, in milliseconds. */
export const WRITTEN_LATE_MS = 60_000;
/** How long another process may take to note that its answer was sent, and how often this is checked. */
const ELSEWHERE_TIMEOUT_MS = 1_000;
const LOOK_AGAIN_MS = 5;
/** After this time no answer of another process is on its way any more, in milliseconds. */
const ELSEWHERE_AT_MOST_MS = 5_000;

export class OpenFilter {
  usedAtMs: number;
  readonly #kept: KeptRecord;
  /** Nothing happened between the cursor in this record and the cursor `at`. It is not written for itself. */
  #seen: { readonly since: FilterRecord; readonly at: Cursor } | undefined;
  /** The answer that is being sent. */
  #onItsWay:
    | { readonly delivery: Delivery; readonly steps: Step[]; readonly settled: Promise<void> }
    | undefined;
  #inLine = 0;
  /** Whether other processes may poll it, too. */
  readonly #isShared: boolean;
  readonly #clock: Pick<Clock, "now" | "sleep">;

  constructor(
    options: { key: string; text: string; usedAtMs: number; isShared: boolean },
    parts: KeptRecordParts & { clock: Pick<Clock, "now" | "sleep"> },
  ) {
    this.#kept = new KeptRecord(options, parts);
    this.#isShared = options.isShared;
    this.usedAtMs = options.usedAtMs;
    this.#clock = parts.clock;
  }

  get record(): FilterRecord {
    return this.#kept.record;
  }

  /** Resolves when nothing is left to write, or the state is away. */
  atRest(): Promise<void> {
    return this.#kept.atRest();
  }

  /** As `atRest`, but what cannot be written is not tried again. */
  close(): Promise<void> {
    return this.#kept.close();
  }

  /** Notes a use that is no poll. @returns false when the filter is gone. */
  async use(nowMs: number): Promise<boolean> {
    this.usedAtMs = nowMs;
    if (!this.#isShared) return true;
    return this.#kept.inTurn(async () => {
      if (!(await this.#kept.refresh())) return false;
      const isOld = nowMs - this.record.usedAtMs > WRITTEN_LATE_MS;
      if (isOld && !this.#onItsWay && !this.#kept.isOwed)
        await this.#kept.write({ usedAtMs: nowMs });
      return true;
    });
  }

  /**
   * The items since the last poll whose answer was sent. The next poll waits until this answer is sent, so no item is
   * answered twice, and none is lost with an answer that does not arrive.
   * @returns undefined when the filter is gone.
   */
  async poll(
    look: Look,
    caller: { readonly delivery: Delivery; readonly signal: Signal },
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
      const turn = this.#kept.inTurn(() =>
        this.#take(look, poll).finally(() => {
          this.#inLine -= 1;
        }),
      );
      const changes = await (isAlone ? turn : orAborted(turn, caller.signal, giveUp));
      if (changes === "gone") return undefined;
      if (changes !== "again") return changes;
    }
  }

  async #take(
    look: Look,
    { delivery, nowMs, isGivenUp }: Pick<Step, "isGivenUp"> & { delivery: Delivery; nowMs: number },
  ): Promise<Changes | "gone" | "again"> {
    // Another poll may have come first.
    if (this.#onItsWay && this.#onItsWay.delivery !== delivery) return "again";
    const kept = this.#kept;
    if (!(await kept.refresh())) return "gone";
    await kept.pay();
    if (this.#isShared && !(await this.#answeredElsewhere(nowMs))) return "gone";
    const changes = await look(this.#cursors());
    const { unsure } = this.record;
    const told = this.#toldAt;
    if (changes.items.length > 0 || changes.more) {
      const next = { told, unsure: [...unsure, changes.at], usedAtMs: nowMs };
      if (!(await kept.writeOrOwe(next, { unsure }))) return "again";
      this.#send(delivery, { at: changes.at, isGivenUp }, unsure);
      return changes;
    }
    if (this.#onItsWay) return changes;
    // Nothing happened since any cursor at which the client may be: so it is here.
    if (unsure.length > 0)
      return (await kept.write({ told: changes.at, unsure: [] })) ? changes : "again";
    this.#seen = { since: this.record, at: changes.at };
    const isOld = nowMs - this.record.usedAtMs > WRITTEN_LATE_MS;
    return !isOld || (await kept.write({ told, usedAtMs: nowMs })) ? changes : "again";
  }

  /**
   * Waits a little while another process is sending an answer: its client polls here next, and must not be told twice.
   * @returns false when the filter is gone.
   */
  async #answeredElsewhere(nowMs: number): Promise<boolean> {
    const giveUpAt = this.#clock.now() + ELSEWHERE_TIMEOUT_MS;
    const isUnclear = (): boolean =>
      !this.#onItsWay &&
      this.record.unsure.length > 0 &&
      nowMs - this.record.usedAtMs < ELSEWHERE_AT_MOST_MS;
    while (isUnclear() && this.#clock.now() < giveUpAt) {
      await this.#clock.sleep(LOOK_AGAIN_MS);
      if (!(await this.#kept.refresh())) return false;
    }
    return true;
  }

  /** All cursors at which the client may be. */
  #cursors(): readonly Cursor[] {
    const last = this.#onItsWay?.steps.at(-1);
    if (last) return [last.at]; // the same batch polls twice
    return [this.#toldAt, ...this.record.unsure];
  }

  /** The cursor at which the client is for certain. */
  get #toldAt(): Cursor {
    return this.#seen?.since === this.record ? this.#seen.at : this.record.told;
  }

  #send(delivery: Delivery, step: Step, unsure: readonly Cursor[]): void {
    if (this.#onItsWay) {
      this.#onItsWay.steps.push(step);
      return;
    }
    const { promise: settled, resolve: settle } = Promise.withResolvers<void>();
    const steps = [step];
    this.#onItsWay = { delivery, steps, settled };
    delivery.onSent((wasSent) => {
      const arrived = wasSent ? lastDelivered(steps) : undefined;
      this.#onItsWay = undefined;
      // This answer does not wait for the write: if the write is lost, the next poll only knows less.
      this.#kept.owe(arrived ? { told: arrived, unsure: [] } : { unsure });
      settle();
    });
  }
}

/** The last step before the first one that was given up, whose items the client did not get. */
function lastDelivered(steps: readonly Step[]): Cursor | undefined {
  const end = steps.findIndex(({ isGivenUp }) => isGivenUp());
  return steps.slice(0, end < 0 ? steps.length : end).at(-1)?.at;
}
