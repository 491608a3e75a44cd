// Bounds the connections to a server, in all and by address, and the requests that are answered at once on each. A
// connection on which no valid key was seen is a stranger's. Strangers make room for others.
import type { Socket } from "node:net";
import { plainAddress, subscriberOf } from "../access/scope/client-address.ts";
import type { RequestScope } from "../calls/caller.ts";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../observe/metrics.ts";

export type ConnectionLimits = {
  /** The most connections. */
  readonly most: number;
  /** The most connections of strangers: the rest is for callers with a key. */
  readonly strangers: number;
  /** The most connections of one address, or IPv6 /64. */
  readonly perAddress: number;
};

export type ConnectionsParts = {
  /** Whether the address is a trusted proxy's, which has many callers and so no bound by address. */
  readonly isProxy: (address: string) => boolean;
  readonly metrics: Pick<Metrics, "connectionEnded" | "connectionsCounted">;
};

export type Admission = "admitted" | "too many of this address" | "full";

/** Connections beyond `most`, so that a health probe or a caller with a key gets in while all others are busy. */
const RESERVED = 8;
/** The number of oldest connections that are searched for an idle one. */
const LOOKED_AT = 100;

type Place = {
  /** The TCP socket, or the TLS socket once the handshake is done. */
  socket: Socket;
  /** The address, or IPv6 /64, whose limit the connection counts against; undefined for a trusted proxy. */
  readonly subscriber: string | undefined;
  /** The requests that are being answered on this connection. */
  readonly running: Set<RunningRequest>;
  isKnown: boolean;
};

type RunningRequest = Pick<RequestScope, "end">;

export class Connections {
  /** The connections on which no valid key was seen, oldest first. */
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

  /** Changes the limits of new connections. */
  reconfigure(limits: ConnectionLimits): void {
    this.#limits = limits;
  }

  /** Admits a new connection, and may end others to make room. The function's caller ends it if it is not admitted. */
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
   * The requests that are being answered on a connection; the end of the connection ends them. Node emits "close" only on
   * the response whose turn it is, so later requests of a pipeline would never end.
   */
  requestsOn(socket: Socket): Set<RunningRequest> | undefined {
    return this.#places.get(socket)?.running;
  }

  /** Counts a socket as the connection `by` that carries it: a TLS socket replaces it, a stream of HTTP/2 shares it. */
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

  /** Notes that a valid key was seen on this connection. */
  markAdmitted(socket: Socket): void {
    const place = this.#places.get(socket);
    if (!place || place.isKnown) return;
    place.isKnown = true;
    if (this.#strangers.delete(place)) this.#known.add(place);
  }

  /** Whether the connection ends with its current answer, as a stranger's does while connections are scarce. */
  endsAfterAnswer(socket: Socket): boolean {
    const areScarce = this.#size >= this.#limits.strangers;
    return areScarce && !this.isKnown(socket);
  }

  /** Ends the connections on which no byte ever came: Node does not count those as idle. */
  endUnused(): void {
    for (const { socket } of [...this.#strangers]) if (socket.bytesRead === 0) socket.destroy();
  }

  get #size(): number {
    return this.#strangers.size + this.#known.size;
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

  /** Ends the oldest stranger's connection, else the oldest idle one. @returns false when there is neither. */
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

  /** The address, or IPv6 /64, whose limit a connection counts against; undefined for a trusted proxy. */
  subscriberOf({ remoteAddress = "" }: Socket): string | undefined {
    const address = plainAddress(remoteAddress);
    return address === undefined || this.#parts.isProxy(address)
      ? undefined
      : subscriberOf(address);
  }
}

/** The most requests of one connection that are answered at once. */
const AT_ONCE = 64;
/** The most requests that wait on one connection. One read of a socket brings fewer, so more mean a flood. */
const MOST_WAITING = 4_000;

const ENDLESS = Number.POSITIVE_INFINITY;

type PipelinedSocket = Pick<Socket, "pause" | "resume" | "destroy" | "destroyed">;

/**
 * Bounds the requests of one connection that its caller sent before earlier ones were answered (pipelining). Pauses the
 * socket while requests wait for their turn.
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
   * Begins a request; the server calls `end` when it is answered.
   *
   * @returns undefined when the request may be answered now, else a promise of its turn, which stays pending when the
   * connection ends before.
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

  /** Takes no more requests, since the current answer has no end: a caller that sends one is cut off. */
  close(): void {
    this.#underWay = ENDLESS;
  }

  end(): void {
    const next = this.#socket.destroyed ? undefined : this.#waiting.shift();
    if (!next) {
      this.#underWay -= 1;
      return;
    }
    // Without the pause, a row of answers that are ready at once would let no other work run.
    void this.#clock.yield().then(next);
    if (this.#waiting.length === 0) this.#socket.resume();
  }
}
