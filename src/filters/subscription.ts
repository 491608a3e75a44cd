// One subscription while this process pushes it. It takes one look after the other from its stream, notes each in its
// record before it tells it, and tells it as fast as the caller takes it.
import type { RawJson } from "../jsonrpc/raw-json.ts";
import type { Clock } from "../lib/clock.ts";
import { deadline } from "../lib/waiting.ts";
import type { LookMaker } from "./filter-book.ts";
import { type PushedLook, type PushStream, StreamPosition } from "./push-stream.ts";
import {
  encodePushed,
  type PushedRecords,
  type PushedStep,
  type ResumePosition,
} from "./pushed-record.ts";
import { Lost } from "./walk.ts";

/** How a subscriber is reached: its socket and its key. */
export type PushChannel = {
  /** The name of the key. */
  readonly holder: string;
  /** Aborts when the socket ends. */
  readonly signal: AbortSignal;
  /**
   * Sends a notification, which the key pays for.
   * @param method The method of the subscription: the notification counts as its usage.
   * @param count How many notifications the subscription has had over its life, with this one.
   * @param source Where it comes from. What the store has saved a call to a node. Left out: the store.
   * @returns true when it was handed to the network; false when it never will be.
   */
  push(
    notification: readonly RawJson[],
    method: string,
    count: number,
    source?: "store" | "node",
  ): Promise<boolean>;
  /** How many notifications of all subscriptions were pushed through it, and how many of them arrived for certain. */
  readonly pushed: number;
  readonly arrived: number;
  /** Asks the caller for a sign that everything that was pushed has arrived. */
  confirm(): void;
  /** Resolves when more arrived, or the channel ended. */
  moreArrived(): Promise<void>;
  /** Whether the key may make this call now. */
  allows(method: string, params: readonly unknown[]): boolean;
  /** How many subscriptions are pushed through it. */
  subscriptions: number;
  /** Closes the socket. */
  close(why: "behind" | "forbidden" | "taken"): void;
};

export type SubscriptionOptions = {
  readonly id: string;
  /** The prefix of the family's methods. */
  readonly prefix: "eth" | "cfx";
  /** The subscription's key in the state, and its text there. */
  readonly key: string;
  readonly text: string;
  /** The name under which this process pushes it. */
  readonly by: string;
  readonly resumePosition: ResumePosition;
};

/** @returns What makes a notification of an item: three pieces of JSON, the item in the middle. */
export function notificationsOf({
  prefix,
  id,
}: Pick<SubscriptionOptions, "prefix" | "id">): (item: RawJson) => readonly RawJson[] {
  const before = `{"jsonrpc":"2.0","method":"${prefix}_subscription","params":{"subscription":"${id}","result":`;
  return (item) => [before, item, "}}"];
}

export type SubscriptionParts = {
  readonly channel: PushChannel;
  readonly stream: PushStream;
  readonly lookMaker: Pick<LookMaker, "retrace">;
  readonly records: Pick<PushedRecords, "write">;
  readonly clock: Pick<Clock, "now" | "wallTime" | "after">;
  /** Is called when nothing more will be told. */
  readonly onEnd: () => void;
  /** Is called when a block that is needed next cannot be had any more. */
  readonly onLost: () => void;
};

/** A step, and how many notifications of its channel had been pushed when the step was told. */
type ToldStep = { -readonly [Member in keyof PushedStep]: PushedStep[Member] } & {
  readonly upTo: number;
  readonly bytes: number;
};

/**
 * At least this many looks that told something are remembered, since the caller may count fewer notifications than it
 * confirmed.
 */
const KEPT_STEPS = 8;
/** How much may be on its way to the caller: looks, and bytes. */
const MOST_UNCONFIRMED = 64;
const MOST_UNCONFIRMED_BYTES = 1_048_576;
const RETRACE_MS = 30_000;
const TRIED_AGAIN_AFTER_MS = 500;
/** How many logs are read from the store together. */
const AT_ONCE = 64;

