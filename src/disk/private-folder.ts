// Folders whose content is the gateway's own business: nobody else on the machine may read or change it.
import { chmodSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

const PRIVATE_FOLDER = 0o700;
const PRIVATE_FILE = 0o600;

/**
 * Makes the folder where it is not there, and takes it and the files in it from everybody but this user:
 * those of an earlier version were open to others.
 *
 * @throws What the file system says.
 */
export function makePrivateFolder(path: string): void {
  mkdirSync(path, { recursive: true, mode: PRIVATE_FOLDER });
  allow(path, PRIVATE_FOLDER);
  for (const entry of readdirSync(path, { withFileTypes: true }))
    if (entry.isFile()) allow(join(path, entry.name), PRIVATE_FILE);
}

/** Where the folder is another user's, shared with this one, it stays as that user wants it. */
function allow(path: string, mode: number): void {
  try {
    chmodSync(path, mode);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (!["EPERM", "EROFS", "ENOENT"].includes(code)) throw error;
  }
}
