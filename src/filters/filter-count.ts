// Filters in the state, and how many each key has over all networks and gateways: a filter and the count
// change in one step. A very large filter counts as several.
import type { State } from "../state/state.ts";

/** A filter as it is kept. */
export type CountedFilter = {
  readonly key: string;
  readonly text: string;
  /** The name of the key that made it. */
  readonly holder: string;
  readonly weight: number;
};

export class FilterCount {
  /** One change at a time of each count: those of one process do not stand in each other's way. */
  readonly #turns = new Map<string, Promise<unknown>>();
  readonly #state: Pick<State, "get" | "change">;

  constructor(parts: { readonly state: Pick<State, "get" | "change"> }) {
    this.#state = parts.state;
  }

  /** Whether there is room for so much more. */
  async hasRoom(holder: string, weight: number, most: number): Promise<boolean> {
    return numberIn(await this.#state.get(countKey(holder))) + weight <= most;
  }

  /** @returns false when the holder has too many. */
  add(filter: CountedFilter, most: number): Promise<boolean> {
    return this.#inTurn(filter.holder, async () => {
      const { key, text, holder, weight } = filter;
      for (;;) {
        const expected = await this.#state.get(countKey(holder));
        const count = numberIn(expected) + weight;
        if (count > most) return false;
        const counted = { key: countKey(holder), expected, next: String(count) };
        if (await this.#state.change([counted, { key, expected: undefined, next: text }]))
          return true;
      }
    });
  }

  /** @returns false, and nothing is changed, when the filter is not as it was. */
  remove(filter: CountedFilter): Promise<boolean> {
    return this.#inTurn(filter.holder, async () => {
      const { key, text, holder, weight } = filter;
      for (;;) {
        const expected = await this.#state.get(countKey(holder));
        const count = numberIn(expected) - weight;
        const next = count > 0 ? String(count) : undefined;
        const counted = { key: countKey(holder), expected, next };
        if (await this.#state.change([counted, { key, expected: text, next: undefined }]))
          return true;
        if ((await this.#state.get(key)) !== text) return false;
      }
    });
  }

  #inTurn(holder: string, task: () => Promise<boolean>): Promise<boolean> {
    const turn = (this.#turns.get(holder) ?? Promise.resolve()).then(task, task);
    this.#turns.set(holder, turn);
    const forget = (): void => {
      if (this.#turns.get(holder) === turn) this.#turns.delete(holder);
    };
    turn.then(forget, forget);
    return turn;
  }
}

// No network is called so: their names have no underscores.
const countKey = (holder: string): string => `filter _count ${holder}`;

const numberIn = (text: string | undefined): number => Number(text ?? 0);
