// Cuts off callers that do not take their answers, which wait in memory: each caller that takes fewer bytes than a floor
// while bytes wait for it.
import type { Socket } from "node:net";
import type { Config } from "../config/schema.ts";
import type { Clock } from "../lib/clock.ts";
import { PeriodicTimer } from "../lib/waiting.ts";

/** The floor: a caller must take `bytesPerSecond` on average over `overMs`. */
export type SlowReadersOptions = Config["limits"]["reading"];

export type SlowReadersParts = {
  readonly clock: Pick<Clock, "after" | "now">;
  /** Called for each caller that is cut off. */
  readonly onCut: () => void;
  /** Whether the floor does not hold for a socket, since little memory waits for it; left out: it holds for all. */
  readonly isExempt?: (socket: Socket) => boolean;
};

/** The beginning of a measured period: its time, and the bytes that the caller had taken by then. */
type Waiting = { readonly sinceMs: number; readonly takenBytes: number };

const LOOKS = 6;
const SHORTEST_LOOK_MS = 100;

export class SlowReaders {
  /** The watched sockets, each with the socket whose byte counts tell how much the caller took. */
  readonly #sockets = new Map<Socket, Socket>();
  readonly #waiting = new WeakMap<Socket, Waiting>();
  #options: SlowReadersOptions;
  readonly #timer: PeriodicTimer;
  readonly #parts: SlowReadersParts;

  constructor(options: SlowReadersOptions, parts: SlowReadersParts) {
    this.#options = options;
    this.#parts = parts;
    const everyMs = (): number => Math.max(SHORTEST_LOOK_MS, this.#options.overMs / LOOKS);
    const { clock } = parts;
    this.#timer = new PeriodicTimer({ clock, everyMs, round: () => this.#lookAtAll() });
  }

  reconfigure(options: SlowReadersOptions): void {
    this.#options = options;
  }

  /** Watches a socket until it is closed. @param carrier For a TLS socket, the TCP socket below it. */
  watch(socket: Socket, carrier = socket): void {
    this.#sockets.set(socket, carrier);
    socket.once("close", () => this.#sockets.delete(socket));
    this.#timer.begin();
  }

  #lookAtAll(): boolean {
    for (const [socket, carrier] of this.#sockets) this.#look(socket, carrier);
    return this.#sockets.size > 0;
  }

  #look(socket: Socket, carrier: Socket): void {
    const now = this.#parts.clock.now();
    if (socket.writableLength === 0 || this.#parts.isExempt?.(socket) === true) {
      this.#waiting.delete(socket);
      return;
    }
    const takenBytes = takenOf(socket, carrier);
    const before = this.#waiting.get(socket);
    const { overMs, bytesPerSecond } = this.#options;
    if (before && now - before.sinceMs < overMs) return;
    const seconds = before ? (now - before.sinceMs) / 1000 : 0;
    if (before && takenBytes - before.takenBytes < bytesPerSecond * seconds) {
      this.#sockets.delete(socket);
      socket.destroy();
      this.#parts.onCut();
      return;
    }
    this.#waiting.set(socket, { sinceMs: now, takenBytes });
  }
}

/** The private handle of Node's sockets: the bytes that were given to libuv, and those that libuv still holds. */
type WithHandle = {
  readonly _handle?: { readonly bytesWritten?: number; readonly writeQueueSize?: number } | null;
};

/**
 * The bytes that the caller has taken. Node's own counts move only when the system has taken a whole write, which may be
 * as long as a slow caller takes in a minute, so the handle is read. A stream of HTTP/2 has no handle.
 */
export function takenOf(socket: Socket, carrier = socket): number {
  const { bytesWritten, writeQueueSize } = (carrier as WithHandle)._handle ?? {};
  return bytesWritten === undefined || writeQueueSize === undefined
    ? socket.bytesWritten - socket.writableLength
    : bytesWritten - writeQueueSize;
}
