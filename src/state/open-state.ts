// Opens the state that a configuration names, an LMDB in the data folder or a Redis that several gateways share, and
// migrates its format.

import { join } from "node:path";
import type { Logger } from "pino";
import type { Config } from "../config/schema.ts";
import { LmdbState, type LmdbStateParts } from "./lmdb-state.ts";
import type { RedisStateParts } from "./redis-link.ts";
import { journalKeys, RefusedState, type State } from "./state.ts";

export type OpenStateParts = RedisStateParts & Pick<LmdbStateParts, "onWritableChange">;

/** The folder of the local state. Names of networks have no underscores, so no network has this folder. */
export const lmdbPath = (data: string): string => join(data, "_state");

/**
 * Opens the state, also when a shared state cannot be reached yet, and migrates the texts of an earlier version.
 * @throws RefusedState; without Redis also the error of a folder that cannot be read or written.
 */
export async function openState(
  options: Pick<Config, "data" | "state">,
  parts: OpenStateParts,
): Promise<State> {
  if (!options.state) {
    const path = lmdbPath(options.data);
    const local = new LmdbState({ path }, parts);
    await orClosed(local, migrateHere(local, `data: the state in ${path}`, parts));
    parts.onChange?.(true);
    return local;
  }
  const { RedisState } = await import("./redis-state.ts"); // loaded only here: the module takes memory
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
      // The gateway reaches the state only now, and its format may be newer. Then `migrate` fails as an unexpected
      // error, and the start of the process that replaces this one ends with RefusedState.
      if (isReachable && hasStarted && !isKnown) void migrate();
    },
  });
  await state.start();
  await orClosed(state, migrate());
  hasStarted = true;
  return state;
}

/** @returns Whether the state has this format now; false when it could not be read or written. @throws RefusedState */
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

// The format says how to read the texts of a state. A newer version migrates an older state, and refuses a newer one.
// An interrupted migration runs again. A migration keeps the texts that the version before reads and writes, since
// operators replace gateways that share a state one after the other.

/** Raised with each migration, and with each text that the version before cannot read. */
export const STATE_FORMAT = 3;

export const FORMAT_KEY = "format";

type Migrated = Pick<State, "get" | "list" | "update">;

/**
 * Migrations by the format that they begin with. A state without a format is of format 1, or empty. Format 3 has filters
 * whose criteria are an entry of their own; filters of format 2 are read and written as they are.
 */
const MIGRATIONS: Readonly<Record<number, (state: Migrated) => Promise<void>>> = {
  1: noteEnds,
};

/** @throws RefusedState; the error of a state that cannot be read or written. */
export async function migrateState(
  state: Migrated,
  { where, log }: { readonly where: string; readonly log: Pick<Logger, "info"> },
): Promise<void> {
  const noted = await state.get(FORMAT_KEY);
  const format = noted === undefined ? 1 : Number(noted);
  if (!(format <= STATE_FORMAT))
    throw new RefusedState(
      `${where} is of format ${noted}, and this version of Headgate knows formats up to ${STATE_FORMAT}: a newer version has migrated it. ` +
        "Run that version or a later one, or restore the copy that was made before the upgrade (docs/upgrading.md)",
    );
  if (format === STATE_FORMAT) return;
  for (let at = format; at < STATE_FORMAT; at += 1) await MIGRATIONS[at]?.(state);
  await state.update([FORMAT_KEY], () => [String(STATE_FORMAT)]);
  if (noted !== undefined || (await isUsed(state)))
    log.info({ from: format, to: STATE_FORMAT }, "the state was migrated");
}

const isUsed = async (state: Migrated): Promise<boolean> =>
  (await state.list("keys ")).length > 0 || (await state.list("members ")).length > 0;

const JOURNALS = "pending _first ";

/** Notes the end of each journal: format 1 looked for the end item by item. */
async function noteEnds(state: Migrated): Promise<void> {
  for (const { key } of await state.list(JOURNALS)) {
    const { end, items } = journalKeys(`pending ${key.slice(JOURNALS.length)}`);
    const last = (await state.list(items)).at(-1);
    if (!last) continue;
    const next = Number.parseInt(last.key.slice(items.length), 16) + 1;
    await state.update([end], ([there]) => (there === undefined ? [next.toString(16)] : undefined));
  }
}
