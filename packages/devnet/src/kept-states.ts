// Keeps the states of anvil's old blocks small and within a budget. anvil writes each state as a file, with the hashes
// of all blocks before it: the states of one day would take gigabytes.
import { readdir, readFile, rename, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../src/lib/clock.ts";
import { Turns, type Work } from "../../../src/lib/turns.ts";

/** BLOCKHASH reaches 256 blocks back, and anvil may have written the hash of the block itself, too. */
const REACHED_HASHES = 257;
const PASS_EVERY_MS = 5_000;
const HASHES = '"block_hashes":{';

type KeptState = { readonly path: string; readonly bytes: number };
type WrittenState = { readonly path: string; readonly writtenAt: number };

/** Shortens the states below the folder until the signal aborts, and removes the oldest beyond the budget, in bytes. */
export async function keepStates(
  options: { folder: string; budget: number; signal: AbortSignal },
  { clock }: { clock: Pick<Clock, "now" | "sleep" | "yield"> },
): Promise<void> {
  const kept = new KeptStates(options);
  const turns = new Turns({ clock });
  while (!options.signal.aborted) {
    await kept.pass({ turns });
    await clock.sleep(PASS_EVERY_MS, options.signal).catch(() => undefined);
  }
}

export class KeptStates {
  /** States by path, the oldest first. */
  readonly #seen = new Map<string, KeptState>();
  #bytes = 0;
  readonly #options: { folder: string; budget: number; signal: AbortSignal };

  constructor(options: { folder: string; budget: number; signal: AbortSignal }) {
    this.#options = options;
  }

  /** Shortens the states that anvil has written since the last pass, and forgets the states that anvil has removed. */
  async pass(parts: { turns: Pick<Turns, "do"> }): Promise<void> {
    const paths = await statesIn(this.#options.folder);
    for (const state of this.#seen.values()) if (!paths.has(state.path)) this.#forget(state);
    const fresh = await Promise.all(
      [...paths].filter((path) => !this.#seen.has(path)).map(lookedAt),
    );
    const inOrder = fresh.filter((state) => state !== undefined);
    inOrder.sort((one, other) => one.writtenAt - other.writtenAt);
    for (const { path } of inOrder) {
      if (this.#options.signal.aborted) return;
      await this.#take(path, parts);
    }
  }

  async #take(path: string, { turns }: { turns: Pick<Turns, "do"> }): Promise<void> {
    const text = await readFile(path, "utf8").catch(() => "");
    if (!text.endsWith("}}")) return; // anvil is still writing the file, or has removed it
    const short = await turns.do(withoutUnreachedHashes(text));
    if (short.length < text.length && !(await replaced(path, short))) return;
    this.#seen.set(path, { path, bytes: short.length });
    this.#bytes += short.length;
    for (const oldest of this.#seen.values()) {
      if (this.#bytes <= this.#options.budget) break;
      await unlink(oldest.path).catch(() => undefined);
      this.#forget(oldest);
    }
  }

  #forget({ path, bytes }: KeptState): void {
    if (this.#seen.delete(path)) this.#bytes -= bytes;
  }
}

/** anvil's state without the hashes of blocks that no contract can ask for. */
export function* withoutUnreachedHashes(state: string): Work<string> {
  const from = state.lastIndexOf(HASHES);
  if (from < 0) return state;
  const newest: { number: number; entry: string }[] = [];
  const entries = state.slice(from + HASHES.length).matchAll(/"(0x[0-9a-f]+)":"0x[0-9a-f]+"/g);
  for (const [entry, number] of entries) {
    newest.push({ number: Number(number), entry });
    if (newest.length % 1_000 === 0) yield;
  }
  if (newest.length <= REACHED_HASHES) return state;
  newest.sort((one, other) => other.number - one.number);
  const reached = newest.slice(0, REACHED_HASHES).map(({ entry }) => entry);
  return `${state.slice(0, from)}${HASHES}${reached.join(",")}}}`;
}

/** Replaces a file atomically, since anvil may be reading. @returns False when anvil has removed the file meanwhile. */
async function replaced(path: string, text: string): Promise<boolean> {
  const beside = path.replace(/json$/, "short");
  try {
    await writeFile(beside, text);
    await stat(path);
    await rename(beside, path);
    return true;
  } catch {
    await unlink(beside).catch(() => undefined);
    return false;
  }
}

/** Each start of anvil makes one more folder inside the given folder. */
async function statesIn(folder: string): Promise<Set<string>> {
  const inside = await namesIn(folder);
  const own = inside.filter((name) => name.startsWith("anvil-state-"));
  const files = await Promise.all(
    own.map(async (name) => {
      const states = await namesIn(join(folder, name));
      return states
        .filter((file) => file.endsWith(".json"))
        .map((file) => join(folder, name, file));
    }),
  );
  return new Set(files.flat());
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => []);

async function lookedAt(path: string): Promise<WrittenState | undefined> {
  try {
    return { path, writtenAt: (await stat(path)).mtimeMs };
  } catch {
    return undefined;
  }
}
