// A disk of a few megabytes that a test can fill: a tmpfs of its own, which only root may mount.
import { execFileSync } from "node:child_process";
import {
  closeSync,
  mkdtempSync,
  openSync,
  rmdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type SmallDisk = {
  readonly path: string;
  /** Uses up all room, but for so many bytes. */
  fill(leaving?: number): void;
  /** Frees the room. */
  empty(): void;
  remove(): void;
};

const PIECE_BYTES = 4_096;

/** @returns undefined where this user may not mount one. */
export function mountSmallDisk(megabytes: number): SmallDisk | undefined {
  const path = mkdtempSync(join(tmpdir(), "headgate-disk-"));
  try {
    execFileSync("mount", ["-t", "tmpfs", "-o", `size=${megabytes}m`, "tmpfs", path], {
      stdio: "ignore",
    });
  } catch {
    rmdirSync(path);
    return undefined;
  }
  const filler = join(path, "filler");
  return {
    path,
    fill: (leaving = 0) => {
      fillUp(filler);
      truncateSync(filler, Math.max(0, statSync(filler).size - leaving));
    },
    empty: () => rmSync(filler, { force: true }),
    remove: () => {
      execFileSync("umount", ["-l", path]);
      rmdirSync(path);
    },
  };
}

function fillUp(filler: string): void {
  const file = openSync(filler, "a");
  try {
    for (;;) writeSync(file, Buffer.alloc(PIECE_BYTES));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
  } finally {
    closeSync(file);
  }
}
