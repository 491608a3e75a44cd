// Subscriptions of one network: filters whose items are pushed over a socket, a notification each, as fast as their
// caller takes them. What a caller missed while it was away, it is told when it comes again.

import type { ViewSource } from "../chain/chain-view.ts";
import type { LogMatcher } from "../evm/log-filter.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";
import type { Clock } from "../lib/clock.ts";
import { deadline, orAborted } from "../lib/waiting.ts";
import type { FilterBook, FilterCaller } from "./filter-book.ts";
import type { FilterQuestion } from "./filter-record.ts";
import { NewLogs } from "./new-logs.ts";
import type { Changes, Delivery } from "./open-filter.ts";

/** The way to a subscriber: its socket, and its key. */
export type PushChannel = {
  /** The name of the key. */
  readonly holder: string;
  /** Ends with the socket. */
  readonly signal: AbortSignal;
  /**
   * Sends a notification, which the key pays for.
   *
   * @param method Of the subscription: it counts as usage of this method.
   * @returns When it was handed to the network: true; false when it never will be.
   */
  push(notification: readonly RawJson[], method: string): Promise<boolean>;
  /** Notifications that were pushed through it, of all subscriptions; and how many of them arrived for certain. */
  readonly pushed: number;
  readonly arrived: number;
  /** Resolves when more arrived, or the channel ended. */
  moreArrived(): Promise<void>;
  /** Whether the key may make this call now. */
  allows(method: string, params: readonly unknown[]): boolean;
  /** How many subscriptions are pushed through it. */
  subscriptions: number;
  /** Closes the socket. */
  close(why: "behind" | "forbidden"): void;
};

export type SubscriptionsOptions = {
  /** Of the names of the family's methods. */
  readonly prefix: "eth" | "cfx";
};

export type SubscriptionsParts = {
  readonly filters: Pick<FilterBook, "create" | "changes" | "subscribed" | "remove" | "matcherFor">;
  readonly chain: Pick<ViewSource, "view">;
  readonly clock: Pick<Clock, "after" | "sleep">;
};

type Asking = Pick<FilterCaller, "signal" | "delivery">;

export class Subscriptions {
  /** Those that are pushed by this process, by their ids. */
  readonly #pushed = new Map<string, Subscription>();
  readonly #newLogs: NewLogs;
  readonly #options: SubscriptionsOptions;
  readonly #parts: SubscriptionsParts;

  constructor(options: SubscriptionsOptions, parts: SubscriptionsParts) {
    this.#options = options;
    this.#parts = parts;
    this.#newLogs = new NewLogs({ view: () => parts.chain.view() });
  }

