// A state whose urgent changes hold even while it cannot be written, as on a full disk: a key that is revoked lets nobody in, a
// node that is drained is spared. Whoever reads here sees them at once, and they are written when that is possible
// (docs/decisions/0063).
import type { Logger } from "pino";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import { Mutex } from "../lib/mutex.ts";
import type { Entry, Next, State, Updated, UpdateOptions } from "./state.ts";

/** By their keys; undefined: what is there is taken away. */
export type HeldTexts = ReadonlyMap<string, string | undefined>;

export type HeldStateParts = {
  /** Is told whenever other texts are held. */
  readonly onChange?: (held: HeldTexts) => void;
  readonly clock: Pick<Clock, "after">;
  readonly log: Pick<Logger, "info" | "warn" | "error">;
};

type Change = { readonly keys: readonly string[]; readonly next: Next };

/** Whoever floods a full disk with changes is refused, as without this. */
export const MOST_HELD = 1_000;
const AGAIN_MS = 1_000;
const NOTHING: HeldTexts = new Map();

export class HeldState implements State {
  /** In the order in which they were made. */
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

  /** Shows what is held: by this process, or by another one. */
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
      // What is held was changed before: this change comes after it, or not at all.
      const isBehind = this.#changes.some((held) => held.keys.some((key) => keys.includes(key)));
      if (isBehind) await this.#turns.run(() => this.#keepAll());
      return this.#state.update(keys, next, options);
    }
    try {
      // A change that is held comes first.
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
      throw why ?? errors.stateNotWritable("too much waits for it");
    this.#changes.push({ keys, next });
    this.show(new Map([...this.#texts, ...keys.map((key, at) => [key, wanted[at]] as const)]));
    const { log } = this.#parts;
    log.warn(
      { change: keys[0], reason: why?.message },
      "a change holds in memory until the state can be written",
    );
    this.#keepLater();
    return { isChanged: true, texts: wanted };
  }

  /** A change that is held meanwhile does not put it off. */
  #keepLater(): void {
    this.#stopTimer ??= this.#parts.clock.after(AGAIN_MS, () => {
      this.#stopTimer = undefined;
      void this.#turns.run(() => this.#keepAll().catch(() => this.#keepLater()));
    });
  }

  /** What was changed meanwhile by others is changed further, not overwritten. @throws When it cannot be kept now. */
  async #keepAll(): Promise<void> {
    for (let [change] = this.#changes; change; [change] = this.#changes) {
      await this.#state.update(change.keys, change.next);
      this.#changes.shift();
    }
    if (this.#texts.size === 0) return;
    this.show(NOTHING);
    this.#parts.log.info("what held in memory is kept now");
  }

  readonly whyNotWritable = (): string | undefined => this.#state.whyNotWritable?.();

  // None of these is urgent.
  readonly take: State["take"] = (...asked) => this.#state.take(...asked);
  readonly add: State["add"] = (...asked) => this.#state.add(...asked);
  readonly append: State["append"] = (...asked) => this.#state.append(...asked);
  readonly readFrom: State["readFrom"] = (...asked) => this.#state.readFrom(...asked);

  /** What cannot be kept even now is lost, and said. */
  async close(): Promise<void> {
    if (this.#changes.length > 0)
      await this.#turns.run(() => this.#keepAll().catch(() => undefined));
    this.#stopTimer?.();
    const lost = [...new Set(this.#changes.flatMap(({ keys }) => keys[0] ?? []))];
    if (lost.length > 0)
      this.#parts.log.error(
        { changes: lost },
        "the state cannot be written: these changes end with this process, and have to be made again",
      );
    await this.#state.close();
  }
}
