// One subscription that this process pushes. The subscription takes changes from its stream, writes their end
// to its record, and then pushes their items as fast as the caller takes them.
import type { LogSelection } from "../chain/log-selection.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import type { Clock } from "../lib/clock.ts";
import { deadline } from "../lib/waiting.ts";
import type { ChangesFinder } from "./filter-book.ts";
import type { KeptFilter } from "./kept-filters.ts";
import type { FoundItems } from "./open-filter.ts";
import { type PushedChanges, type PushStream, StreamPosition } from "./push-stream.ts";
import {
  encodePushed,
  type PushedRecords,
  type PushedStep,
  type ResumePosition,
} from "./pushed-record.ts";
import { CursorLost } from "./walk.ts";

/** The channel to a subscriber: its socket and its key. */
export type PushChannel = {
  /** The name of the key. */
  readonly holder: string;
  /** Aborts when the socket ends. */
  readonly signal: AbortSignal;
  /**
   * Sends a notification, which the key pays for, when the caller has taken all earlier ones.
   * @param make Makes the notification. It is called only then, so that no notification waits in memory. Its exception
   * rejects the promise.
   * @param method The method of the subscription: the notification counts as its usage.
   * @param count The number of the subscription's notifications over its life, with this one.
   * @param source The source of the notification; by default the store, which saved a call to a node.
   * @returns true when the notification was handed to the network; false when it never will be.
   */
  push(
    make: () => readonly RawJson[],
    method: string,
    count: number,
    source?: "store" | "node",
  ): Promise<boolean>;
  /**
   * Waits until the caller has taken all notifications so far, and memory has room for further ones of its key.
   * @returns false when the channel ended first.
   */
  ready(): Promise<boolean>;
  /** Counts bytes that wait in memory for the channel's key. @param bytes A negative number takes bytes away. */
  hold(bytes: number): void;
  /** The number of notifications that the channel has pushed, of all subscriptions, and that have certainly arrived. */
  readonly pushed: number;
  readonly arrived: number;
  /** Asks the caller to confirm that all pushed notifications have arrived. */
  confirm(): void;
  /** Resolves when more notifications have arrived, or the channel has ended. */
  moreArrived(): Promise<void>;
  /** Whether the key may make this call now. */
  allows(method: string, params: readonly unknown[]): boolean;
  /** The number of subscriptions that the channel pushes. */
  subscriptions: number;
  /** Closes the socket. */
  close(why: "behind" | "forbidden" | "taken"): void;
};

export type SubscriptionOptions = Pick<KeptFilter, "id" | "key" | "text"> & {
  /** As in the filter's record. */
  readonly weight?: number | undefined;
  /** The prefix of the family's methods. */
  readonly prefix: "eth" | "cfx";
  /** The name under which this process pushes the subscription. */
  readonly by: string;
  readonly resumePosition: ResumePosition;
};

/** @returns A function that makes a notification of an item: three pieces of JSON, the item in the middle. */
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
  readonly finder: Pick<ChangesFinder, "retrace">;
  readonly records: Pick<PushedRecords, "write">;
  readonly clock: Pick<Clock, "now" | "wallTime" | "after">;
  /** Called when the subscription pushes nothing more. */
  readonly onEnd: () => void;
  /** Called when no node has the block that is needed next. */
  readonly onLost: () => void;
};

/** A step, with the channel's count of pushed notifications after the step, and the bytes of its items. */
type PushedStepState = { -readonly [Member in keyof PushedStep]: PushedStep[Member] } & {
  readonly upTo: number;
  readonly bytes: number;
};

/** The bytes of changes that were pushed so far, and the source of the changes. */
type Sent = { bytes: number; readonly source: "store" | "node" };

/** The fewest steps in a record: a caller that resumes may count fewer notifications than it confirmed. */
const KEPT_STEPS = 8;
/** The most changes, and the most bytes, that may be under way to the caller. */
const MOST_UNCONFIRMED = 64;
const MOST_UNCONFIRMED_BYTES = 1_048_576;
const RETRACE_MS = 30_000;
const TRIED_AGAIN_AFTER_MS = 500;
/** The most logs, and the most bytes of logs, that are read from the store together. */
const AT_ONCE = 64;
const AT_ONCE_BYTES = 65_536;

