// Whether an LMDB file can be opened: what it maps into memory is believed by native code, which ends the
// process where a page is missing or another one's. So its pages are looked at before, here.
import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import {
  type EnvironmentMeta,
  isOverflow,
  metasIn,
  OVERFLOW_HEADER_BYTES,
  type PageFault,
  readPage,
} from "./environment-pages.ts";

export type EnvironmentCheck =
  | { readonly kind: "absent" | "sound" }
  /** @param why In words for a person. */
  | { readonly kind: "damaged"; readonly why: string };

export type EnvironmentCheckOptions = {
  /** Whether one more leaf is looked at; all pages above the leaves are looked at always. */
  readonly mayGoOn: () => boolean;
};

/** Another process may write meanwhile: then what was found is of no one state. */
const ATTEMPTS = 5;

/** Looks at the file `data.mdb` of a folder. @throws What the file system says. */
export function checkEnvironment(
  folder: string,
  options: EnvironmentCheckOptions,
): EnvironmentCheck {
  const path = join(folder, "data.mdb");
  if (!existsSync(path)) return { kind: "absent" };
  const file = openSync(path, "r");
  try {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const before = metasIn(file);
      const check = checkOnce(file, before, options);
      if (check.kind === "sound" || isSame(before, metasIn(file))) return check;
    }
    return { kind: "sound" }; // whoever writes it reads it, too
  } finally {
    closeSync(file);
  }
}

const isSame = (one: ReturnType<typeof metasIn>, other: ReturnType<typeof metasIn>): boolean =>
  JSON.stringify(one) === JSON.stringify(other);

function checkOnce(
  file: number,
  metas: ReturnType<typeof metasIn>,
  options: EnvironmentCheckOptions,
): EnvironmentCheck {
  if (typeof metas === "string") return { kind: "damaged", why: metas };
  try {
    new PageWalk({ ...options, file, meta: metaInUse(metas) }).run();
    return { kind: "sound" };
  } catch (error) {
    if (error instanceof Damage) return { kind: "damaged", why: error.message };
    throw error;
  }
}

/** LMDB takes the last state; after the machine itself went down the one before, which was on the disk. */
function metaInUse([one, other]: readonly [EnvironmentMeta, EnvironmentMeta]): EnvironmentMeta {
  const [latest, older] = one.transaction >= other.transaction ? [one, other] : [other, one];
  const isOfThisBoot = latest.boot === 0 || latest.boot === bootId();
  return isOfThisBoot || !latest.isSyncedLater || older.transaction === 0 ? latest : older;
}

function bootId(): number {
  try {
    const text = readFileSync("/proc/sys/kernel/random/boot_id", "utf8");
    return Number.parseInt(text.slice(0, 8), 16);
  } catch {
    return 0;
  }
}

class Damage extends Error {}

/** Walks down all trees of the file, each page once. */
class PageWalk {
  readonly #file: number;
  readonly #meta: EnvironmentMeta;
  readonly #pages: number;
  readonly #seen: Uint8Array;
  readonly #page: Buffer;
  readonly #mayGoOn: () => boolean;

  constructor({
    file,
    meta,
    mayGoOn,
  }: EnvironmentCheckOptions & { file: number; meta: EnvironmentMeta }) {
    this.#file = file;
    this.#meta = meta;
    // The file may be shorter than the pages that were ever used: the last ones may be free.
    this.#pages = Math.min(Math.floor(fstatSync(file).size / meta.pageSize), meta.lastPage + 1);
    this.#seen = new Uint8Array(Math.ceil(this.#pages / 8));
    this.#page = Buffer.alloc(meta.pageSize);
    this.#mayGoOn = mayGoOn;
  }

  /** @throws Damage */
  run(): void {
    for (const tree of this.#meta.trees) this.#walk(tree.root, tree.depth);
  }

  #walk(root: number | undefined, depth: number): void {
    if (root === undefined) return;
    let level = [root];
    for (let height = depth; height > 0; height -= 1) {
      if (height === 1) this.#visitLeaves(level);
      else level = level.flatMap((page) => this.#childrenOf(page));
    }
  }

  #childrenOf(number: number): readonly number[] {
    const { children } = this.#read(number, "branch");
    return children;
  }

  #visitLeaves(leaves: readonly number[]): void {
    for (const number of leaves) {
      if (!this.#mayGoOn()) {
        this.#claim(number, 1);
        continue;
      }
      const { overflows, trees } = this.#read(number, "leaf");
      for (const { page, count } of overflows) this.#visitOverflow(page, count);
      for (const { root, depth } of trees) this.#walk(root, depth);
    }
  }

  /** Of a long value the first page alone says what it is. */
  #visitOverflow(number: number, count: number): void {
    this.#claim(number, count);
    const { pageSize } = this.#meta;
    readSync(this.#file, this.#page, 0, OVERFLOW_HEADER_BYTES, number * pageSize);
    if (!isOverflow(this.#page, number, count)) throw new Damage(`page ${number} is another one`);
  }

  #read(number: number, kind: "branch" | "leaf") {
    this.#claim(number, 1);
    const { pageSize } = this.#meta;
    const got = readSync(this.#file, this.#page, 0, pageSize, number * pageSize);
    if (got !== pageSize) throw new Damage(`page ${number} is missing`);
    const found = readPage(this.#page, number, kind);
    if (typeof found === "string") throw new Damage(`page ${number} ${found satisfies PageFault}`);
    return found;
  }

  /** Each page has one place in one tree. */
  #claim(first: number, count: number): void {
    if (first < 2 || first + count > this.#pages)
      throw new Damage(`page ${first + count - 1} is missing`);
    for (let number = first; number < first + count; number += 1) {
      const bit = 1 << (number & 7);
      const seen = this.#seen[number >> 3] ?? 0;
      if (seen & bit) throw new Damage(`page ${number} is used twice`);
      this.#seen[number >> 3] = seen | bit;
    }
  }
}
