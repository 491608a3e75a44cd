// The pages of an LMDB file as they are on disk: the two that say where the trees are, and those of the trees.
import { readSync } from "node:fs";

type EnvironmentTree = {
  /** undefined: it is empty. */
  readonly root: number | undefined;
  readonly depth: number;
};

export type EnvironmentMeta = {
  readonly pageSize: number;
  readonly trees: readonly EnvironmentTree[];
  readonly lastPage: number;
  /** The number of the transaction that wrote it. */
  readonly transaction: number;
  /** Of the machine, when it was written; 0: not known. */
  readonly boot: number;
  /** It was written before what it speaks of was on the disk. */
  readonly isSyncedLater: boolean;
};

export type EnvironmentPage = {
  /** Of a branch. */
  readonly children: readonly number[];
  /** Of a leaf: values that are too long for a page. */
  readonly overflows: readonly { readonly page: number; readonly count: number }[];
  /** Of a leaf: tables. */
  readonly trees: readonly EnvironmentTree[];
};

/** What is wrong with a page, to be said behind its number. */
export type PageFault = "is another one" | "is no page of a tree" | "has places outside of it";

const HEADER = 24;
export const OVERFLOW_HEADER_BYTES = HEADER;
const FLAGS_AT = 18;
const KINDS = { branch: 1, leaf: 2 } as const;
const OVERFLOW = 4;
const META = 8;
/** Of these sizes LMDB makes pages. */
const PAGE_SIZES = new Set([4_096, 8_192, 16_384, 32_768, 65_536]);
const MAGIC = 0xbeefc0de;
const VERSION = 2;
const SYNCED_LATER = 0x1000;
const TREE_BYTES = 48;
const NODE_HEADER = 8;
const IN_OVERFLOW = 1;
const IS_TREE = 2;

/** @returns The two meta pages, or what is wrong with them. */
export function metasIn(file: number): readonly [EnvironmentMeta, EnvironmentMeta] | string {
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
    return "it does not begin as such a file does";
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

/** Beyond 2^53 no file has a page. */
const numberAt = (bytes: Buffer, at: number): number => Number(bytes.readBigUInt64LE(at));

function treeAt(bytes: Buffer, at: number): EnvironmentTree {
  const root = bytes.readBigUInt64LE(at + 40);
  const isEmpty = root === 0xffff_ffff_ffff_ffffn;
  return { root: isEmpty ? undefined : Number(root), depth: bytes.readUInt16LE(at + 6) };
}

/** Whether the page is the first of so many that hold one long value. */
export const isOverflow = (page: Buffer, number: number, count: number): boolean =>
  numberAt(page, 0) === number &&
  (page.readUInt16LE(FLAGS_AT) & 0xff) === OVERFLOW &&
  page.readUInt32LE(20) === count;

/** @returns What the page of this number leads to. */
export function readPage(
  page: Buffer,
  number: number,
  kind: "branch" | "leaf",
): EnvironmentPage | PageFault {
  if (numberAt(page, 0) !== number) return "is another one";
  if ((page.readUInt16LE(FLAGS_AT) & 0xff) !== KINDS[kind]) return "is no page of a tree";
  const [lower, upper] = [page.readUInt16LE(20), page.readUInt16LE(22)];
  const found = {
    children: [] as number[],
    overflows: [] as { page: number; count: number }[],
    trees: [] as EnvironmentTree[],
  };
  if (lower > upper || HEADER + upper > page.length) return "has places outside of it";
  for (let at = HEADER; at < HEADER + lower; at += 2) {
    const node = HEADER + page.readUInt16LE(at);
    if (node + NODE_HEADER > page.length || !readNode(page, node, kind, found))
      return "has places outside of it";
  }
  return found;
}

/** @returns false when it reaches beyond the page. */
function readNode(
  page: Buffer,
  node: number,
  kind: "branch" | "leaf",
  found: {
    children: number[];
    overflows: { page: number; count: number }[];
    trees: EnvironmentTree[];
  },
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
