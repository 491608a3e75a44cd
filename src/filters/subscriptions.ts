// Subscriptions of one network: filters whose items the gateway pushes over a socket, a notification each, as fast as
// the caller takes them. A caller that comes again gets the notifications that it missed.
import { randomBytes } from "node:crypto";
import type { ViewSource } from "../chain/chain-view.ts";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import { keepNewest } from "../lib/keep-newest.ts";
import { PeriodicTimer } from "../lib/waiting.ts";
import type { ChangesFinder, FilterBook } from "./filter-book.ts";
import type { FilterQuestion } from "./filter-record.ts";
import type { KeptFilter } from "./kept-filters.ts";
import { NewLogs } from "./new-logs.ts";
import { ChangesCache, PushStream } from "./push-stream.ts";
import { encodePushed, type ResumePosition, resumePositionOf } from "./pushed-record.ts";
import type { SubscribeRequest } from "./relayed-subscriptions.ts";
import { type PushChannel, Subscription } from "./subscription.ts";

export type SubscriptionsOptions = {
  /** The prefix of the family's methods. */
  readonly prefix: "eth" | "cfx";
};

export type SubscriptionsParts = {
  readonly filters: Pick<
    FilterBook,
    "begin" | "pushed" | "changesFinderFor" | "records" | "remove"
  >;
  readonly chain: Pick<ViewSource, "view"> & Partial<Pick<ViewSource, "whyStopped">>;
  readonly clock: Pick<Clock, "now" | "wallTime" | "after">;
};

/** The request of a caller that resumes a subscription. */
type Resumption = {
  readonly id: string;
  readonly asked: FilterQuestion;
  /** The notifications that the caller received over the subscription's life; undefined: the caller does not count. */
  readonly received?: number | undefined;
};

/** A stream with its finder of changes, and the number of its subscriptions. */
type OpenStream = { readonly stream: PushStream; readonly finder: ChangesFinder; users: number };

/** The most bytes of changes that are held for slower subscriptions. */
const CACHE_BYTES = 8_388_608;
/** The pause between searches for mempool transactions, which come without a chain update, in milliseconds. */
const MEMPOOL_EVERY_MS = 100;
/** The pause between writes of a quiet subscription's record, in milliseconds; few records are written at once. */
const NOTED_EVERY_MS = 60_000;
const MAINTAINED_EVERY_MS = 1_000;
const NOTED_AT_ONCE = 400;
/** The most ended subscriptions that are remembered, of all keys. */
const MOST_LEFT = 10_000;
/** The error code for a key with too many subscriptions. */
const TOO_MANY = -32005;

export class Subscriptions {
  /** The subscriptions that this process pushes, by id. */
  readonly #pushed = new Map<string, Subscription>();
  /** By the text of the question. */
  readonly #streams = new Map<string, OpenStream>();
  /** Streams whose last changes end at another head than the last chain update. */
  readonly #unsettled = new Set<PushStream>();
  readonly #newLogs: NewLogs<PushStream>;
  readonly #cache = new ChangesCache({ bytes: CACHE_BYTES });
  /** The last writes of ended subscriptions. */
  readonly #ending = new Set<Promise<void>>();
  /** By id, the subscriptions that this process no longer pushes, oldest first: their key and their last pusher. */
  readonly #left = new Map<string, { readonly holder: string; readonly by: string }>();
  readonly #closing = new AbortController();
  readonly #timer: PeriodicTimer;
  readonly #options: SubscriptionsOptions;
  readonly #parts: SubscriptionsParts;

