// The recorded exchanges, read from their files.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { Answer, Entry } from "./golden.ts";

const shared = fileURLToPath(new URL("../../../../shared/", import.meta.url));
export const vectorsAvailable = existsSync(`${shared}vectors`) && existsSync(`${shared}samples`);

/** Reads a JSON file; some of the files are tar archives that contain it. */
export const readVector = <T>(file: string): T => {
  const path = `${shared}${file}`;
  const text = file.endsWith(".tar")
    ? execFileSync("tar", ["--extract", "--to-stdout", "--file", path], { encoding: "utf8" })
    : readFileSync(path, "utf8");
  return JSON.parse(text) as T;
};

export const filesIn = (folder: string): readonly string[] =>
  readdirSync(`${shared}${folder}`)
    .sort()
    .map((file) => `${folder}/${file}`);

export type Exchange = Answer & { readonly file: string };

type Pair = {
  readonly request: Pick<Answer, "method" | "params">;
  readonly response: Pick<Answer, "result" | "error">;
};
type Written = { readonly request: unknown; readonly response: unknown };

/** The exchanges of a file, which can hold several, as a list of pairs or as a pair of batches. */
export function exchangesIn(file: string): readonly Exchange[] {
  const written = readVector<Written | readonly Written[]>(file);
  const pairs = [written].flat().flatMap(({ request, response }) => {
    const answers = [response].flat();
    return [request].flat().map((one, at) => ({ request: one, response: answers[at] }) as Pair);
  });
  return pairs.map(({ request, response }) => ({
    file,
    ...{ method: request.method, params: request.params },
    ...{ result: response.result, ...(response.error ? { error: response.error } : {}) },
  }));
}

/** A block's traces, transaction by transaction; rewards are left out. */
export function byTransaction(entries: readonly Entry[]): ReadonlyMap<string, readonly Entry[]> {
  const lists = new Map<string, Entry[]>();
  for (const entry of entries) {
    const { transactionHash } = entry;
    if (!transactionHash) continue;
    lists.set(transactionHash, [...(lists.get(transactionHash) ?? []), entry]);
  }
  return lists;
}
