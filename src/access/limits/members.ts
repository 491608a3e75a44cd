// Counts the processes that share the limits: each process writes a heartbeat to the state.

import { randomBytes } from "node:crypto";
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeFolder } from "../../disk/make-folder.ts";
import type { Clock } from "../../lib/clock.ts";
import { Mutex } from "../../lib/mutex.ts";
import type { Next, State } from "../../state/state.ts";

export type MembersParts = {
  readonly state: Pick<State, "update" | "list">;
  readonly clock: Pick<Clock, "now">;
};

/** A member whose heartbeat did not change for this long counts as dead. */
const DEAD_AFTER_MS = 5000;
/** The entry of a dead member is removed after this time: a restarted member would have come back by then. */
const FORGOTTEN_AFTER_MS = 60_000;

export class Members {
  /** The last heartbeat of each other member, and when we first saw it by our clock: the member's clock may differ. */
  readonly #seen = new Map<string, { text: string; sinceMs: number }>();
  #count = 1;
  /** The heartbeat that this process wrote last. */
  #heartbeat: string | undefined;
  #beats = 0;
  #isClosed = false;
  readonly #beating = new Mutex();
  readonly #key: string;
  readonly #parts: MembersParts;

  constructor(options: { id: string }, parts: MembersParts) {
    this.#key = `members ${options.id}`;
    this.#parts = parts;
  }

  /** The number of living members, this process included; the last known number while the state cannot be reached. */
  get count(): number {
    return this.#count;
  }

  /** Writes a heartbeat and counts the members. To be called once a second. Never rejects. */
  beat(): Promise<void> {
    return this.#beating.run(() => this.#beat()).catch(() => undefined);
  }

  /** Removes the heartbeat, so that the other members stop counting this process at once. Never rejects. */
  async close(): Promise<void> {
    await this.#beating.idle();
    this.#isClosed = true;
    await this.#remove(this.#key, this.#heartbeat).catch(() => undefined);
  }

  async #beat(): Promise<void> {
    if (this.#isClosed) return;
    const { state, clock } = this.#parts;
    this.#beats += 1;
    const heartbeat = String(this.#beats);
    // The present text may differ from `known`: an earlier process had this id, or a write was not confirmed.
    await state.update([this.#key], () => [heartbeat], { known: [this.#heartbeat] });
    this.#heartbeat = heartbeat;
    const entries = await state.list("members ");
    this.#look(
      entries.filter(({ key }) => key !== this.#key),
      clock.now(),
    );
    await this.#forget(clock.now());
  }

  #look(others: readonly { key: string; text: string }[], nowMs: number): void {
    const keys = new Set(others.map(({ key }) => key));
    for (const key of this.#seen.keys()) if (!keys.has(key)) this.#seen.delete(key);
    for (const { key, text } of others) {
      if (this.#seen.get(key)?.text !== text) this.#seen.set(key, { text, sinceMs: nowMs });
    }
    const alive = [...this.#seen.values()].filter(({ sinceMs }) => nowMs - sinceMs < DEAD_AFTER_MS);
    this.#count = 1 + alive.length;
  }

  async #forget(nowMs: number): Promise<void> {
    for (const [key, { text, sinceMs }] of this.#seen) {
      if (nowMs - sinceMs < FORGOTTEN_AFTER_MS) continue;
      await this.#remove(key, text);
      this.#seen.delete(key);
    }
  }

  /** Removes a heartbeat, unless it has changed meanwhile: then its member lives. */
  async #remove(key: string, sign: string | undefined): Promise<void> {
    const next: Next = ([there]) => (there === sign ? [undefined] : undefined);
    await this.#parts.state.update([key], next, { known: [sign] });
  }
}

/**
 * The id of a process, which is unique among all that share the state, and the same after a restart.
 * @param options.data The gateway's folder; the first call creates the file `_member` with the gateway's part of the id.
 * @param options.slot The number of the process in the gateway; 0 for the only one.
 * @throws When the folder cannot be written, or its file has no id in it.
 */
export function memberId({ data, slot }: { data: string; slot: number }): string {
  const path = join(data, FILE);
  const id = readId(path) ?? makeId(data);
  return `${id}-${slot}`;
}

/** No network's folder has this name, since names of networks have no underscores. */
const FILE = "_member";

function readId(path: string): string | undefined {
  try {
    const text = readFileSync(path, "utf8").trim();
    return /^[0-9a-f]{16}$/.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

/** Of several processes that make an id at the same time, one wins and all get its id: a link is atomic. */
function makeId(data: string): string {
  makeFolder(data);
  const id = randomBytes(8).toString("hex");
  const path = join(data, FILE);
  const draft = `${path}.${id}`;
  writeFileSync(draft, `${id}\n`, { mode: 0o600 });
  try {
    linkSync(draft, path);
    return id;
  } catch (error) {
    const made = readId(path);
    if (made !== undefined) return made;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
