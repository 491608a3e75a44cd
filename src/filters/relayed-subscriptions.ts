// Relays subscriptions of upstreams: on networks whose chain the gateway does not follow, and for events that a followed
// chain does not have. When an upstream is lost, another one takes its place, and the relay fetches the missed events.
import type { ViewSource } from "../chain/chain-view.ts";
import { headerOf } from "../evm/results.ts";
import { toNumber, toQuantity } from "../evm/values.ts";
import { findElements } from "../jsonrpc/members.ts";
import { parsed, type RawJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { Signal } from "../lib/cancellation.ts";
import type { Clock } from "../lib/clock.ts";
import { repeat } from "../lib/waiting.ts";
import type { Metrics } from "../observe/metrics.ts";
import type { SubscriptionListener } from "../upstream/connection/connection.ts";
import type { Pool } from "../upstream/pool.ts";
import type { Upstream } from "../upstream/upstream.ts";
import type { FilterCaller } from "./filter-book.ts";
import { FlashOrder } from "./flashblock-items.ts";
import { newId } from "./kept-filters.ts";
import { notificationsOf, type PushChannel } from "./subscription.ts";

export type RelayedSubscriptionsOptions = {
  readonly network: string;
  /** The prefix of the family's methods. */
  readonly prefix: "eth" | "cfx";
  /** The most subscriptions of one key. */
  readonly perKey: number;
};

export type RelayedSubscriptionsParts = {
  readonly pool: Pick<Pool, "usable">;
  readonly clock: Pick<Clock, "sleep" | "now">;
  readonly metrics: Pick<Metrics, "relayMoved" | "relayRepeated">;
  /** The followed chain: subscriptions of `syncing` tell whether this chain is live. */
  readonly chain?: Pick<ViewSource, "view"> | undefined;
};

/** The parameters of the upstream's subscription: the kind, and further parameters. */
export type RelayedParams = readonly [kind: string, ...more: readonly unknown[]];

type Node = Pick<Upstream, "ask"> & {
  readonly announcements: Pick<Upstream["announcements"], "watch">;
};
export type SubscribeRequest = Pick<FilterCaller, "signal" | "delivery">;

export class RelayedSubscriptions {
  readonly #open = new Map<string, Relay>();
  #options: RelayedSubscriptionsOptions;
  readonly #parts: RelayedSubscriptionsParts;

  constructor(options: RelayedSubscriptionsOptions, parts: RelayedSubscriptionsParts) {
    this.#options = options;
    this.#parts = parts;
  }

  reconfigure({ perKey }: Pick<RelayedSubscriptionsOptions, "perKey">): void {
    this.#options = { ...this.#options, perKey };
  }

  close(): void {
    for (const relay of this.#open.values()) relay.end();
  }

  /** @returns The id. The answer with the id is sent before the first push. @throws RpcError */
  async begin(
    params: RelayedParams,
    request: SubscribeRequest,
    channel: PushChannel,
  ): Promise<string> {
    const { perKey, ...options } = this.#options;
    const own = [...this.#open.values()].filter((each) => each.channel.holder === channel.holder);
    if (own.length >= perKey) throw errors.tooManyFilters(perKey, "pushed");
    const id = newId();
    const ofKey = own[0]?.ofKey ?? { waitingBytes: 0 };
    const relay = new Relay({ ...options, id, params }, { ...this.#parts, channel, ofKey });
    this.#open.set(id, relay);
    channel.subscriptions += 1;
    void relay.ended.then(() => {
      channel.subscriptions -= 1;
      this.#open.delete(id);
    });
    if (!(await relay.connect())) {
      relay.end();
      // While no node can be asked, nobody knows which events nodes announce.
      throw this.#parts.pool.usable().length === 0 ? errors.noUpstream() : errors.noPushSource();
    }
    request.delivery.onSent((wasSent) => (wasSent ? relay.run() : relay.end()));
    return id;
  }

  /** @returns false when the channel has no such subscription. */
  end(id: string, channel: PushChannel): boolean {
    const relay = this.#open.get(id);
    if (relay?.channel !== channel) return false;
    relay.end();
    return true;
  }
}

/** The most events, and the most bytes, that may wait for a slow caller. */
const MOST_WAITING = 4_096;
const MOST_WAITING_BYTES = 4_194_304;
/** The most bytes that may wait for all relayed subscriptions of one key. */
const MOST_OF_KEY_BYTES = 16_777_216;
/** The number of remembered events, so that an event that two upstreams announce is pushed once. */
const REMEMBERED = 1_024;
/** The most blocks that are fetched when an upstream takes the place of another. */
const MOST_MISSED = 128;
const TRIED_AGAIN_AFTER_MS = 500;

type RelayOptions = Pick<RelayedSubscriptionsOptions, "prefix" | "network"> & {
  readonly id: string;
  readonly params: RelayedParams;
};

/** The bytes that wait for all relayed subscriptions of one key. */
type KeyShare = { waitingBytes: number };

type RelayParts = RelayedSubscriptionsParts & {
  readonly channel: PushChannel;
  readonly ofKey: KeyShare;
};

class Relay {
  readonly channel: PushChannel;
  readonly ofKey: KeyShare;
  readonly ended: Promise<void>;
  readonly #ending = new AbortController();
  readonly #signal: AbortSignal;
  readonly #waiting: RawJson[] = [];
  #waitingBytes = 0;
  #wake: () => void = () => undefined;
  /** Resolves when the upstream that announces is lost. */
  #lost: Promise<void> = Promise.resolve();
  /** Events of a new upstream, held back while the relay fetches the missed events from that upstream. */
  #held: Buffer[] | undefined;
  readonly #told = new Set<string>();
  /** undefined for subscriptions that are not about a block in the making. */
  readonly #order: FlashOrder | undefined;
  /** The first block whose logs may not all be pushed. */
  #sinceBlock: number | undefined;
  #count = 0;
  readonly #options: RelayOptions;
  readonly #parts: RelayedSubscriptionsParts;

  constructor(options: RelayOptions, { channel, ofKey, ...parts }: RelayParts) {
    this.#options = options;
    this.#order = FlashOrder.ofKind(options.params[0]);
    this.#parts = parts;
    this.channel = channel;
    this.ofKey = ofKey;
    this.#signal = AbortSignal.any([channel.signal, this.#ending.signal]);
    this.ended = new Promise((resolve) => {
      this.#signal.addEventListener("abort", () => resolve());
      if (this.#signal.aborted) resolve();
    });
    this.#signal.addEventListener("abort", () => {
      this.#countWaiting(-this.#waitingBytes);
      this.#wake();
    });
  }

  end(): void {
    this.#ending.abort();
  }

  /** Subscribes at the first upstream that can push this. @returns false when no upstream can. */
  async connect(): Promise<boolean> {
    const paramsJson = JSON.stringify(this.#options.params);
    for (const node of this.#announcers()) {
      this.#held = [];
      const { promise, resolve } = Promise.withResolvers<void>();
      const listener = { onEvent: (event: Buffer) => this.#hear(event), onEnd: resolve };
      if (!(await node.announcements.watch(paramsJson, listener, this.#signal))) continue;
      this.#lost = Promise.race([promise, this.ended]);
      await this.#catchUp(node);
      const held = this.#held;
      this.#held = undefined;
      if (this.#signal.aborted) return true; // the abort has subtracted the waiting bytes
      for (const event of held) {
        this.#countWaiting(-event.length);
        this.#take(event);
      }
      return true;
    }
    return false;
  }

  #announcers(): readonly Node[] {
    const { pool, chain, clock } = this.#parts;
    const isOwn = chain !== undefined && this.#options.params[0] === "syncing";
    return isOwn ? [chainAsNode({ chain, pool, clock })] : pool.usable();
  }

  /** Pushes events, and looks for another upstream when one is lost. */
  run(): void {
    void this.#tellAll();
    void this.#stayConnected();
  }

  async #stayConnected(): Promise<void> {
    while (!this.#signal.aborted) {
      await this.#lost;
      if (this.#signal.aborted) return;
      if (await this.connect()) {
        this.#parts.metrics.relayMoved(this.#options.network);
        continue;
      }
      await this.#parts.clock.sleep(TRIED_AGAIN_AFTER_MS, this.#signal).catch(() => undefined);
    }
  }

  async #tellAll(): Promise<void> {
    const { prefix, id, params } = this.#options;
    const method = `${prefix}_subscribe`;
    const notificationOf = notificationsOf({ prefix, id });
    while (!this.#signal.aborted) {
      const item = this.#waiting.shift();
      if (item === undefined) {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        continue;
      }
      if (!this.channel.allows(method, params)) return this.#close("forbidden");
      this.#count += 1;
      const make = (): readonly RawJson[] => notificationOf(item);
      if (!(await this.channel.push(make, method, this.#count, "node"))) return this.end();
      if (!this.#signal.aborted) this.#countWaiting(-item.length); // else the abort has subtracted them
    }
  }

  #close(why: "behind" | "forbidden"): void {
    this.end();
    this.channel.close(why);
  }

  #hear(event: Buffer): void {
    const held = this.#held;
    if (!held) this.#take(event);
    else if (!this.#signal.aborted) {
      held.push(event);
      this.#countWaiting(event.length);
      this.#bound(held.length);
    }
  }

  #countWaiting(bytes: number): void {
    this.#waitingBytes += bytes;
    this.ofKey.waitingBytes += bytes;
    this.channel.hold(bytes);
  }

  /** Closes the channel when too much waits. @param events The number of events that wait. */
  #bound(events: number): void {
    const isFull =
      events > MOST_WAITING ||
      this.#waitingBytes > MOST_WAITING_BYTES ||
      this.ofKey.waitingBytes > MOST_OF_KEY_BYTES;
    if (isFull) this.#close("behind");
  }

  #take(item: RawJson): void {
    const value = parsed(Buffer.from(item));
    const members: Members = Object(value);
    const flash = this.#order?.read(value);
    const name = flash ? flash.name : nameOf(members);
    if (this.#signal.aborted) return;
    const nowMs = this.#parts.clock.now();
    if (
      (name !== undefined && this.#told.has(name)) ||
      (flash && this.#order?.isLower(flash, nowMs))
    ) {
      this.#parts.metrics.relayRepeated(this.#options.network);
      return;
    }
    if (name !== undefined) this.#remember(name, members);
    if (flash) this.#order?.told(value, flash, nowMs);
    this.#waiting.push(item);
    this.#countWaiting(item.length);
    this.#bound(this.#waiting.length);
    this.#wake();
  }

  #remember(name: string, { blockNumber }: Members): void {
    this.#told.add(name);
    const [oldest] = this.#told;
    if (this.#told.size > REMEMBERED && oldest !== undefined) this.#told.delete(oldest);
    if (typeof blockNumber === "string")
      this.#sinceBlock = Math.max(this.#sinceBlock ?? 0, toNumber(blockNumber));
  }

  /**
   * Fetches the events that were missed since the last upstream was lost; for a new subscription to logs only notes the
   * first block. Failures are ignored.
   */
  async #catchUp(node: Node): Promise<void> {
    const { prefix, params } = this.#options;
    const [kind, criteria] = params;
    if (prefix !== "eth") return;
    if (kind === "newHeads" && this.#told.size > 0) await this.#catchUpHeads(node);
    if (kind === "logs") await this.#catchUpLogs(node, criteria as object | undefined);
  }

  async #catchUpHeads(node: Node): Promise<void> {
    const missed: Buffer[] = [];
    let block = await asked(node, ["eth_getBlockByNumber", "latest", false], this.#signal);
    while (block && missed.length < MOST_MISSED) {
      const { hash, parentHash } = membersOf(block);
      if (this.#told.has(String(hash))) break;
      missed.push(block);
      block = await asked(node, ["eth_getBlockByHash", parentHash, false], this.#signal);
    }
    for (const each of missed.reverse()) this.#take(headerOf(each));
  }

  async #catchUpLogs(node: Node, criteria: object = {}): Promise<void> {
    const head = await asked(node, ["eth_blockNumber"], this.#signal);
    const number = head && parsed(head);
    if (typeof number !== "string") return;
    const since = this.#sinceBlock;
    this.#sinceBlock = since ?? toNumber(number) + 1;
    if (since === undefined || since > toNumber(number)) return;
    const range = { ...criteria, fromBlock: toQuantity(since), toBlock: number };
    const logs = await asked(node, ["eth_getLogs", range], this.#signal);
    for (const { start, end } of (logs && findElements(logs)) ?? [])
      this.#take((logs as Buffer).subarray(start, end));
  }
}

const LOOKED_EVERY_MS = 1_000;

/** Announces, as geth does, when the followed chain is no longer live, and when the chain is live again. */
function chainAsNode({
  chain,
  pool,
  clock,
}: Omit<RelayedSubscriptionsParts, "metrics"> & {
  readonly chain: Pick<ViewSource, "view">;
}): Node {
  const announce = async ({ onEvent, onEnd }: SubscriptionListener, signal: Signal) => {
    let [wasLive, last] = [true, 0];
    const look = async (): Promise<void> => {
      const view = chain.view();
      const isLive = view !== undefined && !view.isBehind;
      last = view?.head.number ?? last;
      if (isLive === wasLive) return;
      wasLive = isLive;
      const told = pool.usable().map(({ head }) => head?.number ?? 0);
      const highestBlock = toQuantity(Math.max(last, ...told));
      const at = toQuantity(last);
      const status = { startingBlock: at, currentBlock: at, highestBlock };
      onEvent(Buffer.from(isLive ? "false" : JSON.stringify({ syncing: true, status })));
    };
    await repeat(LOOKED_EVERY_MS, look, { clock, signal });
    onEnd();
  };
  return {
    announcements: {
      watch: async (_, listener, signal) => {
        void announce(listener, signal);
        return true;
      },
    },
    ask: async () => ({ kind: "missing" }),
  };
}

/** The upstream's result; undefined when the call has failed, or the result is null. */
async function asked(
  node: Node,
  [method, ...params]: readonly [string, ...unknown[]],
  signal: Signal,
): Promise<Buffer | undefined> {
  const reply = await node.ask(method, JSON.stringify(params), signal, { purpose: "follow" });
  return reply.kind === "result" && parsed(reply.json) ? reply.json : undefined;
}

type Members = Readonly<Record<string, unknown>>;

const membersOf = (item: RawJson): Members => Object(parsed(Buffer.from(item)));

/** A name of the event: an event that two upstreams announce has the same name twice. */
function nameOf({ hash, blockHash, logIndex, removed }: Members): string | undefined {
  if (typeof blockHash === "string" && typeof logIndex === "string")
    return `${blockHash} ${logIndex} ${removed === true}`;
  return typeof hash === "string" ? hash : undefined;
}