  /** The chain was updated: those look that it may concern. */
  look(): void {
    this.#newLogs.look();
    for (const subscription of this.#pushed.values()) subscription.look(this.#newLogs);
  }

  /** @returns The id, which its answer tells before anything is pushed. @throws RpcError */
  async begin(asked: FilterQuestion, asking: Asking, channel: PushChannel): Promise<string> {
    const { filters } = this.#parts;
    const caller = { holder: channel.holder, manner: "pushed", signal: asking.signal } as const;
    const id = await filters.create(asked, caller);
    this.#pushWhenTold(id, asking, channel);
    return id;
  }

  /** Goes on where the subscription was, also when it was another process that pushed it. @throws RpcError */
  async resume(
    { id, asked }: { readonly id: string; readonly asked: FilterQuestion },
    asking: Asking,
    channel: PushChannel,
  ): Promise<string> {
    const { filters } = this.#parts;
    const kept = await filters.subscribed(id, channel.holder);
    if (!kept || !isSame(kept, asked)) throw errors.subscriptionNotFound();
    // Its old socket may be open still: nobody is at its other end.
    await this.#pushed.get(id)?.stop();
    this.#pushWhenTold(id, asking, channel);
    return id;
  }

  /** @returns false when the channel has no such subscription. @throws RpcError while the state is away. */
  async end(id: string, channel: PushChannel): Promise<boolean> {
    const subscription = this.#pushed.get(id);
    if (subscription?.channel !== channel) return false;
    await subscription.stop();
    return this.#parts.filters.remove(id, { holder: channel.holder, manner: "pushed" });
  }

  #pushWhenTold(id: string, { delivery }: Asking, channel: PushChannel): void {
    delivery.onSent((wasSent) => {
      // A caller that does not know the id never asks for it again: it ends like one that is not resumed.
      if (!wasSent || channel.signal.aborted) return;
      const subscription = new Subscription({ id, ...this.#options }, channel, this.#parts);
      this.#pushed.set(id, subscription);
      channel.subscriptions += 1;
      void subscription.ended.then(() => {
        channel.subscriptions -= 1;
        if (this.#pushed.get(id) === subscription) this.#pushed.delete(id);
      });
    });
  }
}

/** Neither has members that are undefined. */
const isSame = (kept: FilterQuestion, asked: FilterQuestion): boolean =>
  kept.kind === asked.kind && textOf(kept) === textOf(asked);

const textOf = (asked: FilterQuestion): string =>
  asked.kind === "logs" ? JSON.stringify(asked.criteria) : "";

/** For one look at the chain, in milliseconds. */
const LOOK_MS = 30_000;
/** After so long it is looked again, whether or not there was an update: what is never looked for ends. */
const LOOKED_EVERY_MS = 60_000;
/** The same of mempool transactions, which come without an update of the chain. */
const MEMPOOL_EVERY_MS = 100;
const TRIED_AGAIN_AFTER_MS = 500;

class Subscription {
  readonly channel: PushChannel;
  /** Resolves when nothing is pushed any more. Never rejects. */
  readonly ended: Promise<void>;
  readonly #stopping = new AbortController();
  readonly #signal: AbortSignal;
  /** undefined before the first look. */
  #asked: FilterQuestion | undefined;
  #matcher: LogMatcher | "nothing" | undefined;
  /** Something happened since the last look began. */
  #isDue = false;
  #wake: () => void = () => undefined;
  readonly #method: string;
  readonly #before: string;
  readonly #id: string;
  readonly #parts: SubscriptionsParts;

  constructor(
    { id, prefix }: SubscriptionsOptions & { readonly id: string },
    channel: PushChannel,
    parts: SubscriptionsParts,
  ) {
    this.#id = id;
    this.#method = `${prefix}_subscribe`;
    this.#before = `{"jsonrpc":"2.0","method":"${prefix}_subscription","params":{"subscription":"${id}","result":`;
    this.channel = channel;
    this.#parts = parts;
    this.#signal = AbortSignal.any([channel.signal, this.#stopping.signal]);
    this.#signal.addEventListener("abort", () => this.#wake());
    this.ended = this.#run();
  }

  /** The chain was updated. */
  look(newLogs: NewLogs): void {
    if (this.#matcher !== undefined && !newLogs.mayMatch(this.#matcher)) return;
    this.#isDue = true;
    this.#wake();
  }

  /** Resolves when what was begun to be pushed is. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.ended;
  }

  async #run(): Promise<void> {
    while (!this.#signal.aborted) {
      this.#isDue = false;
      const isMore = await this.#tell();
      if (!isMore && !this.#isDue && !this.#signal.aborted) await this.#pause();
    }
  }

  #pause(): Promise<void> {
    const ms = this.#asked?.kind === "pending" ? MEMPOOL_EVERY_MS : LOOKED_EVERY_MS;
    return new Promise((resolve) => {
      const cancel = this.#parts.clock.after(ms, resolve);
      this.#wake = () => {
        cancel();
        resolve();
      };
    });
  }

  /** Pushes what is new. @returns Whether there may be more at once. */
  async #tell(): Promise<boolean> {
    const { clock, filters } = this.#parts;
    const { holder } = this.channel;
    const delivery = new PushedItems();
    const limit = deadline(LOOK_MS, this.#signal, clock);
    try {
      const caller = { holder, manner: "pushed", signal: limit.signal, delivery } as const;
      const changes = await filters.changes(this.#id, caller, (asked) => this.#check(asked));
      limit.done();
      delivery.settle(await this.#pushAll(changes));
      return changes.items.length > 0 || changes.more !== undefined;
    } catch (error) {
      await this.#fail(error);
      return false;
    } finally {
      limit.done();
      delivery.settle(false);
    }
  }

  #check(asked: FilterQuestion): void {
    if (this.#asked !== asked) {
      this.#asked = asked;
      this.#matcher = this.#parts.filters.matcherFor(asked);
    }
    const params = asked.kind === "logs" ? ["logs", asked.criteria] : [asked.kind];
    if (!this.channel.allows(this.#method, params)) throw new Forbidden();
  }

  async #pushAll({ items, more }: Changes): Promise<boolean> {
    for (const item of items) if (!(await this.#push(item))) return false;
    if (!more) return true;
    for (let index = 0; index < more.count; index += AT_ONCE) {
      const some = more.slice(index, Math.min(more.count, index + AT_ONCE)).all();
      for (const item of some) if (!(await this.#push(item))) return false;
    }
    return true;
  }

  #push(item: RawJson): Promise<boolean> {
    return this.channel.push([this.#before, item, "}}"], this.#method);
  }

  async #fail(error: unknown): Promise<void> {
    if (this.#signal.aborted) return;
    if (error instanceof Forbidden) return this.channel.close("forbidden");
    // It slept through blocks that are not to be had any more, or it was ended elsewhere.
    const isGone = error instanceof RpcError && error.message === errors.filterNotFound().message;
    if (isGone) return this.channel.close("behind");
    const again = this.#parts.clock.sleep(TRIED_AGAIN_AFTER_MS, this.#signal);
    await orAborted(again, this.#signal, () => new Forbidden()).catch(() => undefined);
  }
}

/** Logs that are read from the store together. */
const AT_ONCE = 64;

/** The key may not be told of it any more. */
class Forbidden extends Error {}

/** The notifications of one look. */
class PushedItems implements Delivery {
  #tasks: ((wasSent: boolean) => void)[] = [];

  onSent(task: (wasSent: boolean) => void): void {
    this.#tasks.push(task);
  }

  settle(wereSent: boolean): void {
    for (const task of this.#tasks.splice(0)) task(wereSent);
  }
}
