// The state that a configuration asks for: an LMDB in the data folder, or what several gateways share.

import { join } from "node:path";
import type { SharedStateSettings } from "../config/state-settings.ts";
import { LmdbState, type LmdbStateParts } from "./lmdb-state.ts";
import type { RedisStateParts } from "./redis-link.ts";
import type { State } from "./state.ts";

export type StateOptions = {
  readonly data: string;
  readonly state?: SharedStateSettings | undefined;
};

export type OpenStateParts = RedisStateParts & Pick<LmdbStateParts, "onWritableChange">;

/** No network is called so: their names have no underscores. */
export const lmdbPath = (data: string): string => join(data, "_state");

/**
 * Opens it, also when what is shared cannot be reached yet.
 *
 * @throws When there is no Redis and the folder cannot be read or written.
 */
export async function openState(options: StateOptions, parts: OpenStateParts): Promise<State> {
  if (!options.state) {
    const local = new LmdbState({ path: lmdbPath(options.data) }, parts);
    parts.onChange?.(true);
    return local;
  }
  const { RedisState } = await import("./redis-state.ts"); // only then: it takes memory
  const state = new RedisState(options.state, parts);
  await state.start();
  return state;
}
