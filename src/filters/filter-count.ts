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
  readonly #state: Pick<State, "get" | "update">;

  constructor(parts: { readonly state: Pick<State, "get" | "update"> }) {
    this.#state = parts.state;
  }

  /** Whether there is room for so much more. */
  async hasRoom(holder: string, weight: number, most: number): Promise<boolean> {
    return numberIn(await this.#state.get(countKey(holder))) + weight <= most;
  }

  /** @returns false when the holder has too many. */
  async add({ key, text, holder, weight }: CountedFilter, most: number): Promise<boolean> {
    const { isChanged } = await this.#state.update([countKey(holder), key], ([before]) => {
      const count = numberIn(before) + weight;
      return count > most ? undefined : [String(count), text];
    });
    return isChanged;
  }

  /** @returns false, and nothing is changed, when the filter is not as it was. */
  async remove({ key, text, holder, weight }: CountedFilter): Promise<boolean> {
    const { isChanged } = await this.#state.update([countKey(holder), key], ([before, there]) => {
      const count = numberIn(before) - weight;
      return there === text ? [count > 0 ? String(count) : undefined, undefined] : undefined;
    });
    return isChanged;
  }
}

// No network is called so: their names have no underscores.
const countKey = (holder: string): string => `filter _count ${holder}`;

const numberIn = (text: string | undefined): number => Number(text ?? 0);