export class Subscription {
  readonly channel: PushChannel;
  position: StreamPosition;
  /** When its record was written last, by the clock. */
  notedAtMs: number;
  #isEnded = false;
  /** The steps that were told completely. */
  readonly #steps: ToldStep[];
  /** The end of a look that is being told, or was told in part. */
  #telling: PushedStep | undefined;
  /** The end of the look that will be told when it is noted. */
  #ahead: PushedStep | undefined;
  /** How many notifications of the look that is being told are missing. */
  #missing: number;
  #arrived: number;
  #text: string;
  #wake: () => void = () => undefined;
  readonly #notificationOf: (item: RawJson) => readonly RawJson[];
  readonly #method: string;
  readonly #options: SubscriptionOptions;
  readonly #parts: SubscriptionParts;

  constructor(options: SubscriptionOptions, parts: SubscriptionParts) {
    const { prefix, id, text, resumePosition } = options;
    this.#method = `${prefix}_subscribe`;
    this.#notificationOf = notificationsOf({ prefix, id });
    this.channel = parts.channel;
    this.#options = options;
    this.#parts = parts;
    this.#text = text;
    const last = resumePosition.steps.at(-1) as PushedStep;
    const isPartly = resumePosition.missing > 0;
    const told = isPartly ? resumePosition.steps.slice(0, -1) : resumePosition.steps;
    this.#steps = told.map((step) => ({ ...step, upTo: 0, bytes: 0 }));
    this.#telling = isPartly ? last : undefined;
    this.#missing = resumePosition.missing;
    this.#arrived = last.count - resumePosition.missing;
    this.position = new StreamPosition(last.at);
    this.notedAtMs = parts.clock.now();
    parts.stream.members.add(this);
    void this.#run();
  }

  /** To be called when there may be something to tell. */
  wake(): void {
    this.#wake();
  }

  /** Tells nothing more. Resolves when it is noted what arrived, or when that is impossible. */
  async end(): Promise<void> {
    if (this.#isEnded) return;
    this.#stop();
    await this.#write().catch(() => undefined);
  }

  /**
   * To be called when it is pushed through another channel from now on. This one is closed: nobody is at its other end.
   * Or it was resumed twice from a channel that died, and its caller is to come again.
   */
  async giveUp(): Promise<void> {
    const ended = this.end();
    this.channel.close("taken");
    await ended;
  }

  /** Notes where the caller is. Ends when another process pushes it, or nobody. */
  async note(): Promise<void> {
    this.notedAtMs = this.#parts.clock.now();
    if (this.position.hasWay) this.#parts.stream.touch(undefined);
    await this.#write().catch(() => undefined); // the state is away: a look is noted before it is told
  }

  #stop(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#parts.stream.members.delete(this);
    this.#parts.onEnd();
    this.#wake();
  }

