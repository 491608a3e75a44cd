// A state in memory for tests: it may be slow or away, lose the answers to changes, and make changes late.
import type { OperationId } from "../../src/lib/outbox.ts";
import type { TakeRequest } from "../../src/lib/token-bucket.ts";
import {
  addIn,
  appendIn,
  once,
  readJournalIn,
  type TextTable,
  takeIn,
  updateIn,
} from "../../src/state/operations.ts";
import type {
  Addition,
  AppendRequest,
  Entry,
  JournalPart,
  Next,
  State,
  TakeResult,
  Updated,
  UpdateOptions,
} from "../../src/state/state.ts";

type StateClock = {
  wallTime(): number;
  after(ms: number, task: () => void): unknown;
};

export class MemoryState implements State {
  readonly texts = new Map<string, string>();
  /** The time of a round trip: half of it before the operation, and half after it. */
  latencyMs = 0;
  isAway = false;
  /** Makes changes, but fails their answers. */
  losesAnswers = false;
  /** The fates of the next changes, all of which lose their answer; taken from the front. */
  readonly lost: ("applied" | "never" | "late")[] = [];
  /** The number of operations: each is one round trip. */
  roundTrips = 0;
  /** The number of requested changes. */
  changes = 0;
  /** Changes with the fate `late`. */
  readonly #late: (() => void)[] = [];
  readonly #clock: StateClock;
  readonly #table: TextTable = {
    get: (key) => this.texts.get(key),
    set: (key, text) => {
      if (text === undefined) this.texts.delete(key);
      else this.texts.set(key, text);
    },
  };

  /** Without a clock operations take no time, and no time passes for limits. */
  constructor(parts: { clock: StateClock } = { clock: TIMELESS }) {
    this.#clock = parts.clock;
  }

  get(key: string): Promise<string | undefined> {
    return this.#answer(() => this.texts.get(key));
  }

  list(prefix: string): Promise<readonly Entry[]> {
    return this.#answer(() =>
      [...this.texts]
        .filter(([key]) => key.startsWith(prefix))
        .sort(([one], [other]) => Buffer.compare(Buffer.from(one), Buffer.from(other)))
        .map(([key, text]) => ({ key, text })),
    );
  }

  async update(keys: readonly string[], next: Next, { id }: UpdateOptions = {}): Promise<Updated> {
    let updated: Updated | undefined;
    const act = (): string | undefined => {
      updated = updateIn(this.#table, keys, next);
      return updated.isChanged ? "" : undefined;
    };
    await this.#change(() => (id ? this.#once(id, act) : act()));
    return updated ?? { isChanged: true, texts: keys.map(this.#table.get) };
  }

  async take(key: string, request: TakeRequest, id: OperationId): Promise<TakeResult> {
    const act = (): string =>
      JSON.stringify(takeIn(this.#table, key, request, this.#clock.wallTime()));
    return JSON.parse(await this.#change(() => this.#once(id, act))) as TakeResult;
  }

  async add(additions: readonly Addition[], id: OperationId): Promise<void> {
    await this.#change(() =>
      this.#once(id, () => {
        addIn(this.#table, additions);
        return "";
      }),
    );
  }

  append(journal: string, request: AppendRequest): Promise<JournalPart> {
    return this.#change(() => appendIn(this.#table, journal, request));
  }

  readFrom(journal: string, at: number): Promise<JournalPart> {
    return this.#answer(() => readJournalIn(this.#table, journal, at));
  }

  async close(): Promise<void> {}

  /** Makes the late changes. */
  arrive(): void {
    for (const change of this.#late.splice(0)) {
      try {
        change();
      } catch {
        // The change is too late.
      }
    }
  }

  #once<Answer extends string | undefined>(id: OperationId, act: () => Answer): Answer | string {
    return once(this.#table, { ...id, nowMs: this.#clock.wallTime() }, act);
  }

  #change<Value>(change: () => Value): Promise<Value> {
    this.changes += 1;
    const fate = this.lost.shift();
    return this.#answer(() => {
      if (fate === "late") this.#late.push(change);
      if (fate === "late" || fate === "never") throw new Error("no answer");
      const value = change();
      if (fate === "applied" || this.losesAnswers) throw new Error("no answer");
      return value;
    });
  }

  async #answer<Value>(look: () => Value): Promise<Value> {
    this.roundTrips += 1;
    if (this.isAway) throw new Error("away");
    if (this.latencyMs > 0) await this.#after(this.latencyMs / 2);
    const value = look();
    if (this.latencyMs > 0) await this.#after(this.latencyMs / 2);
    return value;
  }

  #after(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#clock.after(ms, () => resolve());
    });
  }
}

const TIMELESS: StateClock = { wallTime: () => 0, after: (_ms, task) => task() };
