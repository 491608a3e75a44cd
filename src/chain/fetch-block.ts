// One block, its receipts and its uncles, from one node, in whichever dialect the node speaks.
import { findMembers, textOf } from "../jsonrpc/members.ts";
import { parsed } from "../jsonrpc/parsed.ts";
import type { Reply } from "../upstream/reply.ts";
import type {
  AskedNode,
  ChainDialect,
  Fetched,
  GivenBlock as ParsedBlock,
  Reference,
  Tag,
} from "./dialect.ts";

type Json = Readonly<Record<string, unknown>>;

/** Receipts asked for at once where a node gives them one by one. */
const AT_ONCE = 16;
const BY_BLOCK = ["eth_getBlockReceipts", "eth_getTransactionReceiptsByBlock"] as const;

/** Never rejects. */
async function fetchBlock(
  reference: Reference,
  node: AskedNode,
  signal: AbortSignal,
): Promise<Fetched> {
  const ask: Ask = (method, params) =>
    node.ask(method, JSON.stringify(params), signal, { purpose: "follow" });
  const reply =
    "hash" in reference
      ? await ask("eth_getBlockByHash", [reference.hash, true])
      : await ask("eth_getBlockByNumber", [`0x${reference.number.toString(16)}`, true]);
  if (reply.kind !== "result") return failed(reply);
  const block = parsedBlock(reply.json);
  if (block === null) return { kind: "unknown" };
  if (!block) return { kind: "garbage", reason: "this is no block" };
  const receipts = await fetchReceipts(block, node, ask);
  if (!Buffer.isBuffer(receipts)) return receipts;
  const parsedReceipts = parsedList(receipts);
  if (!parsedReceipts) return { kind: "garbage", reason: "this is no list of receipts" };
  const uncles = await fetchUncles(block, ask);
  return {
    kind: "fetched",
    fetched: {
      json: { block: reply.json, receipts, uncles },
      block,
      receipts: parsedReceipts,
      uncles: uncles && parsedList(uncles),
    },
  };
}

type Ask = (method: string, params: readonly unknown[]) => Promise<Reply>;
type Failure = Exclude<Fetched, { kind: "fetched" }>;

const failed = (reply: Reply): Failure => ({
  kind: "failed",
  reason:
    reply.kind === "failed" ? reply.reason : reply.kind === "refused" ? reply.message : reply.kind,
});

const NO_RECEIPTS = Buffer.from("[]");

async function fetchReceipts(
  block: ParsedBlock,
  node: AskedNode,
  ask: Ask,
): Promise<Buffer | Failure> {
  const transactions = hashesOf(block);
  if (!transactions) return { kind: "garbage", reason: "a block without its transactions" };
  if (transactions.length === 0) return NO_RECEIPTS;
  for (const method of BY_BLOCK) {
    if (node.isMissing(method)) continue;
    // By hash: a number may mean another block by now. Some nodes take numbers only.
    for (const reference of [block.hash, block.number]) {
      const reply = await ask(method, [reference]);
      if (reply.kind === "result") return isNull(reply.json) ? { kind: "unknown" } : reply.json;
      if (reply.kind === "missing") break;
      if (reply.kind !== "refused") return failed(reply);
    }
  }
  return receiptsOneByOne(transactions, ask);
}

async function receiptsOneByOne(
  transactions: readonly string[],
  ask: Ask,
): Promise<Buffer | Failure> {
  const receipts: Buffer[] = [];
  for (let first = 0; first < transactions.length; first += AT_ONCE) {
    const replies = await Promise.all(
      transactions
        .slice(first, first + AT_ONCE)
        .map((hash) => ask("eth_getTransactionReceipt", [hash])),
    );
    for (const reply of replies) {
      if (reply.kind !== "result") return failed(reply);
      if (isNull(reply.json)) return { kind: "unknown" }; // a reorganisation came between, or the node lags
      receipts.push(Buffer.from(receipts.length === 0 ? "[" : ","), reply.json);
    }
  }
  return Buffer.concat([...receipts, Buffer.from("]")]);
}

/** undefined when the block names none, or the node does not tell. */
async function fetchUncles({ hash, uncles }: ParsedBlock, ask: Ask): Promise<Buffer | undefined> {
  if (!Array.isArray(uncles) || uncles.length === 0) return undefined;
  const headers: string[] = [];
  for (const index of uncles.keys()) {
    const reply = await ask("eth_getUncleByBlockHashAndIndex", [hash, `0x${index.toString(16)}`]);
    if (reply.kind !== "result" || isNull(reply.json)) return undefined;
    headers.push(reply.json.toString("utf8"));
  }
  return Buffer.from(`[${headers.join(",")}]`);
}

const isNull = (json: Buffer): boolean => json.length === 4 && json[0] === 0x6e;

/** null as it is; undefined for what is no block that could be linked to another. */
function parsedBlock(json: Buffer): ParsedBlock | null | undefined {
  const block = parsed(json);
  if (block === null) return null;
  const { number, hash, parentHash } = Object(block) as Record<string, unknown>;
  const isLinked = isHash(hash) && isHash(parentHash) && typeof number === "string";
  return isLinked && /^0x[0-9a-f]{1,8}$/i.test(number) ? (block as ParsedBlock) : undefined;
}

function parsedList(json: Buffer): readonly Json[] | undefined {
  const list = parsed(json);
  return Array.isArray(list) && list.every((item) => typeof item === "object" && item !== null)
    ? list
    : undefined;
}

function hashesOf({ transactions }: ParsedBlock): string[] | undefined {
  if (!Array.isArray(transactions)) return undefined;
  const hashes = transactions.map((each) => (Object(each) as { hash?: unknown }).hash);
  return hashes.every(isHash) ? hashes : undefined;
}

const isHash = (value: unknown): value is string =>
  typeof value === "string" && /^0x[0-9a-f]{64}$/i.test(value);

/** The store writes block numbers in four bytes. */
const LARGEST_NUMBER = 0xffff_ffff;

/** The number and hash of a node's newest block, or of the one it has at a number; undefined when it does not tell. */
async function readPosition(
  numberOrTag: number | Tag,
  node: AskedNode,
  signal: AbortSignal,
): Promise<{ number: number; hash: string } | undefined> {
  const reference = typeof numberOrTag === "number" ? `0x${numberOrTag.toString(16)}` : numberOrTag;
  const reply = await node.ask("eth_getBlockByNumber", JSON.stringify([reference, false]), signal, {
    purpose: "follow",
  });
  return reply.kind === "result" ? positionIn(reply.json) : undefined;
}

/** Whether the node knows the block with this hash; undefined when it does not tell. */
async function knowsBlock(
  hash: string,
  node: AskedNode,
  signal: AbortSignal,
): Promise<boolean | undefined> {
  const params = JSON.stringify([hash, false]);
  const reply = await node.ask("eth_getBlockByHash", params, signal, { purpose: "follow" });
  return reply.kind === "result" ? !isNull(reply.json) : undefined;
}

function positionIn(json: Buffer): { number: number; hash: string } | undefined {
  const [number, hash] = findMembers(json, ["number", "hash"]) ?? [];
  if (!number || !hash) return undefined;
  const position = {
    number: Number(textOf(json, number).slice(1, -1)),
    hash: textOf(json, hash).slice(1, -1).toLowerCase(),
  };
  const isNumber = Number.isInteger(position.number) && position.number <= LARGEST_NUMBER;
  return isNumber && isHash(position.hash) ? position : undefined;
}

/** `eth_*`. */
export const blockDialect: ChainDialect = { fetchBlock, readPosition, knowsBlock };