  constructor(options: SubscriptionsOptions, parts: SubscriptionsParts) {
    this.#options = options;
    this.#parts = parts;
    this.#newLogs = new NewLogs({ view: () => parts.chain.view() });
    this.#timer = new PeriodicTimer({
      clock: parts.clock,
      everyMs: () => MAINTAINED_EVERY_MS,
      round: () => this.#maintain(),
    });
  }

  /** Ends all subscriptions. Resolves when their records are written. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#timer.stop();
    for (const subscription of this.#pushed.values()) void this.#end(subscription);
    await Promise.all(this.#ending);
  }

  /** Called after a chain update: wakes the streams that the update may concern. */
  look(): void {
    const before = this.#newLogs.look();
    const concerned = new Set([...this.#unsettled, ...this.#newLogs.concerned()]);
    this.#unsettled.clear();
    for (const stream of concerned) stream.touch(before);
  }

  /** @returns The id. The answer with the id is sent before the first push. @throws RpcError */
  async begin(
    asked: FilterQuestion,
    request: SubscribeRequest,
    channel: PushChannel,
  ): Promise<string> {
    const by = newName();
    const caller = { holder: channel.holder, signal: request.signal, by };
    const kept = await this.#beginWithRoom(asked, caller);
    const resumePosition = resumePositionOf(kept.record, 0) as ResumePosition;
    this.#pushWhenTold({ kept, by, asked, resumePosition }, request, channel);
    return kept.id;
  }

  /** Resumes a subscription, also if another process pushed it. @throws RpcError */
  async resume(
    { id, asked, received }: Resumption,
    request: SubscribeRequest,
    channel: PushChannel,
  ): Promise<string> {
    const { filters } = this.#parts;
    const by = newName();
    // A channel that has ended must not take the subscription from a live channel.
    while (!channel.signal.aborted) {
      const kept = await filters.pushed(id, channel.holder);
      const isThere = kept && textOf(kept.record) === textOf(asked);
      if (!isThere) throw errors.subscriptionNotFound();
      const resumePosition = foundResumePosition(kept, received);
      const here = this.#pushed.get(id);
      if (here) {
        await this.#leave(here, channel);
        continue;
      }
      const taken = await this.#takeOver({ kept, by, asked, resumePosition }, channel.holder);
      if (!taken) continue; // another process took the subscription over, or ended it
      this.#pushWhenTold(taken, request, channel);
      break;
    }
    return id;
  }

  /** @returns false when the channel has no such subscription. @throws RpcError while the state is away. */
  async end(id: string, channel: PushChannel): Promise<boolean> {
    const subscription = this.#pushed.get(id);
    if (subscription?.channel !== channel) return false;
    await this.#end(subscription);
    return this.#parts.filters.remove(id, { holder: channel.holder, manner: "pushed" });
  }

  /** Begins a subscription. If the key has too many, ends subscriptions that no channel pushes. @throws RpcError */
  async #beginWithRoom(...asked: Parameters<FilterBook["begin"]>): Promise<KeptFilter> {
    for (;;) {
      try {
        return await this.#parts.filters.begin(...asked);
      } catch (error) {
        const isFull = error instanceof RpcError && error.code === TOO_MANY;
        if (!isFull || !(await this.#endOneLeft(asked[1].holder))) throw error;
      }
    }
  }

  /** Ends the key's oldest subscription that no caller resumed, here or elsewhere. @returns Whether the key had one. */
  async #endOneLeft(holder: string): Promise<boolean> {
    const { filters } = this.#parts;
    for (const [id, left] of this.#left) {
      if (left.holder !== holder) continue;
      this.#left.delete(id);
      const kept = await filters.pushed(id, holder);
      const isLeft = kept !== undefined && kept.record.by === left.by;
      if (isLeft && (await filters.remove(id, { holder, manner: "pushed" }))) return true;
    }
    return false;
  }

  #noteLeft(id: string, left: { readonly holder: string; readonly by: string }): void {
    keepNewest(this.#left, [id, left], MOST_LEFT);
  }

  /** Writes a new pusher into the record, which ends the old pusher's work. @returns undefined if others were faster. */
  async #takeOver(
    { kept, by, asked, resumePosition }: Beginning,
    holder: string,
  ): Promise<Beginning | undefined> {
    const { filters, clock } = this.#parts;
    const { steps, missing } = resumePosition;
    const arrived = (steps.at(-1)?.count ?? 0) - missing;
    const usedAtMs = clock.wallTime();
    const { weight, by: before = "" } = kept.record;
    const text = encodePushed({ by, asked, weight, holder, usedAtMs, arrived, steps });
    const write = { key: kept.key, by: before, known: kept.text, text };
    const noted = await filters.records.write(write);
    return noted === "written" ? { kept: { ...kept, text }, by, asked, resumePosition } : undefined;
  }

  #pushWhenTold(beginning: Beginning, { delivery }: SubscribeRequest, channel: PushChannel): void {
    delivery.onSent((wasSent) => {
      const { kept, by } = beginning;
      const { id } = kept;
      if (this.#closing.signal.aborted) return;
      // The caller did not get the id, or is gone: the subscription counts as one that no caller resumed.
      if (!wasSent || channel.signal.aborted)
        return this.#noteLeft(id, { holder: channel.holder, by });
      const before = this.#pushed.get(id);
      if (before) void this.#leave(before, channel);
      this.#pushed.set(id, this.#push(beginning, channel));
      this.#timer.begin();
    });
  }

  #push({ kept, by, asked, resumePosition }: Beginning, channel: PushChannel): Subscription {
    const { filters, clock } = this.#parts;
    const { holder } = channel;
    const { id } = kept;
    const { stream, finder, leave } = this.#enter(asked);
    const end = (): void => {
      this.#noteLeft(id, { holder, by });
      void this.#end(subscription);
    };
    channel.subscriptions += 1;
    channel.signal.addEventListener("abort", end);
    const { key, text, record } = kept;
    const { weight } = record;
    const options = { id, key, text, weight, by, resumePosition, ...this.#options };
    const subscription = new Subscription(options, {
      ...{ channel, stream, finder, clock, records: filters.records },
      onEnd: () => {
        channel.subscriptions -= 1;
        channel.signal.removeEventListener("abort", end);
        if (this.#pushed.get(id) === subscription) this.#pushed.delete(id);
        leave();
      },
      onLost: () => void filters.remove(id, { holder, manner: "pushed" }).catch(() => undefined),
    });
    return subscription;
  }

  /** Ends a subscription that another channel takes over. Never rejects. */
  #leave(subscription: Subscription, to: PushChannel): Promise<void> {
    return this.#end(subscription, subscription.channel === to ? "end" : "giveUp");
  }

  /** Never rejects. */
  async #end(subscription: Subscription, how: "end" | "giveUp" = "end"): Promise<void> {
    const ended = subscription[how]();
    this.#ending.add(ended);
    await ended;
    this.#ending.delete(ended);
  }

  /** Joins the stream of a question. @returns The stream, and a function that leaves the stream. */
  #enter(asked: FilterQuestion): OpenStream & { readonly leave: () => void } {
    const name = textOf(asked);
    const open = this.#streams.get(name) ?? this.#open(asked);
    this.#streams.set(name, open);
    open.users += 1;
    const leave = (): void => {
      open.users -= 1;
      if (open.users > 0) return;
      this.#streams.delete(name);
      this.#newLogs.remove(open.stream);
      this.#unsettled.delete(open.stream);
    };
    return { ...open, leave };
  }

  #open(asked: FilterQuestion): OpenStream {
    const { filters, clock } = this.#parts;
    const finder = filters.changesFinderFor(asked);
    const stream = new PushStream(asked, {
      ...{ finder, clock, cache: this.#cache, signal: this.#closing.signal },
      head: () => this.#newLogs.head,
      onUnsettled: (each) => this.#unsettled.add(each),
    });
    const open = { stream, finder, users: 0 };
    if (asked.kind === "pending") this.#findAheadSoon(open);
    else this.#newLogs.add(stream, finder.matcher);
    return open;
  }

  /** Looks for pending transactions again and again, once for all subscriptions of the stream. */
  #findAheadSoon(open: OpenStream): void {
    this.#parts.clock.after(MEMPOOL_EVERY_MS, () => {
      if (open.users === 0 || this.#closing.signal.aborted) return;
      void open.stream
        .findAhead()
        .catch(() => undefined) // the state is away
        .then(() => this.#findAheadSoon(open));
    });
  }

  /**
   * Writes the records of quiet subscriptions, so that they do not expire. While the network passes calls through, no
   * chain update comes, so all streams look for changes in the nodes' chain.
   */
  #maintain(): boolean {
    const { clock, chain } = this.#parts;
    if (chain.whyStopped !== undefined) this.look();
    const old = clock.now() - NOTED_EVERY_MS;
    let left = NOTED_AT_ONCE;
    for (const subscription of this.#pushed.values()) {
      if (left === 0) break;
      if (subscription.notedAtMs > old) continue;
      left -= 1;
      void subscription.note();
    }
    return this.#pushed.size > 0;
  }
}

/** A subscription that a channel begins to push, with its position. */
type Beginning = {
  readonly kept: KeptFilter;
  readonly by: string;
  readonly asked: FilterQuestion;
  readonly resumePosition: ResumePosition;
};

const newName = (): string => randomBytes(8).toString("hex");

/** @throws RpcError */
function foundResumePosition({ record }: KeptFilter, received: number | undefined): ResumePosition {
  const resumePosition = resumePositionOf(record, received ?? record.arrived ?? 0);
  if (resumePosition === "unknown") throw errors.tooFarBehind();
  if (resumePosition === "untold") throw errors.receivedTooMany();
  return resumePosition;
}

/** Equal questions have equal texts: none has members that are undefined. */
const textOf = (asked: FilterQuestion): string =>
  asked.kind === "logs"
    ? JSON.stringify(asked.criteria)
    : `${asked.kind}${asked.isWhole ? " whole" : ""}`;
