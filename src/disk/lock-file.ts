// LMDB's table of readers is a file that it writes through memory: where the disk has no room for a part of
// it, the process would be killed. So it is made whole, or not at all, before.
import { existsSync, linkSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What LMDB makes: 126 readers. */
const LOCK_FILE_BYTES = 8_272;

/** @throws What the file system says: that there is no room. */
export function makeLockFile(folder: string): void {
  const path = join(folder, "lock.mdb");
  const draft = `${path}.${process.pid}`;
  if (existsSync(path)) return;
  try {
    writeFileSync(draft, Buffer.alloc(LOCK_FILE_BYTES), { mode: 0o600 });
    linkSync(draft, path);
  } catch (error) {
    // Another process has made it, and may use it already.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}
