// What it means that a write failed: whether the disk is why, and how that is told.
import { statfs } from "node:fs/promises";

/** The disk does not take what is to be written; the message says why, in words for a person. */
export class NotWritable extends Error {
  override readonly name = "NotWritable";
}

/** With less, in bytes, a disk counts as full: what is written comes in pages, and many at once. */
const FULL_BELOW_BYTES = 1_048_576;

/** By the numbers of the operating system, and of LMDB. */
const REASONS: Readonly<Record<number, string>> = {
  5: "the disk reports an input/output error",
  28: "no space is left on the disk",
  30: "the disk is read-only",
  122: "the disk quota is used up",
  [-30_792]: "its file cannot grow",
};
const BY_NAME: Readonly<Record<string, number>> = { EIO: 5, ENOSPC: 28, EROFS: 30, EDQUOT: 122 };

/** @returns undefined when the error is not about the disk. */
export async function writeFailure(
  error: unknown,
  folder: string,
): Promise<NotWritable | undefined> {
  if (error instanceof NotWritable) return error;
  const cause = await commitErrorOf(error);
  const number = numberOf(cause);
  if (number === undefined) return undefined;
  // LMDB says "input/output error" of a write that the full disk took a part of.
  const why = (await isFull(folder)) ? REASONS[28] : REASONS[number];
  return new NotWritable(why ?? `writing fails (${(cause as Error).message})`, { cause });
}

export async function isFull(folder: string): Promise<boolean> {
  try {
    const { bavail, bsize, blocks } = await statfs(folder);
    return blocks > 0 && bavail * bsize < FULL_BELOW_BYTES;
  } catch {
    return false;
  }
}

/** LMDB tells the reason of a failed commit apart, and later. */
async function commitErrorOf(error: unknown): Promise<unknown> {
  const told: unknown = error instanceof Error ? Reflect.get(error, "commitError") : undefined;
  return told instanceof Promise ? told.catch((reason: unknown) => reason) : error;
}

function numberOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || error.name !== "Error") return undefined;
  const code: unknown = Reflect.get(error, "code");
  return typeof code === "number" ? code : BY_NAME[String(code)];
}