  /** @returns Whether this process still pushes it. @throws While the state is away. */
  async #write(): Promise<boolean> {
    const { records, clock, stream, channel } = this.#parts;
    const { key, by } = this.#options;
    this.#countArrived();
    const ahead = this.#telling ?? this.#ahead;
    const text = encodePushed({
      ...{ by, asked: stream.asked, holder: channel.holder, usedAtMs: clock.wallTime() },
      arrived: this.#arrived,
      steps: ahead ? [...this.#steps, ahead] : this.#steps,
    });
    const noted = await records.write({ key, by, known: this.#text, text });
    this.#text = text;
    this.notedAtMs = clock.now();
    if (noted === "written") return true;
    if (this.#isEnded) return false;
    this.#stop();
    channel.close(noted === "gone" ? "behind" : "taken");
    return false;
  }

  /** Forgets steps that arrived long ago. */
  #countArrived(): void {
    const { stream, channel } = this.#parts;
    const steps = this.#steps;
    for (const { upTo, count } of steps)
      if (upTo <= channel.arrived) this.#arrived = Math.max(this.#arrived, count);
    while (steps.length > KEPT_STEPS && (steps[1]?.count ?? 0) <= this.#arrived) steps.shift();
    const last = steps.at(-1);
    // There was nothing to tell between the last step and the position.
    if (last && !this.#telling) last.at = stream.cursorOf(this.position);
  }

  async #run(): Promise<void> {
    while (!this.#isEnded) {
      try {
        const { next } = this.position;
        if (this.#telling) await this.#tellAgain(this.#telling);
        else if (next?.count === 0) this.position = next.to;
        else if (next) await this.#tell(next);
        else if (this.#parts.stream.isAtRest(this.position)) await this.#pause();
        else await this.#parts.stream.look(this.position);
      } catch (error) {
        await this.#fail(error);
      }
    }
  }

  /** Resolves when it is woken. */
  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async #tell(look: PushedLook): Promise<void> {
    if (this.#endIfForbidden() || !(await this.#waitForRoom())) return;
    const { count = 0 } = this.#steps.at(-1) ?? {};
    const step = { count: count + look.count, at: look.to.cursor };
    this.#ahead = step;
    if (!(await this.#write())) return;
    this.#ahead = undefined;
    this.#telling = step;
    this.#missing = look.count;
    await this.#pushAll(look, look.to);
  }

  /** Tells the missing part of a look that was told in part, by this process or another one. */
  async #tellAgain({ count, at }: PushedStep): Promise<void> {
    const { lookMaker, channel, clock } = this.#parts;
    const from = this.#steps.at(-1) as PushedStep;
    if (this.#endIfForbidden()) return;
    const limit = deadline(RETRACE_MS, channel.signal, clock);
    try {
      const told = await lookMaker.retrace(from.at, at, { signal: limit.signal });
      if (countOf(told) !== count - from.count) throw new Lost();
      await this.#pushAll(told, new StreamPosition(at));
    } finally {
      limit.done();
    }
  }

  /** Tells all that is missing. */
  async #pushAll({ items, more }: LookItems, to: StreamPosition): Promise<void> {
    const sent = { bytes: 0 };
    let first = countOf({ items, more }) - this.#missing;
    for (; first < items.length; first += 1)
      if (!(await this.#push(items[first] ?? "", sent))) return;
    const logs = more?.count ?? 0;
    for (let index = first - items.length; more && index < logs; index += AT_ONCE) {
      const some = more.slice(index, Math.min(logs, index + AT_ONCE)).all();
      for (const item of some) if (!(await this.#push(item, sent))) return;
    }
    const step = this.#telling as PushedStep;
    this.#steps.push({ ...step, upTo: this.channel.pushed, ...sent });
    this.#telling = undefined;
    this.position = to;
    this.channel.confirm();
  }

  /** @returns false when nothing more is to be told. */
  async #push(item: RawJson, sent: { bytes: number }): Promise<boolean> {
    if (this.#isEnded) return false;
    const notification = this.#notificationOf(item);
    const count = (this.#telling?.count ?? 0) - this.#missing + 1;
    if (!(await this.channel.push(notification, this.#method, count))) {
      await this.end();
      return false;
    }
    this.#missing -= 1;
    sent.bytes += item.length;
    return true;
  }

  /** The key may have changed meanwhile. @returns Whether the subscription was ended. */
  #endIfForbidden(): boolean {
    const { asked } = this.#parts.stream;
    const params = asked.kind === "logs" ? ["logs", asked.criteria] : [asked.kind];
    if (this.channel.allows(this.#method, params)) return false;
    this.#stop();
    this.channel.close("forbidden");
    return true;
  }

  /** Waits until little enough is on its way to the caller. @returns false when nothing more is told. */
  async #waitForRoom(): Promise<boolean> {
    for (;;) {
      if (this.#isEnded) return false;
      const { arrived } = this.channel;
      const onItsWay = this.#steps.filter(({ upTo }) => upTo > arrived);
      const bytes = onItsWay.reduce((sum, step) => sum + step.bytes, 0);
      if (onItsWay.length < MOST_UNCONFIRMED && bytes < MOST_UNCONFIRMED_BYTES) return true;
      await this.channel.moreArrived();
    }
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#isEnded) return;
    if (error instanceof Lost) {
      // Another one that took it over may have it still.
      const isOwn = await this.#write().catch(() => true);
      if (!isOwn || this.#isEnded) return;
      this.#stop();
      this.#parts.onLost();
      this.channel.close("behind");
      return;
    }
    const again = this.#pause();
    const cancel = this.#parts.clock.after(TRIED_AGAIN_AFTER_MS, this.#wake);
    await again;
    cancel();
  }
}

type LookItems = Pick<PushedLook, "items" | "more">;

const countOf = ({ items, more }: LookItems): number => items.length + (more?.count ?? 0);
