// A damaged file is put beside, for whoever wants to look into it; not more than one, and not at the cost of
// the room that a new one needs.
import { readdirSync, renameSync, rmSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";

const FILE = "data.mdb";
const DAMAGED = `${FILE}.damaged-`;

/** @param wallTimeMs Becomes part of its name, in seconds since 1970. @returns The name that it has now; undefined where there was no room to keep it. @throws What the file system says. */
export function setAside(folder: string, wallTimeMs: number): string | undefined {
  for (const name of readdirSync(folder))
    if (name.startsWith(DAMAGED)) rmSync(join(folder, name), { force: true });
  // Processes may have been lost over it: it is made anew with the other.
  rmSync(join(folder, "lock.mdb"), { force: true });
  if (!hasRoomBeside(folder)) {
    rmSync(join(folder, FILE), { force: true });
    return undefined;
  }
  const name = `${DAMAGED}${Math.floor(wallTimeMs / 1000)}`;
  renameSync(join(folder, FILE), join(folder, name));
  return name;
}

/** For another file as large. */
function hasRoomBeside(folder: string): boolean {
  const { size } = statSync(join(folder, FILE));
  const { bavail, bsize, blocks } = statfsSync(folder);
  return blocks === 0 || bavail * bsize > size;
}
