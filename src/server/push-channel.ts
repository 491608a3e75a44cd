// Pushes notifications of subscriptions to one WebSocket. The socket's key pays for each of them.
import type { Grant } from "../access/keys/key-ring.ts";
import type { RequestRule } from "../access/scope/scope.ts";
import type { CallableNetwork } from "../calls/caller.ts";
import type { PushChannel } from "../filters/subscription.ts";
import { lengthOf, type RawJson } from "../jsonrpc/raw-json.ts";
import type { Clock } from "../lib/clock.ts";
import type { CallerSocket } from "./caller-socket.ts";

export type Payer = {
  readonly grant: Grant | undefined;
  readonly network: CallableNetwork | undefined;
  /** The rule of the key that forbids requests like the one that opened the socket; undefined when none does. */
  readonly rule?: RequestRule | undefined;
};

export type SocketChannelParts = {
  readonly socket: Pick<CallerSocket, "confirm" | "close" | "signal"> & {
    /** @param count The number of this notification in its subscription. */
    push(notification: readonly RawJson[], count: number): Promise<boolean>;
  };
  /** The payer at this moment: grant or network is undefined where the key is not valid, or the network not served. */
  readonly payer: () => Payer;
  readonly clock: Pick<Clock, "now" | "sleep" | "yield">;
};

/** The price of a notification, in compute units. */
const NOTIFICATION_UNITS = 1;
/** The most confirmations that are awaited at once. */
const MOST_ASKED = 4;
/** In seconds: the longest pause before a key without units is charged again. */
const LONGEST_PAUSE_S = 60;

export class SocketChannel implements PushChannel {
  readonly holder: string;
  subscriptions = 0;
  pushed = 0;
  arrived = 0;
  /** The number of awaited confirmations. */
  #asked = 0;
  #waiting: (() => void)[] = [];
  readonly #parts: SocketChannelParts;

  constructor({ holder }: Pick<PushChannel, "holder">, parts: SocketChannelParts) {
    this.holder = holder;
    this.#parts = parts;
    parts.socket.signal.addEventListener("abort", () => this.#tellArrived());
  }

  get signal(): AbortSignal {
    return this.#parts.socket.signal;
  }

  /** Pushes a notification. It waits while the key has no units left, so that no notification is left out. */
  async push(
    notification: readonly RawJson[],
    method: string,
    count: number,
    source: "store" | "node" = "store",
  ): Promise<boolean> {
    const { grant, network } = await this.#paid();
    if (!grant || !network || !(await this.#parts.socket.push(notification, count))) return false;
    this.pushed += 1;
    grant.usage.record({
      network: network.facts.name,
      method,
      computeUnits: NOTIFICATION_UNITS,
      bytes: lengthOf(notification),
      requestBytes: 0,
      outcome: "ok",
      saved: source === "store" ? source : undefined,
      upstreamCalls: 0,
    });
    return true;
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
      if (!payer.grant || payer.rule || socket.signal.aborted) return NOBODY;
      const short = await payer.grant.meter.charge(NOTIFICATION_UNITS, clock.now());
      if (!short) return payer;
      const pauseMs = Math.min(LONGEST_PAUSE_S, short.retryAfter) * 1000;
      await clock.sleep(pauseMs, socket.signal).catch(() => undefined);
    }
  }
}

const NOBODY: Payer = { grant: undefined, network: undefined };
