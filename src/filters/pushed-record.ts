// The record of a subscription: the cursors up to which items were found, each with the number of notifications up to it. A process
// writes the record before it pushes the items, so that a client that counts its notifications can resume at
// its count, whichever process died meanwhile.
import type { State, Texts } from "../state/state.ts";
import {
  type Cursor,
  type CursorPosition,
  encodeFilter,
  type FilterQuestion,
  type StoredFilter,
} from "./filter-record.ts";

/** A client that received `count` notifications, over the subscription's life, is at the cursor `at`. */
export type PushedStep = { readonly count: number; readonly at: Cursor };

export type PushedState = {
  /** The name of the pusher; a pusher that takes the subscription over writes another name. */
  readonly by: string;
  readonly asked: FilterQuestion;
  /** As in the record that was made first. */
  readonly weight?: number | undefined;
  readonly holder: string;
  readonly usedAtMs: number;
  /** The number of notifications that the client has certainly received. */
  readonly arrived: number;
  /** Oldest first. The count of the first step is at most `arrived`. */
  readonly steps: readonly PushedStep[];
};

export function encodePushed({ by, asked, steps, ...common }: PushedState): string {
  const [acknowledged, ...unacknowledged] = steps.map(({ at }, index) =>
    withoutPath(at, steps[index + 1]?.at),
  );
  const counts = steps.map(({ count }) => count);
  // `by` stands first in the text: see `stateOf`.
  const cursors = { acknowledged, unacknowledged };
  const record = { by, ...asked, ...common, isPushed: true, counts, ...cursors };
  return encodeFilter(record as unknown as StoredFilter);
}

/** The outcome of a write: done, another process pushes the subscription now, or the subscription was ended. */
export type WriteOutcome = "written" | "taken over" | "gone";

const stateOf = (text: string | undefined, by: string): WriteOutcome => {
  if (text === undefined) return "gone";
  return text.startsWith(`{"by":"${by}"`) ? "written" : "taken over";
};

/** The cursor without its path, if the path of the next step includes the cursor. */
const withoutPath = (at: Cursor, next: Cursor | undefined): Cursor =>
  "hash" in at && next !== undefined && pathFrom(at, next)
    ? { number: at.number, hash: at.hash }
    : at;

/** The path of `over` from a position downwards; undefined when that path does not pass the position. */
function pathFrom({ hash }: CursorPosition, over: Cursor): CursorPosition["path"] {
  const path = "hash" in over ? over.path : undefined;
  const index = path?.findIndex((block) => block.hash === hash) ?? -1;
  return index < 0 ? undefined : path?.slice(index);
}

/** The steps of a record, each with its own path. */
function stepsOf({
  acknowledged,
  unacknowledged,
  counts = [0],
}: StoredFilter): readonly PushedStep[] {
  let next: Cursor | undefined;
  const steps = [acknowledged, ...unacknowledged].map((at, index) => ({
    count: counts[index] ?? 0,
    at,
  }));
  return steps
    .reverse()
    .map((step) => {
      const path = next && "hash" in step.at && !step.at.path ? pathFrom(step.at, next) : undefined;
      next = path ? { ...step.at, path } : step.at;
      return { ...step, at: next };
    })
    .reverse();
}

/** The position of a client that counts: after the last of these steps, or within the changes that end with that step. */
export type ResumePosition = {
  readonly steps: readonly PushedStep[];
  /** The number of notifications up to the last step that the client lacks. */
  readonly missing: number;
};

/** @returns "unknown" when the record no longer has so low a count, "untold" when no process pushed so many. */
export function resumePositionOf(
  record: StoredFilter,
  received: number,
): ResumePosition | "unknown" | "untold" {
  const steps = stepsOf(record);
  if (received < (steps[0]?.count ?? 0)) return "unknown";
  const last = steps.findIndex(({ count }) => count >= received);
  const step = steps[last];
  if (!step) return "untold";
  const missing = step.count - received;
  // For new heads each block is one notification, so the client is at a block.
  const at = missing > 0 && record.kind === "heads" ? below(step.at, missing) : undefined;
  if (at) return { steps: [...steps.slice(0, last), { count: received, at }], missing: 0 };
  return { steps: steps.slice(0, last + 1), missing };
}

function below(at: Cursor, blocks: number): CursorPosition | undefined {
  const path = "hash" in at ? at.path?.slice(blocks) : undefined;
  const block = path?.[0];
  return path && block && "hash" in at
    ? { number: at.number - blocks, hash: block.hash, path }
    : undefined;
}

type Write = {
  readonly key: string;
  readonly by: string;
  readonly known: string;
  readonly text: string;
  readonly resolve: (noted: WriteOutcome) => void;
  readonly reject: (error: unknown) => void;
};

/** The most records that are written in one step of the state. */
const WRITTEN_AT_ONCE = 2_000;
/** The most steps that run at the same time: a later write need not wait for an earlier one. */
const STEPS_AT_ONCE = 4;

/** Writes the records of many subscriptions in one step of the state. */
export class PushedRecords {
  #waiting: Write[] = [];
  /** The keys whose writes are under way: the texts of one record are written one after the other. */
  readonly #underWay = new Set<string>();
  #steps = 0;
  #isPlanned = false;
  readonly #state: Pick<State, "update">;

  constructor(parts: { readonly state: Pick<State, "update"> }) {
    this.#state = parts.state;
  }

  /**
   * @param write.known The text that this process wrote last.
   * @throws While the state is away; the record may have been written all the same.
   */
  write(write: Pick<Write, "key" | "by" | "known" | "text">): Promise<WriteOutcome> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...write, resolve, reject });
      if (!this.#isPlanned) void this.#plan();
    });
  }

  async #plan(): Promise<void> {
    this.#isPlanned = true;
    await undefined; // collects the writes of all subscriptions to which the same block is pushed
    this.#isPlanned = false;
    await this.#begin();
  }

  async #begin(): Promise<void> {
    while (this.#steps < STEPS_AT_ONCE) {
      const some = this.#take();
      if (some.length === 0) return;
      this.#steps += 1;
      await this.#writeSome(some);
      this.#steps -= 1;
      for (const { key } of some) this.#underWay.delete(key);
    }
  }

  #take(): readonly Write[] {
    const some: Write[] = [];
    this.#waiting = this.#waiting.filter((write) => {
      if (some.length === WRITTEN_AT_ONCE || this.#underWay.has(write.key)) return true;
      this.#underWay.add(write.key);
      some.push(write);
      return false;
    });
    return some;
  }

  /** Never rejects. */
  async #writeSome(some: readonly Write[]): Promise<void> {
    let noted: readonly WriteOutcome[] = [];
    const next = (texts: Texts): Texts => {
      noted = some.map(({ by }, index) => stateOf(texts[index], by));
      return some.map(({ text }, index) => (noted[index] === "written" ? text : texts[index]));
    };
    const keys = some.map(({ key }) => key);
    try {
      await this.#state.update(keys, next, { known: some.map(({ known }) => known) });
      for (const [index, { resolve }] of some.entries()) resolve(noted[index] ?? "gone");
    } catch (error) {
      for (const { reject } of some) reject(error);
    }
  }
}
