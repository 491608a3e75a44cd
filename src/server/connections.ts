// The connections to a server: bounded in all and by address, and each in the requests that are worked on at once.
// Strangers, on whose connections no valid key was seen, make room for others.
import type { Socket } from "node:net";
import { plainAddress, subscriberOf } from "../access/scope/client-address.ts";
import type { RequestScope } from "../calls/caller.ts";
import type { Clock } from "../lib/clock.ts";
import type { Metrics } from "../observe/metrics.ts";

export type ConnectionLimits = {
  readonly most: number;
  /** Of that, how many strangers may have together: the rest is for callers with a key. */
  readonly strangers: number;
  /** Of one caller's address, or IPv6 network. */
  readonly perAddress: number;
};

export type ConnectionsParts = {
  /** Proxies that are trusted speak for many: they have no bound by address. Takes plain addresses. */
  readonly isProxy: (address: string) => boolean;
  readonly metrics: Pick<Metrics, "connectionEnded" | "connectionsCounted">;
};

export type Admission = "admitted" | "too many of this address" | "full";

/** Beyond all places, so that a probe of health, or a caller with a key, gets in while all are busy. */
const RESERVED = 8;
/** So many of the oldest connections are looked at for one that is idle. */
const LOOKED_AT = 100;

type Place = {
  /** What TLS made of it, once it did. */
  socket: Socket;
  /** undefined: it has no bound. */
  readonly subscriber: string | undefined;
  /** The requests that are being answered on it. */
  readonly running: Set<RunningRequest>;
  isKnown: boolean;
};

type RunningRequest = Pick<RequestScope, "end">;

export class Connections {
  /** Oldest first. */
  readonly #strangers = new Set<Place>();
  /** Those on which a valid key was seen, oldest first. */
  readonly #known = new Set<Place>();
  /** The places of each address that has some. */
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

  /** For connections that come from now on. */
  reconfigure(limits: ConnectionLimits): void {
    this.#limits = limits;
  }

  /** A connection was made. Others are ended to make room for it; when that cannot be, it is to be refused. */
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
   * The requests that are being answered on a connection: they end with it. Node tells a response that
   * its socket closed only when it is that response's turn: of calls that were pipelined, the later
   * ones would never end.
   */
  requestsOn(socket: Socket): Set<RunningRequest> | undefined {
    return this.#places.get(socket)?.running;
  }

  /**
   * What is carried by a connection that was let in counts as that connection: what TLS makes of it, which is ended in
   * its place, or a stream of HTTP/2.
   */
  carry(socket: Socket, by: Socket, as: "connection" | "stream"): void {
    const place = this.#places.get(by);
    if (!place) return;
    this.#places.set(socket, place);
    if (as === "connection") place.socket = socket;
  }

  /** Whether a valid key was seen on it. */
  isKnown(socket: Socket): boolean {
    return this.#places.get(socket)?.isKnown === true;
  }

  /** A valid key was seen on it. */
  letIn(socket: Socket): void {
    const place = this.#places.get(socket);
    if (!place || place.isKnown) return;
    place.isKnown = true;
    if (this.#strangers.delete(place)) this.#known.add(place);
  }

  /** Whether it ends with the answer that is being sent: a stranger's does when places are scarce. */
  endsAfterAnswer(socket: Socket): boolean {
    return this.#isScarce && this.#places.get(socket)?.isKnown !== true;
  }

  /** Ends those that were opened ahead of need, and never used: node takes them for busy. */
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

  /** Ends the oldest stranger among them, or else the oldest that is idle; false when there is none. */
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

  /** Whose bounds a connection counts against; undefined: a trusted proxy's has none. */
  subscriberOf({ remoteAddress = "" }: Socket): string | undefined {
    const address = plainAddress(remoteAddress);
    return address === undefined || this.#parts.isProxy(address)
      ? undefined
      : subscriberOf(address);
  }
}

/** Answers leave in order: a caller that needs more at once opens more connections. */
const AT_ONCE = 64;
/** What one read of a socket brings is bounded by its buffer; a caller that sends more does not mean to be answered. */
const MOST_WAITING = 4_000;

const ENDLESS = Number.POSITIVE_INFINITY;

type PipelinedSocket = Pick<Socket, "pause" | "resume" | "destroy" | "destroyed">;

/**
 * The requests of one connection that are sent before earlier ones are answered (pipelining): so many are worked
 * on at once, and while others wait, no more are read.
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
   * A request came; `end` tells that it was answered.
   *
   * @returns undefined when it may be worked on, else a promise of that. It stays open where the
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

  /** What is answered now has no end: a caller that sends more behind it is cut off. */
  close(): void {
    this.#underWay = ENDLESS;
  }

  end(): void {
    const next = this.#socket.destroyed ? undefined : this.#waiting.shift();
    if (!next) {
      this.#underWay -= 1;
      return;
    }
    // Answers that are ready at once would follow one another without a turn for anybody else.
    void this.#clock.yield().then(next);
    if (this.#waiting.length === 0) this.#socket.resume();
  }
}
