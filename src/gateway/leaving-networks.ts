// Networks that are served no longer, until their calls in flight have ended and they are closed.
import { within } from "../lib/waiting.ts";
import type { Network, NetworkParts } from "../network.ts";

export type LeavingOptions = {
  /** How long calls in flight are waited for. */
  readonly withinMs: number;
  /** Whether another network has its name by now. */
  readonly isReplaced: () => boolean;
};

export class LeavingNetworks {
  /** Until it is closed, by name. */
  readonly #closing = new Map<string, Promise<void>>();
  readonly #parts: Pick<NetworkParts, "clock" | "metrics">;

  constructor(parts: Pick<NetworkParts, "clock" | "metrics">) {
    this.#parts = parts;
  }

  letGo(name: string, network: Network, { withinMs, isReplaced }: LeavingOptions): void {
    const earlier = this.#closing.get(name);
    const closed = Promise.all([this.#close(network, withinMs), earlier]).then(() => {
      if (this.#closing.get(name) === closed) this.#closing.delete(name);
      if (!isReplaced()) this.#parts.metrics.networkGone(name);
    });
    this.#closing.set(name, closed);
  }

  /** Resolves when none of this name is left. */
  async gone(name: string): Promise<void> {
    await this.#closing.get(name);
  }

  /** Resolves when none is left. */
  async empty(): Promise<void> {
    await Promise.all(this.#closing.values());
  }

  /** When the calls in flight have ended, or their time is over. */
  async #close(network: Network, withinMs: number): Promise<void> {
    await within(withinMs, network.requests.empty(), this.#parts);
    await network.close();
  }
}
