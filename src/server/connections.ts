// The connections to a server: bounded in all and by address, and each of them in the requests that are answered at once.
// A connection on which no valid key was seen is a stranger's. Strangers make room for others.
import type { Socket } from "node:net";
import { plainAddress, subscriberOf } from "../access/scope/client-address.ts";
import type { RequestScope } from "../calls/caller.ts";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../observe/metrics.ts";

export type ConnectionLimits = {
  readonly most: number;
  /** How many of them strangers may have: the rest is for callers with a key. */
  readonly strangers: number;
  /** How many one address, or IPv6 network, may have. */
  readonly perAddress: number;
};

export type ConnectionsParts = {
  /** A trusted proxy speaks for many callers and has no bound by address. @param address A plain address. */
  readonly isProxy: (address: string) => boolean;
  readonly metrics: Pick<Metrics, "connectionEnded" | "connectionsCounted">;
};

export type Admission = "admitted" | "too many of this address" | "full";

/** Places beyond `most`: a health probe, or a caller with a key, gets in while all others are busy. */
const RESERVED = 8;
/** How many of the oldest connections are searched for an idle one. */
const LOOKED_AT = 100;

type Place = {
  /** The TLS socket once the handshake is done. */
  socket: Socket;
  /** undefined: this connection has no bound by address. */
  readonly subscriber: string | undefined;
  /** The requests that are being answered on this connection. */
  readonly running: Set<RunningRequest>;
  isKnown: boolean;
};

type RunningRequest = Pick<RequestScope, "end">;

export class Connections {
  /** Oldest first. */
  readonly #strangers = new Set<Place>();
  /** The connections on which a valid key was seen, oldest first. */
  readonly #known = new Set<Place>();
  /** The connections of each address. */
  readonly #bySubscriber = new Map<string, Set<Place>>();
  readonly #places = new WeakMap<Socket, Place>();
  #limits: ConnectionLimits;
  readonly #parts: ConnectionsParts;

  constructor(limits: ConnectionLimits, parts: ConnectionsParts) {
    this.#limits = limits;
    this.#parts = parts;
    parts.metrics.connectionsCounted(() => ({
      stranger: this.#strangers.size,
      known: this.#known.size,
    }));
  }

  /** The limits of new connections change. */
  reconfigure(limits: ConnectionLimits): void {
    this.#limits = limits;
  }

  /** Admits a new connection, and ends others to make room for it. The caller of this function ends one that is not admitted. */
  admit(socket: Socket): Admission {
    const subscriber = this.subscriberOf(socket);
    const place: Place = { socket, subscriber, running: new Set(), isKnown: false };
    const admission = this.#roomFor(place);
    if (admission !== "admitted") {
      this.#parts.metrics.connectionEnded(admission);
      return admission;
    }
    this.#take(place);
    return admission;
  }

  /**
   * The requests that are being answered on a connection. They end with it. Node tells a response only when it is its turn
   * that its connection closed, so later requests of a pipeline would never end.
   */
  requestsOn(socket: Socket): Set<RunningRequest> | undefined {
    return this.#places.get(socket)?.running;
  }

  /** Has a socket count as the connection that carries it: a TLS socket, which takes its place, or a stream of HTTP/2. */
  carry(socket: Socket, by: Socket, as: "connection" | "stream"): void {
    const place = this.#places.get(by);
    if (!place) return;
    this.#places.set(socket, place);
    if (as === "connection") place.socket = socket;
  }

  /** Whether a valid key was seen on this connection. */
  isKnown(socket: Socket): boolean {
    return this.#places.get(socket)?.isKnown === true;
  }

