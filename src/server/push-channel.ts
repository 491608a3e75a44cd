// Pushes notifications of subscriptions to one WebSocket or event stream. The socket's key pays for each of them, and their
// bytes count for the key while they wait in memory.
import type { Grant } from "../access/keys/key-ring.ts";
import type { RequestRule } from "../access/scope/scope.ts";
import type { CallableNetwork } from "../calls/caller.ts";
import type { PushChannel } from "../filters/subscription.ts";
import { lengthOf, type RawJson } from "../jsonrpc/raw-json.ts";
import type { Clock } from "../lib/clock.ts";
import type { MemoryBudget, MemoryHolder } from "../lib/memory-budget.ts";
import type { CallerSocket } from "./caller-socket.ts";

export type Payer = {
  readonly grant: Grant | undefined;
  readonly network: CallableNetwork | undefined;
  /** The rule of the key that forbids requests like the one that opened the socket; undefined when none does. */
  readonly rule?: RequestRule | undefined;
};

export type SocketChannelParts = {
  readonly socket: Pick<CallerSocket, "confirm" | "close" | "signal" | "drained"> & {
    /**
     * @param make Called when the caller has taken all earlier notifications; undefined: there is none any more.
     * @param count The number of this notification in its subscription.
     */
    push(make: () => readonly RawJson[] | undefined, count: number): Promise<boolean>;
  };
  /** The payer at this moment: grant or network is undefined where the key is not valid, or the network not served. */
  readonly payer: () => Payer;
  readonly memory: Pick<MemoryBudget, "hold" | "mayPush">;
  readonly clock: Pick<Clock, "now" | "sleep" | "yield">;
};

/** The price of a notification, in compute units. */
const NOTIFICATION_UNITS = 1;
/** The most confirmations that are awaited at once. */
const MOST_ASKED = 4;
/** In seconds: the longest pause before a key without units is charged again. */
const LONGEST_PAUSE_S = 60;
/** The pause before the gateway looks again whether memory has room, in milliseconds. */
const ROOM_AGAIN_AFTER_MS = 250;

export class SocketChannel implements PushChannel {
  readonly holder: string;
  subscriptions = 0;
  pushed = 0;
  arrived = 0;
  /** The number of awaited confirmations. */
  #asked = 0;
  #waiting: (() => void)[] = [];
  readonly #memoryOf: MemoryHolder;
  /** The bytes that wait for this channel. */
  #held = 0;
  #readying: Promise<boolean> | undefined;
  readonly #parts: SocketChannelParts;

  /** @param grant The key's grant when the socket was opened: its bytes count for the same holder all the time. */
  constructor({ name, meter }: Pick<Grant, "name" | "meter">, parts: SocketChannelParts) {
    this.holder = name;
    this.#memoryOf = meter.memory;
    this.#parts = parts;
    parts.socket.signal.addEventListener("abort", () => {
      this.#count(-this.#held);
      this.#tellArrived();
    });
  }

  get signal(): AbortSignal {
    return this.#parts.socket.signal;
  }

  /** Pushes a notification. It waits while the key has no units left, so that no notification is left out. */
  async push(
    make: () => readonly RawJson[],
    method: string,
    count: number,
    source: "store" | "node" = "store",
  ): Promise<boolean> {
    const { grant, network } = await this.#paid();
    if (!grant || !network) return false;
    let bytes = 0;
    const making = (): readonly RawJson[] | undefined => {
      if (!isPayer(this.#parts.payer())) return undefined; // the key may be bound to less since it paid
      const notification = make();
      bytes = lengthOf(notification);
      this.hold(bytes);
      return notification;
    };
    const pushing = this.#parts.socket.push(making, count);
    if (!(await pushing.finally(() => this.hold(-bytes)))) return false;
    this.pushed += 1;
    grant.usage.record({
      network: network.facts.name,
      method,
      computeUnits: NOTIFICATION_UNITS,
      bytes,
      requestBytes: 0,
      outcome: "ok",
      saved: source === "store" ? source : undefined,
      upstreamCalls: 0,
    });
    return true;
  }

  /** All subscriptions of the channel wait together. */
  ready(): Promise<boolean> {
    this.#readying ??= this.#becomeReady().finally(() => {
      this.#readying = undefined;
    });
    return this.#readying;
  }

  async #becomeReady(): Promise<boolean> {
    const { socket, memory, clock } = this.#parts;
    for (;;) {
      await socket.drained();
      if (this.signal.aborted) return false;
      if (memory.mayPush(this.#memoryOf)) return true;
      await clock.sleep(ROOM_AGAIN_AFTER_MS, this.signal).catch(() => undefined);
    }
  }

  hold(bytes: number): void {
    if (!this.signal.aborted) this.#count(bytes); // the end of the socket has released all bytes
  }

  confirm(): void {
    if (this.#asked < MOST_ASKED && this.arrived < this.pushed) void this.#confirm();
  }

  moreArrived(): Promise<void> {
    if (this.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  allows(name: string, params: readonly unknown[]): boolean {
    const { grant, network, rule } = this.#parts.payer();
    const method = network?.catalogue.served.get(name);
    return (
      grant !== undefined &&
      method !== undefined &&
      rule === undefined &&
      grant.scope.forbidsCall({ message: { method: name, params }, method }) === undefined
    );
  }

  close(why: "behind" | "forbidden" | "taken"): void {
    this.#parts.socket.close(why);
  }

  #count(bytes: number): void {
    this.#held += bytes;
    this.#parts.memory.hold("unsent", bytes, this.#memoryOf);
  }

  async #confirm(): Promise<void> {
    this.#asked += 1;
    await this.#parts.clock.yield(); // other sockets get their notifications of the same event first
    const upTo = this.pushed;
    const hasArrived = await this.#parts.socket.confirm();
    this.#asked -= 1;
    if (!hasArrived) return;
    this.arrived = Math.max(this.arrived, upTo);
    this.#tellArrived();
    if (this.#asked === 0) this.confirm(); // for notifications that came while `MOST_ASKED` confirmations were awaited
  }

  #tellArrived(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /**
   * Charges the key; waits while it has no units.
   * @returns `NOBODY` when the socket is closed, or the key is invalid or bound to less by now.
   */
  async #paid(): Promise<Payer> {
    const { clock, payer: payerNow, socket } = this.#parts;
    for (;;) {
      const payer = payerNow();
      if (!payer.grant || !isPayer(payer) || socket.signal.aborted) return NOBODY;
      const short = await payer.grant.meter.charge(NOTIFICATION_UNITS, clock.now());
      if (!short) return payer;
      const pauseMs = Math.min(LONGEST_PAUSE_S, short.retryAfter) * 1000;
      await clock.sleep(pauseMs, socket.signal).catch(() => undefined);
    }
  }
}

const NOBODY: Payer = { grant: undefined, network: undefined };

/** Whether the key is valid, and not bound to less than the socket. */
const isPayer = ({ grant, rule }: Payer): boolean => grant !== undefined && rule === undefined;
