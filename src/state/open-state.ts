// The state that a configuration names: an LMDB in the data folder, or a Redis that several gateways share.

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

/** Names of networks have no underscores, so no network is called so. */
export const lmdbPath = (data: string): string => join(data, "_state");

/**
 * Opens the state, also when a shared one cannot be reached yet, and migrates what an earlier version wrote.
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
  const { RedisState } = await import("./redis-state.ts"); // loaded only here, since it takes memory
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
      // The state was reached only now, and may have a newer format. Then this fails as an unexpected error, and the
      // process that replaces this one is refused.
      if (isReachable && hasStarted && !isKnown) void migrate();
    },
  });
  await state.start();
  await orClosed(state, migrate());
  hasStarted = true;
  return state;
}

/**
 * @returns Whether it is of this format now; a state that cannot be reached, or written, is tried again. @throws
 * RefusedState
 */
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
