// Callers that do not take the answers they asked for, which wait in memory. A caller that takes less than a floor while
// something waits for it is cut off.
import type { Socket } from "node:net";
import type { Config } from "../config/schema.ts";
import type { Clock } from "../lib/clock.ts";
import { Rounds } from "../lib/waiting.ts";

/** The floor: a caller that takes so many bytes a second on average, over `overMs`, is not cut off. */
export type SlowReadersOptions = Config["limits"]["reading"];

export type SlowReadersParts = {
  readonly clock: Pick<Clock, "after" | "now">;
  /** Called for each caller that is cut off. */
  readonly onCut: () => void;
  /** Whether the caller's answers wait elsewhere, not in memory; left out: they never do. */
  readonly isPatientWith?: (socket: Socket) => boolean;
};

/** Since when something waits, and how much was taken until then. */
type Waiting = { readonly sinceMs: number; readonly takenBytes: number };

const LOOKS = 6;
const SHORTEST_LOOK_MS = 100;

export class SlowReaders {
  /** Each with the connection that carries it. */
  readonly #sockets = new Map<Socket, Socket>();
  readonly #waiting = new WeakMap<Socket, Waiting>();
  #options: SlowReadersOptions;
  readonly #rounds: Rounds;
  readonly #parts: SlowReadersParts;

  constructor(options: SlowReadersOptions, parts: SlowReadersParts) {
    this.#options = options;
    this.#parts = parts;
    const everyMs = (): number => Math.max(SHORTEST_LOOK_MS, this.#options.overMs / LOOKS);
    const { clock } = parts;
    this.#rounds = new Rounds({ clock, everyMs, round: () => this.#lookAtAll() });
  }

  reconfigure(options: SlowReadersOptions): void {
    this.#options = options;
  }

  /** Watches a socket until it is closed. @param carrier Of a secured one: the connection below it. */
  watch(socket: Socket, carrier = socket): void {
    this.#sockets.set(socket, carrier);
    socket.once("close", () => this.#sockets.delete(socket));
    this.#rounds.begin();
  }

  #lookAtAll(): boolean {
    for (const [socket, carrier] of this.#sockets) this.#look(socket, carrier);
    return this.#sockets.size > 0;
  }

  #look(socket: Socket, carrier: Socket): void {
    const now = this.#parts.clock.now();
    if (socket.writableLength === 0 || this.#parts.isPatientWith?.(socket) === true) {
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

/** What Node's streams do not tell: the bytes that were given to the system's stream, and those that it holds. */
type WithHandle = {
  readonly _handle?: { readonly bytesWritten?: number; readonly writeQueueSize?: number } | null;
};

/**
 * In bytes. Node counts a write as taken when all of it was, and one may have as much as a slow caller takes in a minute: so the
 * system's stream is asked. A stream of HTTP/2 has none of its own.
 */
function takenOf(socket: Socket, carrier: Socket): number {
  const { bytesWritten, writeQueueSize } = (carrier as WithHandle)._handle ?? {};
  return bytesWritten === undefined || writeQueueSize === undefined
    ? socket.bytesWritten - socket.writableLength
    : bytesWritten - writeQueueSize;
}
