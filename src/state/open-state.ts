// The state that a configuration asks for: an LMDB in the data folder, or what several gateways share.

import { join } from "node:path";
import type { SharedStateSettings } from "../config/state-settings.ts";
import { migrateState } from "./formats.ts";
import { LmdbState, type LmdbStateParts } from "./lmdb-state.ts";
import type { RedisStateParts } from "./redis-link.ts";
import { RefusedState, type State } from "./state.ts";

export type StateOptions = {
  readonly data: string;
  readonly state?: SharedStateSettings | undefined;
};

export type OpenStateParts = RedisStateParts & Pick<LmdbStateParts, "onWritableChange">;

/** No network is called so: their names have no underscores. */
export const lmdbPath = (data: string): string => join(data, "_state");

/**
 * Opens it, also when what is shared cannot be reached yet, and migrates what an earlier version wrote.
 *
 * @throws RefusedState; when there is no Redis and the folder cannot be read or written.
 */
export async function openState(options: StateOptions, parts: OpenStateParts): Promise<State> {
  if (!options.state) {
    const path = lmdbPath(options.data);
    const local = new LmdbState({ path }, parts);
    await orClosed(local, migrateHere(local, `data: the state in ${path}`, parts));
    parts.onChange?.(true);
    return local;
  }
  const { RedisState } = await import("./redis-state.ts"); // only then: it takes memory
  const where = `state: the shared state under ${options.state.prefix}`;
  let hasStarted = false;
  let isKnown = false;
  const migrate = async (): Promise<void> => {
    isKnown = await migrateHere(state, where, parts);
  };
  const state = new RedisState(options.state, {
    ...parts,
    onChange: (isReachable) => {
      parts.onChange?.(isReachable);
      // Reached only later, and of a newer format: nobody expected that, and the process that takes this one's place is refused.
      if (isReachable && hasStarted && !isKnown) void migrate();
    },
  });
  await state.start();
  await orClosed(state, migrate());
  hasStarted = true;
  return state;
}

/** @returns Whether it is of this format now: what cannot be reached, or written, is looked at again. @throws RefusedState */
async function migrateHere(
  state: State,
  where: string,
  { log }: Pick<OpenStateParts, "log">,
): Promise<boolean> {
  try {
    await migrateState(state, { where, log });
    return true;
  } catch (error) {
    if (error instanceof RefusedState) throw error;
    return false;
  }
}

async function orClosed(state: State, done: Promise<unknown>): Promise<void> {
  try {
    await done;
  } catch (error) {
    await state.close();
    throw error;
  }
}
