// One process keeps a store: a second one is told so before it does harm.
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";

/** The store's folder cannot be used; the message says why and what to do. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
}

/**
 * Makes the folder where it is not there, and marks it as kept by this process. A mark that a killed
 * process left behind is taken over.
 *
 * @returns How to take the mark away again.
 * @throws StoreUnavailable
 */
export function lockStore(folder: string): () => void {
  const path = join(folder, "keeper.pid");
  try {
    mkdirSync(folder, { recursive: true });
    const keeper = keeperIn(path);
    if (keeper !== undefined) {
      throw new StoreUnavailable(
        `data: process ${keeper} keeps ${folder} already; stop it, or give this gateway another folder (data)`,
      );
    }
    const file = openSync(path, "w");
    writeSync(file, String(process.pid));
    closeSync(file);
  } catch (cause) {
    if (cause instanceof StoreUnavailable) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    throw new StoreUnavailable(
      `data: cannot write to ${folder} (${code}); choose a folder that this user may write (data)`,
      { cause },
    );
  }
  return () => rmSync(path, { force: true });
}

/** The other process that keeps the folder, if it lives. */
function keeperIn(path: string): number | undefined {
  let pid: number;
  try {
    pid = Number(readFileSync(path, "utf8"));
  } catch {
    return undefined;
  }
  if (!Number.isSafeInteger(pid) || pid <= 0 || pid === process.pid) return undefined;
  try {
    process.kill(pid, 0);
    return pid;
  } catch (error) {
    // It lives, but belongs to somebody else.
    return (error as NodeJS.ErrnoException).code === "EPERM" ? pid : undefined;
  }
}