  /** A valid key was seen on this connection. */
  letIn(socket: Socket): void {
    const place = this.#places.get(socket);
    if (!place || place.isKnown) return;
    place.isKnown = true;
    if (this.#strangers.delete(place)) this.#known.add(place);
  }

  /** Whether the connection ends with its current answer: a stranger's does while places are scarce. */
  endsAfterAnswer(socket: Socket): boolean {
    return this.#isScarce && this.#places.get(socket)?.isKnown !== true;
  }

  /** Ends the connections that callers opened ahead of need and have never used. Node does not close these as idle. */
  endUnused(): void {
    for (const { socket } of [...this.#strangers]) if (socket.bytesRead === 0) socket.destroy();
  }

  get #size(): number {
    return this.#strangers.size + this.#known.size;
  }

  get #isScarce(): boolean {
    return this.#size >= this.#limits.strangers;
  }

  #roomFor({ subscriber }: Place): Admission {
    const { most, strangers, perAddress } = this.#limits;
    const own = subscriber === undefined ? undefined : this.#bySubscriber.get(subscriber);
    if (own && own.size >= perAddress && !this.#endOne(own)) return "too many of this address";
    if (this.#strangers.size >= strangers) this.#endOne(this.#strangers);
    if (this.#size < most) return "admitted";
    if (this.#endOne(this.#strangers) || this.#endOne(this.#known)) return "admitted";
    return this.#size < most + RESERVED ? "admitted" : "full";
  }

  /** Ends the oldest stranger, or else the oldest idle connection. @returns false when there is neither. */
  #endOne(places: ReadonlySet<Place>): boolean {
    let idle: Place | undefined;
    let left = LOOKED_AT;
    for (const place of places) {
      if (!place.isKnown) return this.#end(place);
      if (place.running.size === 0) idle ??= place;
      left -= 1;
      if (left === 0) break;
    }
    return idle !== undefined && this.#end(idle);
  }

  #end(place: Place): true {
    this.#parts.metrics.connectionEnded("made room");
    this.#leave(place);
    place.socket.destroy();
    return true;
  }

  #take(place: Place): void {
    const { socket, subscriber } = place;
    this.#places.set(socket, place);
    this.#strangers.add(place);
    if (subscriber !== undefined) {
      const own = this.#bySubscriber.get(subscriber);
      if (own) own.add(place);
      else this.#bySubscriber.set(subscriber, new Set([place]));
    }
    socket.once("close", () => {
      this.#leave(place);
      for (const request of place.running) request.end(false);
    });
  }

  #leave(place: Place): void {
    const { subscriber } = place;
    this.#strangers.delete(place);
    this.#known.delete(place);
    const own = subscriber === undefined ? undefined : this.#bySubscriber.get(subscriber);
    if (own?.delete(place) && own.size === 0) this.#bySubscriber.delete(subscriber ?? "");
  }

  /** The address or network whose bound a connection counts against; undefined for a trusted proxy. */
  subscriberOf({ remoteAddress = "" }: Socket): string | undefined {
    const address = plainAddress(remoteAddress);
    return address === undefined || this.#parts.isProxy(address)
      ? undefined
      : subscriberOf(address);
  }
}

/** How many requests of one connection are answered at once. Answers leave in order: for more, a caller opens connections. */
const AT_ONCE = 64;
/** One read of a socket brings fewer requests than this; a caller that sends more does not want to be answered. */
const MOST_WAITING = 4_000;

const ENDLESS = Number.POSITIVE_INFINITY;

type PipelinedSocket = Pick<Socket, "pause" | "resume" | "destroy" | "destroyed">;

/**
 * The requests of one connection that were sent before earlier ones were answered (pipelining). A few are answered at
 * once. While others wait, no more are read.
 */
export class Pipeline {
  #underWay = 0;
  readonly #waiting: (() => void)[] = [];
  readonly #socket: PipelinedSocket;
  readonly #clock: Pick<Clock, "yield">;

  constructor(socket: PipelinedSocket, parts: { clock: Pick<Clock, "yield"> }) {
    this.#socket = socket;
    this.#clock = parts.clock;
  }

  /**
   * A request came. The server calls `end` when it is answered.
   *
   * @returns undefined when the request may be answered now, else a promise of its turn. The promise stays pending when
   * the connection ends before.
   */
  begin(): Promise<void> | undefined {
    if (this.#underWay < AT_ONCE) {
      this.#underWay += 1;
      return undefined;
    }
    const isOver = this.#waiting.length >= MOST_WAITING || this.#underWay === ENDLESS;
    if (isOver) this.#socket.destroy();
    else if (this.#waiting.length === 0) this.#socket.pause();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The current answer has no end: a caller that sends more requests behind it is cut off. */
  close(): void {
    this.#underWay = ENDLESS;
  }

  end(): void {
    const next = this.#socket.destroyed ? undefined : this.#waiting.shift();
    if (!next) {
      this.#underWay -= 1;
      return;
    }
    // Without a pause, answers that are ready would follow one another and let no other work run.
    void this.#clock.yield().then(next);
    if (this.#waiting.length === 0) this.#socket.resume();
  }
}
