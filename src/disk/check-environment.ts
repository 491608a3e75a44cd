// Checks whether LMDB can open a file safely. LMDB's native code trusts the file that it maps into memory: a missing or
// misplaced page crashes the process. So this code checks the pages first.

import { closeSync, existsSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";

export type EnvironmentCheck =
  | { readonly kind: "absent" | "sound" }
  /** @param why The reason, for operators. */
  | { readonly kind: "damaged"; readonly why: string };

export type EnvironmentCheckOptions = {
  /** Whether the check may read one more leaf. The check always reads all pages above the leaves. */
  readonly mayGoOn: () => boolean;
};

/** The most checks of one file: while another process writes the file, its pages may be of several transactions. */
const ATTEMPTS = 5;

/** Checks the file `data.mdb` of a folder. @throws Errors of the file system. */
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
    return { kind: "sound" }; // the file changed in each attempt: a process writes it, and could open it
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

/** The meta page that LMDB uses: the latest; after a crash of the machine the older one, whose pages were on the disk. */
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

type PageWalkOptions = EnvironmentCheckOptions & { file: number; meta: EnvironmentMeta };

/** Walks all trees of the file from the root down, and visits each page once. */
class PageWalk {
  readonly #pages: number;
  readonly #seen: Uint8Array;
  readonly #page: Buffer;
  readonly #options: PageWalkOptions;

  constructor(options: PageWalkOptions) {
    const { file, meta } = options;
    this.#options = options;
    // The file may end before the highest page that was ever used: the last pages may be free.
    this.#pages = Math.min(Math.floor(fstatSync(file).size / meta.pageSize), meta.lastPage + 1);
    this.#seen = new Uint8Array(Math.ceil(this.#pages / 8));
    this.#page = Buffer.alloc(meta.pageSize);
  }

  /** @throws Damage */
  run(): void {
    for (const tree of this.#options.meta.trees) this.#walk(tree.root, tree.depth);
  }

  #walk(root: number | undefined, depth: number): void {
    if (root === undefined) return;
    let level = [root];
    for (let height = depth; height > 0; height -= 1) {
      if (height === 1) this.#visitLeaves(level);
      else level = level.flatMap((page) => this.#read(page, "branch").children);
    }
  }

  #visitLeaves(leaves: readonly number[]): void {
    for (const number of leaves) {
      if (!this.#options.mayGoOn()) {
        this.#claim(number, 1);
        continue;
      }
      const { overflows, trees } = this.#read(number, "leaf");
      for (const { page, count } of overflows) this.#visitOverflow(page, count);
      for (const { root, depth } of trees) this.#walk(root, depth);
    }
  }

  /** Reads only the first page of a long value: the others have no header. */
  #visitOverflow(number: number, count: number): void {
    this.#claim(number, count);
    const { file, meta } = this.#options;
    readSync(file, this.#page, 0, HEADER, number * meta.pageSize);
    if (!isOverflow(this.#page, number, count))
      throw new Damage(`page ${number} is not the page that belongs there`);
  }

  #read(number: number, kind: "branch" | "leaf"): EnvironmentPage {
    this.#claim(number, 1);
    const { file, meta } = this.#options;
    const { pageSize } = meta;
    const got = readSync(file, this.#page, 0, pageSize, number * pageSize);
    if (got !== pageSize) throw new Damage(`page ${number} is missing`);
    return readPage(this.#page, number, kind);
  }

  /** Marks pages as used. @throws Damage when a page is missing, or has another use already. */
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

// The pages of an LMDB file on disk: the two meta pages, which have the roots of the trees, and the pages of the trees.

type EnvironmentTree = {
  /** undefined: the tree is empty. */
  readonly root: number | undefined;
  readonly depth: number;
};

type EnvironmentMeta = {
  readonly pageSize: number;
  readonly trees: readonly EnvironmentTree[];
  readonly lastPage: number;
  /** The number of the transaction that wrote the meta page. */
  readonly transaction: number;
  /** The id of the machine's boot in which LMDB wrote the meta page; 0: not known. */
  readonly boot: number;
  /** Whether LMDB wrote the meta page before the pages of its trees were on the disk. */
  readonly isSyncedLater: boolean;
};

type EnvironmentPage = {
  /** The children of a branch. */
  readonly children: number[];
  /** The values of a leaf that are too long for a page. */
  readonly overflows: { readonly page: number; readonly count: number }[];
  /** The tables in a leaf. */
  readonly trees: EnvironmentTree[];
};

const HEADER = 24;
const FLAGS_AT = 18;
const KINDS = { branch: 1, leaf: 2 } as const;
const OVERFLOW = 4;
const META = 8;
/** The page sizes that LMDB uses. */
const PAGE_SIZES = new Set([4_096, 8_192, 16_384, 32_768, 65_536]);
const MAGIC = 0xbeefc0de;
const VERSION = 2;
const SYNCED_LATER = 0x1000;
const TREE_BYTES = 48;
const NODE_HEADER = 8;
const IN_OVERFLOW = 1;
const IS_TREE = 2;

/** @returns The two meta pages, or a text that says what is wrong with them. */
function metasIn(file: number): readonly [EnvironmentMeta, EnvironmentMeta] | string {
  const first = metaAt(file, 0);
  if (typeof first === "string") return first;
  const second = metaAt(file, first.pageSize);
  return typeof second === "string" ? second : [first, second];
}

function metaAt(file: number, position: number): EnvironmentMeta | string {
  const bytes = Buffer.alloc(HEADER + 144);
  if (readSync(file, bytes, 0, bytes.length, position) !== bytes.length)
    return "its first pages are missing";
  const isMeta = (bytes.readUInt16LE(FLAGS_AT) & META) !== 0;
  if (!isMeta || bytes.readUInt32LE(HEADER) !== MAGIC || bytes.readUInt32LE(HEADER + 4) !== VERSION)
    return "its beginning is not that of an LMDB file";
  const at = HEADER + 24;
  const pageSize = bytes.readUInt32LE(at);
  if (!PAGE_SIZES.has(pageSize)) return "its pages have an impossible size";
  return {
    pageSize,
    isSyncedLater: (bytes.readUInt16LE(at + 4) & SYNCED_LATER) !== 0,
    trees: [treeAt(bytes, at), treeAt(bytes, at + TREE_BYTES)],
    lastPage: numberAt(bytes, at + 2 * TREE_BYTES),
    transaction: numberAt(bytes, at + 2 * TREE_BYTES + 8),
    boot: numberAt(bytes, at + 2 * TREE_BYTES + 16),
  };
}

/** Reads a 64-bit number. A double is exact here: page and transaction numbers stay below 2^53. */
const numberAt = (bytes: Buffer, at: number): number => Number(bytes.readBigUInt64LE(at));

function treeAt(bytes: Buffer, at: number): EnvironmentTree {
  const root = bytes.readBigUInt64LE(at + 40);
  const isEmpty = root === 0xffff_ffff_ffff_ffffn;
  return { root: isEmpty ? undefined : Number(root), depth: bytes.readUInt16LE(at + 6) };
}

/** Whether the page is the first of the pages that hold one long value. */
const isOverflow = (page: Buffer, number: number, count: number): boolean =>
  numberAt(page, 0) === number &&
  (page.readUInt16LE(FLAGS_AT) & 0xff) === OVERFLOW &&
  page.readUInt32LE(20) === count;

/** @returns The pages that this page refers to. @throws Damage when it is not the page `number` of this kind. */
function readPage(page: Buffer, number: number, kind: "branch" | "leaf"): EnvironmentPage {
  if (numberAt(page, 0) !== number)
    throw new Damage(`page ${number} is not the page that belongs there`);
  if ((page.readUInt16LE(FLAGS_AT) & 0xff) !== KINDS[kind])
    throw new Damage(`page ${number} is not a page of a tree`);
  const [lower, upper] = [page.readUInt16LE(20), page.readUInt16LE(22)];
  const found: EnvironmentPage = { children: [], overflows: [], trees: [] };
  let isWithin = lower <= upper && HEADER + upper <= page.length;
  for (let at = HEADER; isWithin && at < HEADER + lower; at += 2) {
    const node = HEADER + page.readUInt16LE(at);
    isWithin = node + NODE_HEADER <= page.length && readNode(page, node, kind, found);
  }
  if (!isWithin) throw new Damage(`page ${number} refers to places outside of it`);
  return found;
}

/** Adds the node's references to `found`. @returns false when the node reaches beyond the page. */
function readNode(
  page: Buffer,
  node: number,
  kind: "branch" | "leaf",
  found: EnvironmentPage,
): boolean {
  const low = page.readUInt32LE(node);
  const flags = page.readUInt16LE(node + 4);
  const data = node + NODE_HEADER + page.readUInt16LE(node + 6);
  if (kind === "branch") {
    found.children.push(low + flags * 2 ** 32);
    return data <= page.length;
  }
  if (data + (flags & IN_OVERFLOW ? HEADER : low) > page.length) return false;
  if (flags & IN_OVERFLOW)
    found.overflows.push({ page: numberAt(page, data), count: numberAt(page, data + 16) });
  else if (flags & IS_TREE) {
    if (low !== TREE_BYTES) return false;
    found.trees.push(treeAt(page, data));
  }
  return true;
}
