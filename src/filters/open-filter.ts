// One filter in use. The filter serves one poll after the other, and knows which items its client has for certain.
import type { LogSelection } from "../chain/log-selection.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { orAborted } from "../lib/waiting.ts";
import type { Cursor, FilterRecord } from "./filter-record.ts";
import { KeptRecord, type KeptRecordOptions, type KeptRecordParts } from "./kept-record.ts";

/** The sending of the answer that a poll is part of. */
export type Delivery = {
  /** Calls `task` once: with true when the answer was handed to the network, with false when it never will be. */
  onSent(task: (wasSent: boolean) => void): void;
};

export type FoundItems = {
  readonly items: readonly RawJson[];
  /** More logs after the items, too many for memory: the server reads them from the store as it sends them. */
  readonly more?: LogSelection | undefined;
  /** Some items are of blocks that nodes gave, and that are not proven. */
  readonly isOfNodes?: true;
};

/** The items since a cursor, and the cursor after them. */
export type Changes = FoundItems & { readonly at: Cursor };

/** Finds the items since the client was at one of the cursors. */
export type FindChanges = (cursors: readonly Cursor[]) => Promise<Changes>;

/** The cursor after one poll. A poll is given up when its caller's deadline passed: the caller got an error instead. */
type Step = { readonly at: Cursor; readonly isGivenUp: () => boolean };

/** The most by which `usedAtMs` in the state may lag behind the last use, in milliseconds. */
export const WRITTEN_LATE_MS = 60_000;
/** In milliseconds: the wait for another process to note that its answer was sent, and the pause between two reads. */
const ELSEWHERE_TIMEOUT_MS = 1_000;
const LOOK_AGAIN_MS = 5;
/** After this time no answer of another process is under way any more, in milliseconds. */
const ELSEWHERE_AT_MOST_MS = 5_000;

export class OpenFilter {
  usedAtMs: number;
  readonly #kept: KeptRecord;
  /** The chain had no items between the cursor of the record `since` and the cursor `at`; that is not worth a write. */
  #seen: { readonly since: FilterRecord; readonly at: Cursor } | undefined;
  /** The answer that the server is sending, with the polls in it. */
  #onItsWay:
    | { readonly delivery: Delivery; readonly steps: Step[]; readonly settled: Promise<void> }
    | undefined;
  #inLine = 0;
  /** Whether other processes may poll the filter, too. */
  readonly #isShared: boolean;
  readonly #clock: Pick<Clock, "now" | "sleep">;

  constructor(
    options: KeptRecordOptions & { usedAtMs: number; isShared: boolean },
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

  /** As `KeptRecord.close`. */
  close(): Promise<void> {
    return this.#kept.close();
  }

  /** Notes a use other than a poll. @returns false when the filter is gone. */
  async use(nowMs: number): Promise<boolean> {
    this.usedAtMs = nowMs;
    if (!this.#isShared) return true;
    return this.#kept.inTurn(async () => {
      if (!(await this.#kept.refresh())) return false;
      const isOld = nowMs - this.record.usedAtMs > WRITTEN_LATE_MS;
      if (isOld && !this.#onItsWay && !this.#kept.hasPendingWrite)
        await this.#kept.write({ usedAtMs: nowMs });
      return true;
    });
  }

  /**
   * The items since the last poll whose answer was sent. A poll waits until the previous answer was sent or lost, so
   * that the client gets each item once, and loses none with an answer that does not arrive.
   * @returns undefined when the filter is gone.
   */
  async poll(
    findChanges: FindChanges,
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
        this.#take(findChanges, poll).finally(() => {
          this.#inLine -= 1;
        }),
      );
      const changes = await (isAlone ? turn : orAborted(turn, caller.signal, giveUp));
      if (changes === "gone") return undefined;
      if (changes !== "again") return changes;
    }
  }

  async #take(
    findChanges: FindChanges,
    { delivery, nowMs, isGivenUp }: Pick<Step, "isGivenUp"> & { delivery: Delivery; nowMs: number },
  ): Promise<Changes | "gone" | "again"> {
    // The answer of another poll may be under way by now.
    if (this.#onItsWay && this.#onItsWay.delivery !== delivery) return "again";
    const kept = this.#kept;
    if (!(await kept.refresh())) return "gone";
    await kept.flush();
    if (this.#isShared && !(await this.#answeredElsewhere(nowMs))) return "gone";
    const changes = await findChanges(this.#cursors());
    const { unacknowledged } = this.record;
    const acknowledged = this.#acknowledged;
    if (changes.items.length > 0 || changes.more) {
      const next = {
        acknowledged,
        unacknowledged: [...unacknowledged, changes.at],
        usedAtMs: nowMs,
      };
      if (!(await kept.writeOrDefer(next, { unacknowledged }))) return "again";
      this.#send(delivery, { at: changes.at, isGivenUp }, unacknowledged);
      return changes;
    }
    if (this.#onItsWay) return changes;
    // The chain has no items since any cursor at which the client may be: the newest cursor stands for all.
    if (unacknowledged.length > 0)
      return (await kept.write({ acknowledged: changes.at, unacknowledged: [] }))
        ? changes
        : "again";
    this.#seen = { since: this.record, at: changes.at };
    const isOld = nowMs - this.record.usedAtMs > WRITTEN_LATE_MS;
    return !isOld || (await kept.write({ acknowledged, usedAtMs: nowMs })) ? changes : "again";
  }

  /**
   * Waits a little while another process is sending an answer: the client polls here next, and must not get items twice.
   * @returns false when the filter is gone.
   */
  async #answeredElsewhere(nowMs: number): Promise<boolean> {
    const giveUpAt = this.#clock.now() + ELSEWHERE_TIMEOUT_MS;
    const isUnclear = (): boolean =>
      !this.#onItsWay &&
      this.record.unacknowledged.length > 0 &&
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
    if (last) return [last.at]; // one batch polls twice
    return [this.#acknowledged, ...this.record.unacknowledged];
  }

  /** The cursor at which the client is for certain. */
  get #acknowledged(): Cursor {
    return this.#seen?.since === this.record ? this.#seen.at : this.record.acknowledged;
  }

  #send(delivery: Delivery, step: Step, unacknowledged: readonly Cursor[]): void {
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
      // The next poll does not depend on this write: if the write is lost, the poll starts from more cursors.
      this.#kept.writeLater(
        arrived ? { acknowledged: arrived, unacknowledged: [] } : { unacknowledged },
      );
      settle();
    });
  }
}

/** The cursor of the last step before the first given-up step, whose items the client did not get. */
function lastDelivered(steps: readonly Step[]): Cursor | undefined {
  const end = steps.findIndex(({ isGivenUp }) => isGivenUp());
  return steps.slice(0, end < 0 ? steps.length : end).at(-1)?.at;
}
