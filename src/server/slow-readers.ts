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
  readonly #sockets = new Set<Socket>();
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

  /** Watches a socket until it is closed. */
  watch(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    this.#rounds.begin();
  }

  #lookAtAll(): boolean {
    for (const socket of this.#sockets) this.#look(socket);
    return this.#sockets.size > 0;
  }

  #look(socket: Socket): void {
    const now = this.#parts.clock.now();
    if (socket.writableLength === 0 || this.#parts.isPatientWith?.(socket) === true) {
      this.#waiting.delete(socket);
      return;
    }
    const takenBytes = socket.bytesWritten - socket.writableLength;
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
