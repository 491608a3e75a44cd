// The format of the state: what its texts mean. A newer version takes an older state and makes it its own; a state of a
// newer version is refused. A migration is repeated when it was cut off, and leaves what the version before reads and
// writes still: gateways that share a state are replaced one after the other.
import type { Logger } from "pino";
import { journalKeys, RefusedState, type State } from "./state.ts";

/** Raised with each migration. */
export const STATE_FORMAT = 2;

export const FORMAT_KEY = "format";

type Migrated = Pick<State, "get" | "list" | "update">;

/** By the format that it begins with. Without a note it is 1, or empty. */
const MIGRATIONS: Readonly<Record<number, (state: Migrated) => Promise<void>>> = {
  1: noteEnds,
};

/** @throws RefusedState; what the state says when it cannot be read or written. */
export async function migrateState(
  state: Migrated,
  { where, log }: { readonly where: string; readonly log: Pick<Logger, "info"> },
): Promise<void> {
  const noted = await state.get(FORMAT_KEY);
  const format = noted === undefined ? 1 : Number(noted);
  if (!(format <= STATE_FORMAT))
    throw new RefusedState(
      `${where} is of format ${noted}, and this version of Headgate knows formats up to ${STATE_FORMAT}: a newer one has migrated it. ` +
        "Run that one or a later one, or put the copy in its place that was made before the upgrade (docs/upgrading.md)",
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

/** Format 1 did not note where a journal ends: it was looked for, item by item, each time. */
async function noteEnds(state: Migrated): Promise<void> {
  for (const { key } of await state.list(JOURNALS)) {
    const { end, items } = journalKeys(`pending ${key.slice(JOURNALS.length)}`);
    const last = (await state.list(items)).at(-1);
    if (!last) continue;
    const next = Number.parseInt(last.key.slice(items.length), 16) + 1;
    await state.update([end], ([there]) => (there === undefined ? [next.toString(16)] : undefined));
  }
}
