// A state whose urgent changes take effect even while the state cannot be written, as on a full disk: a revoked key lets
// nobody in, and a drained upstream gets no calls. Readers of this state see such a change at once; the state writes it
// when it can (docs/decisions/0063).
import type { Logger } from "pino";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import { Mutex } from "../lib/mutex.ts";
import type { Entry, Next, State, Updated, UpdateOptions } from "./state.ts";

/** The held texts by key; undefined: the change removes the text. */
export type HeldTexts = ReadonlyMap<string, string | undefined>;

export type HeldStateParts = {
  /** Called with all held texts whenever they change. */
  readonly onChange?: (held: HeldTexts) => void;
  readonly clock: Pick<Clock, "after">;
  readonly log: Pick<Logger, "info" | "warn" | "error">;
};

type Change = { readonly keys: readonly string[]; readonly next: Next };

/** The most held changes: beyond it a full disk refuses urgent changes too, so that a flood takes little memory. */
export const MOST_HELD = 1_000;
const AGAIN_MS = 1_000;
const NOTHING: HeldTexts = new Map();

export class HeldState implements State {
  /** The held changes, oldest first. */
  readonly #changes: Change[] = [];
  #texts: HeldTexts = NOTHING;
  readonly #turns = new Mutex();
  #stopTimer: (() => void) | undefined;
  readonly #state: State;
  readonly #parts: HeldStateParts;

  constructor(state: State, parts: HeldStateParts) {
    this.#state = state;
    this.#parts = parts;
  }

  /** Shows to readers the texts that this process, or another process, holds. */
  show(held: HeldTexts): void {
    this.#texts = held;
    this.#parts.onChange?.(held);
  }

  get held(): HeldTexts {
    return this.#texts;
  }

  isHeld(key: string): boolean {
    return this.#texts.has(key);
  }

  async get(key: string): Promise<string | undefined> {
    return this.isHeld(key) ? this.#texts.get(key) : this.#state.get(key);
  }

  async list(prefix: string): Promise<readonly Entry[]> {
    const kept = await this.#state.list(prefix);
    if (this.#texts.size === 0) return kept;
    const texts = new Map(kept.map(({ key, text }) => [key, text] as const));
    for (const [key, text] of this.#texts) {
      if (text === undefined) texts.delete(key);
      else if (key.startsWith(prefix)) texts.set(key, text);
    }
    return [...texts]
      .map(([key, text]) => ({ key, text }))
      .sort((one, other) => Buffer.compare(Buffer.from(one.key), Buffer.from(other.key)));
  }

  async update(keys: readonly string[], next: Next, options: UpdateOptions = {}): Promise<Updated> {
    if (options.isUrgent !== true) {
      // The held changes are older: the state writes them before this change, or this change fails.
      const isBehind = this.#changes.some((held) => held.keys.some((key) => keys.includes(key)));
      if (isBehind) await this.#turns.run(() => this.#keepAll());
      return this.#state.update(keys, next, options);
    }
    try {
      // While older changes are held, this change waits behind them.
      if (this.#changes.length === 0) return await this.#state.update(keys, next, options);
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      return this.#turns.run(() => this.#hold({ keys, next }, error));
    }
    return this.#turns.run(() => this.#hold({ keys, next }));
  }

  async #hold({ keys, next }: Change, why?: RpcError): Promise<Updated> {
    const texts = await Promise.all(keys.map((key) => this.get(key)));
    const wanted = next(texts);
    if (!wanted) return { isChanged: false, texts };
    if (this.#changes.length >= MOST_HELD)
      throw why ?? errors.stateNotWritable("too many changes wait for it");
    this.#changes.push({ keys, next });
    this.show(new Map([...this.#texts, ...keys.map((key, at) => [key, wanted[at]] as const)]));
    const { log } = this.#parts;
    log.warn(
      { change: keys[0], reason: why?.message },
      "a change is in force in memory only, until the state can be written",
    );
    this.#keepLater();
    return { isChanged: true, texts: wanted };
  }

  /** Sets the timer of the next attempt to write. Later changes do not postpone the timer. */
  #keepLater(): void {
    this.#stopTimer ??= this.#parts.clock.after(AGAIN_MS, () => {
      this.#stopTimer = undefined;
      void this.#turns.run(() => this.#keepAll().catch(() => this.#keepLater()));
    });
  }

  /** Makes the held changes again over the present texts, so that no other change is lost. @throws When a write fails. */
  async #keepAll(): Promise<void> {
    for (let [change] = this.#changes; change; [change] = this.#changes) {
      await this.#state.update(change.keys, change.next);
      this.#changes.shift();
    }
    if (this.#texts.size === 0) return;
    this.show(NOTHING);
    this.#parts.log.info("the changes that were held in memory are written now");
  }

  readonly whyNotWritable = (): string | undefined => this.#state.whyNotWritable?.();

  // These operations are never urgent.
  readonly take: State["take"] = (...asked) => this.#state.take(...asked);
  readonly add: State["add"] = (...asked) => this.#state.add(...asked);
  readonly append: State["append"] = (...asked) => this.#state.append(...asked);
  readonly readFrom: State["readFrom"] = (...asked) => this.#state.readFrom(...asked);

  /** Tries once more to write the held changes. The log names the changes that are lost. */
  async close(): Promise<void> {
    if (this.#changes.length > 0)
      await this.#turns.run(() => this.#keepAll().catch(() => undefined));
    this.#stopTimer?.();
    const lost = [...new Set(this.#changes.flatMap(({ keys }) => keys[0] ?? []))];
    if (lost.length > 0)
      this.#parts.log.error(
        { changes: lost },
        "the state cannot be written: these changes are lost with this process, and have to be made again",
      );
    await this.#state.close();
  }
}
