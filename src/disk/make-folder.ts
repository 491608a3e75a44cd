// Makes folders one by one: Node.js' recursive mkdir never returns where the file system says that a parent, which it has,
// does not exist (in /proc, for example).
import { mkdirSync, type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/**
 * Makes the folder, and the folders above it that are missing, for this user alone.
 * @throws Errors of the file system; EEXIST when the path is a file.
 */
export function makeFolder(path: string): void {
  const missing: string[] = [];
  let folder = resolve(path);
  while (!statOf(folder)) {
    missing.push(folder);
    folder = dirname(folder);
  }
  for (const each of missing.reverse()) makeOne(each);
  makeOne(path);
}

function makeOne(path: string): void {
  if (statOf(path)?.isDirectory()) return;
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!statOf(path)?.isDirectory()) throw error;
  }
}

const statOf = (path: string): Stats | undefined => statSync(path, { throwIfNoEntry: false });