export class Subscription {
  readonly channel: PushChannel;
  position: StreamPosition;
  /** The time of the last write of the record, by the clock. */
  notedAtMs: number;
  #isEnded = false;
  /** The steps whose items were all pushed. */
  readonly #steps: PushedStepState[];
  /** The end of the changes whose items are being pushed, or were pushed in part. */
  #telling: PushedStep | undefined;
  /** The end of the next changes, which are pushed once the record has this step. */
  #ahead: PushedStep | undefined;
  /** The number of notifications of the changes in `#telling` that are left to push. */
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

  /** Called when the stream may have new items. */
  wake(): void {
    this.#wake();
  }

  /** Ends the pushes. Resolves when the record has the number of arrived notifications, or could not be written. */
  async end(): Promise<void> {
    if (this.#isEnded) return;
    this.#stop();
    await this.#write().catch(() => undefined);
  }

  /**
   * Ends the pushes and closes the channel, since another channel pushes the subscription from now on. Either the old
   * channel has no client any more, or the client resumed the subscription twice and must come again.
   */
  async giveUp(): Promise<void> {
    const ended = this.end();
    this.channel.close("taken");
    await ended;
  }

  /** Writes the record. Ends the subscription when another process pushes it, or the record is gone. */
  async note(): Promise<void> {
    this.notedAtMs = this.#parts.clock.now();
    if (this.position.hasPath) this.#parts.stream.touch(undefined);
    await this.#write().catch(() => undefined); // the state is away: the next changes write the record before their push
  }

  #stop(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#parts.stream.members.delete(this);
    this.#parts.onEnd();
    this.#wake();
  }

