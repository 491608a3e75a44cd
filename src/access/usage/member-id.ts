// The name under which a process writes its usage: the same after a restart, and no other process has it.
import { randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * @param options.data The folder of the gateway. Its part of the id is made there once.
 * @param options.slot Which of the gateway's processes; 0 where there is one.
 * @throws When the folder cannot be written.
 */
export function memberId({ data, slot }: { data: string; slot: number }): string {
  const path = join(data, FILE);
  const id = readId(path) ?? makeId(data);
  return `${id}-${slot}`;
}

/** No network is called so: their names have no underscores. */
const FILE = "_member";

function readId(path: string): string | undefined {
  try {
    const text = readFileSync(path, "utf8").trim();
    return /^[0-9a-f]{16}$/.test(text) ? text : undefined;
  } catch {
    return undefined;
  }
}

/** Of several processes that do so at once one wins, and all have its id: a link is made whole or not at all. */
function makeId(data: string): string {
  mkdirSync(data, { recursive: true, mode: 0o700 });
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