  /** Writes the record. @returns Whether this process still pushes the subscription. @throws While the state is away. */
  async #write(): Promise<boolean> {
    const { records, clock, stream, channel } = this.#parts;
    const { key, by, weight } = this.#options;
    this.#countArrived();
    const ahead = this.#telling ?? this.#ahead;
    const text = encodePushed({
      ...{ by, asked: stream.asked, weight, holder: channel.holder, usedAtMs: clock.wallTime() },
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

  /** Notes the arrived notifications, and drops steps that arrived long ago. */
  #countArrived(): void {
    const { stream, channel } = this.#parts;
    const steps = this.#steps;
    for (const { upTo, count } of steps)
      if (upTo <= channel.arrived) this.#arrived = Math.max(this.#arrived, count);
    while (steps.length > KEPT_STEPS && (steps[1]?.count ?? 0) <= this.#arrived) steps.shift();
    const last = steps.at(-1);
    // The stream had no items between the last step and the position.
    if (last && !this.#telling) last.at = stream.cursorOf(this.position);
  }

  async #run(): Promise<void> {
    while (!this.#isEnded) {
      try {
        // A caller that takes nothing waits at its cursor, where it costs no memory.
        if (!this.#isAtRest && !(await this.channel.ready())) return await this.end();
        const { next } = this.position;
        if (this.#telling) await this.#tellAgain(this.#telling);
        else if (next?.count === 0) this.position = next.to;
        else if (next) await this.#tell(next);
        else if (this.#isAtRest) await this.#pause();
        else await this.#parts.stream.findChanges(this.position);
      } catch (error) {
        await this.#fail(error);
      }
    }
  }

  /** Whether there is nothing to push until the next `wake`. */
  get #isAtRest(): boolean {
    return this.#telling === undefined && this.#parts.stream.isAtRest(this.position);
  }

  /** Resolves at the next `wake`. */
  #pause(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  async #tell(changes: PushedChanges): Promise<void> {
    if (this.#endIfForbidden() || !(await this.#waitForRoom())) return;
    const { count = 0 } = this.#steps.at(-1) ?? {};
    const step = { count: count + changes.count, at: changes.to.cursor };
    this.#ahead = step;
    if (!(await this.#write())) return;
    this.#ahead = undefined;
    this.#telling = step;
    this.#missing = changes.count;
    await this.#pushAll(changes, changes.to);
  }

  /** Pushes the rest of changes that this process, or another one, pushed in part. */
  async #tellAgain({ count, at }: PushedStep): Promise<void> {
    const { finder, channel, clock } = this.#parts;
    const from = this.#steps.at(-1) as PushedStep;
    if (this.#endIfForbidden()) return;
    const limit = deadline(RETRACE_MS, channel.signal, clock);
    try {
      const told = await finder.retrace(from.at, at, { signal: limit.signal });
      if (countOf(told) !== count - from.count) throw new CursorLost();
      await this.#pushAll(told, new StreamPosition(at));
    } finally {
      limit.done();
    }
  }

  /** Pushes the missing items of changes. The changes count for the key until they are pushed. */
  async #pushAll(changes: FoundItems, to: StreamPosition): Promise<void> {
    const bytes = heldBytesOf(changes);
    this.channel.hold(bytes);
    try {
      const sent = { bytes: 0, source: changes.isOfNodes ? ("node" as const) : ("store" as const) };
      const item = reader(changes);
      const count = countOf(changes);
      for (let index = count - this.#missing; index < count; index += 1)
        if (!(await this.#push(() => item(index), sent))) return;
      const step = this.#telling as PushedStep;
      this.#steps.push({ ...step, upTo: this.channel.pushed, bytes: sent.bytes });
    } finally {
      this.channel.hold(-bytes);
    }
    this.#telling = undefined;
    this.position = to;
    this.channel.confirm();
  }

  /** @returns false when the subscription has ended. */
  async #push(read: () => RawJson, sent: Sent): Promise<boolean> {
    if (this.#isEnded) return false;
    const make = (): readonly RawJson[] => {
      const item = read();
      sent.bytes += item.length;
      return this.#notificationOf(item);
    };
    const count = (this.#telling?.count ?? 0) - this.#missing + 1;
    if (!(await this.channel.push(make, this.#method, count, sent.source))) {
      await this.end();
      return false;
    }
    this.#missing -= 1;
    return true;
  }

  /** Ends the subscription if the key, which may have changed, forbids it. @returns Whether the subscription ended. */
  #endIfForbidden(): boolean {
    const { asked } = this.#parts.stream;
    const params = asked.kind === "logs" ? ["logs", asked.criteria] : [asked.kind];
    if (this.channel.allows(this.#method, params)) return false;
    this.#stop();
    this.channel.close("forbidden");
    return true;
  }

  /** Waits while too much is under way to the caller. @returns false when the subscription has ended. */
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
    if (error instanceof CursorLost) {
      // Another process may have taken the subscription over, and may have the block.
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

const countOf = ({ items, more }: FoundItems): number => items.length + (more?.count ?? 0);

/** The bytes that changes take while they are pushed, with the logs of the store that are read together. */
const heldBytesOf = ({ items, more }: FoundItems): number =>
  items.reduce((sum, { length }) => sum + length, 0) +
  (more ? more.heldBytes + Math.min(more.length, AT_ONCE_BYTES) : 0);

/** @returns A function that gives the item at an index. It reads the further logs from the store, a few together. */
function reader({ items, more }: FoundItems): (index: number) => RawJson {
  let first = 0;
  let logs: readonly RawJson[] = [];
  return (index) => {
    const log = index - items.length;
    if (log < 0 || !more) return items[index] ?? "";
    if (log < first || log >= first + logs.length) {
      first = log;
      logs = fewFrom(more, log).all();
    }
    return logs[log - first] ?? "";
  };
}

function fewFrom(all: LogSelection, first: number): LogSelection {
  let few = all.slice(first, Math.min(all.count, first + AT_ONCE));
  while (few.length > AT_ONCE_BYTES && few.count > 1) few = few.slice(0, Math.ceil(few.count / 2));
  return few;
}
