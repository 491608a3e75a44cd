// A node that lies: it passes calls on to an honest node and changes the answers. Its chain may end below the honest
// node's head, so that a test can let it grow.
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { toQuantity } from "../../src/evm/values.ts";
import { headerHash } from "../../src/proofs/check-header.ts";
import { ask } from "../support/ask.ts";

export type Call = { readonly method: string; readonly params: readonly unknown[] };

/**
 * Returns the false answer in the place of the honest one.
 *
 * @param askHonestly Returns the honest answer to another call.
 */
export type Lie = (
  call: Call,
  honest: unknown,
  askHonestly: (call: Call) => Promise<unknown>,
) => unknown;

export type LyingNodeOptions = {
  readonly honestUrl: string;
  /** The chain id and the head that the node claims, so that one chain stands for others. */
  readonly chainId: number;
  readonly head: number;
  readonly lie?: Lie | undefined;
};

export class LyingNode {
  url = "";
  /** The number of answers that differed from the honest ones. */
  told = 0;
  /** The number of answered calls. */
  answered = 0;
  /** The newest block of the node. */
  head: number;
  /** undefined: the node is honest. */
  lie: Lie | undefined;
  readonly #honestUrl: string;
  readonly #chainId: number;
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy());
  });

  constructor({ honestUrl, chainId, head, lie }: LyingNodeOptions) {
    this.#honestUrl = honestUrl;
    this.#chainId = chainId;
    this.head = head;
    this.lie = lie;
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    this.url = `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
    return this;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { id, ...call } = JSON.parse(Buffer.concat(chunks).toString()) as Call & { id: unknown };
    const outcome = await this.#answer(call).then(
      (result) => ({ result }),
      (refusal: Refusal) => ({ error: refusal.error }),
    );
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(withDoubles(JSON.stringify({ jsonrpc: "2.0", id, ...outcome })));
  }

  async #answer(call: Call): Promise<unknown> {
    this.answered += 1;
    const honest = await this.#askHonestly(call);
    const lie = this.lie;
    if (!lie) return honest;
    const text = JSON.stringify(honest);
    const answer = await lie(call, honest, (other) => this.#askHonestly(other));
    if (JSON.stringify(answer) !== text) this.told += 1;
    return answer;
  }

  /** The honest node's answer if its chain ended at this node's head. */
  async #askHonestly({ method, params }: Call): Promise<unknown> {
    const head = toQuantity(this.head);
    if (method === "eth_chainId") return toQuantity(this.#chainId);
    if (method === "eth_blockNumber") return head;
    const settled = params.map((param) => (TAGS.has(param) ? head : param));
    const { result, error } = await ask(this.#honestUrl, method, settled);
    if (error) throw new Refusal(error);
    return isBeyond(result, this.head) ? null : result;
  }
}

export const startLyingNode = (options: LyingNodeOptions): Promise<LyingNode> =>
  new LyingNode(options).listen();

/** The name for a second member of the same name: an object cannot have both, so the JSON text is changed at the end. */
export const again = (name: string): string => `again ${name}`;
/** The name for a second member whose first letter is a JSON escape. */
export const escaped = (name: string): string => `escaped ${name}`;

const withDoubles = (json: string): string =>
  json
    .replaceAll(/"again (\w+)":/g, '"$1":')
    .replaceAll(
      /"escaped (\w)/g,
      (_, letter: string) => `"\\u00${letter.charCodeAt(0).toString(16)}`,
    );

const TAGS: ReadonlySet<unknown> = new Set(["latest", "safe", "finalized"]);

/** Carries the honest node's error object. */
class Refusal extends Error {
  readonly error: unknown;

  constructor(error: unknown) {
    super("refused");
    this.error = error;
  }
}

/** Whether a block, transaction, receipt, or list of receipts is of a block above `head`. */
function isBeyond(result: unknown, head: number): boolean {
  const item = Array.isArray(result) ? result.at(-1) : result;
  const { number, blockNumber = number } = Object(item) as Record<string, unknown>;
  return typeof blockNumber === "string" && Number(blockNumber) > head;
}

// Parts of lies. Each takes the number of the first false block.

export type Fields = Readonly<Record<string, unknown>>;
export type Block = Fields & { readonly transactions: readonly (Fields | string)[] };
export type LieFrom = (first: number) => Lie;

const numberOf = ({ number, blockNumber = number }: Fields): number => Number(blockNumber);

/** Changes blocks, in answers by number, tag or hash. */
export const inBlocks =
  (change: (block: Block, call: Call) => unknown): LieFrom =>
  (first) =>
  (call, honest) =>
    /^eth_getBlockBy(Number|Hash)$/.test(call.method) &&
    honest &&
    numberOf(honest as Block) >= first
      ? change(honest as Block, call)
      : honest;

/** Changes whole transactions, in blocks and in answers of their own. */
export const inTransactions =
  (change: (transaction: Fields) => Fields): LieFrom =>
  (first) =>
  (call, honest, askHonestly) => {
    if (call.method === "eth_getTransactionByHash" && honest)
      return numberOf(honest as Fields) >= first ? change(honest as Fields) : honest;
    return inWholeBlocks((transactions) => transactions.map(change))(first)(
      call,
      honest,
      askHonestly,
    );
  };

/** Changes the transaction lists of blocks with whole transactions. */
export const inWholeBlocks = (change: (transactions: readonly Fields[]) => unknown): LieFrom =>
  inBlocks((block) =>
    block.transactions.every((each) => typeof each === "object")
      ? { ...block, transactions: change(block.transactions) }
      : block,
  );

/** Changes the receipts of blocks. */
export const inReceipts =
  (change: (receipts: readonly Fields[]) => unknown): LieFrom =>
  (first) =>
  ({ method }, honest) =>
    method === "eth_getBlockReceipts" && numberOf((honest as Fields[] | null)?.[0] ?? {}) >= first
      ? change(honest as Fields[])
      : honest;

/** Changes each log of each receipt of blocks. */
export const inLogs = (change: (log: Fields) => Fields): LieFrom =>
  inReceipts((receipts) =>
    receipts.map((receipt) => ({ ...receipt, logs: (receipt["logs"] as Fields[]).map(change) })),
  );

/** Combines several lies. */
export const together =
  (...lies: readonly LieFrom[]): LieFrom =>
  (first) =>
  async (call, honest, askHonestly) => {
    let answer = honest;
    for (const lie of lies) answer = await lie(first)(call, answer, askHonestly);
    return answer;
  };

// Complete lies.

export const OTHER_HASH = `0x${"ab".repeat(32)}`;

/** The numbers of blocks by their false hashes. */
const disguises = new Map<string, string>();

/** False hashes of blocks in all answers; the node also knows the blocks by them. */
export const disguised: LieFrom = (first) => async (call, honest, askHonestly) => {
  const asked = String(call.params[0]);
  const isOfDisguised = /^0x[0-9a-f]{56}deadbeef$/.test(asked);
  const number = isOfDisguised ? disguises.get(asked) : undefined;
  const isBlock = call.method === "eth_getBlockByHash" || call.method === "eth_getBlockByNumber";
  const found = number
    ? await askHonestly({
        method: isBlock ? "eth_getBlockByNumber" : call.method,
        params: [number, ...call.params.slice(1)],
      })
    : honest;
  const item = (Array.isArray(found) ? found[0] : found) as Fields | null | undefined;
  const hash = item?.["blockHash"] ?? item?.["hash"];
  const height = String(item?.["blockNumber"] ?? item?.["number"]);
  if (typeof hash !== "string" || Number(height) < first) return found;
  const disguise = `${hash.slice(0, 58)}deadbeef`;
  disguises.set(disguise, height);
  return JSON.parse(JSON.stringify(found).replaceAll(hash, disguise));
};

/** The `extraData` of a forged block. */
export const FORGED = "0x6c6965";

/** Another block of this number, whose hash fits its header. */
export const forged =
  (number: number): Lie =>
  async (call, honest, askHonestly) => {
    const height = toQuantity(number);
    const block = (await askHonestly({
      method: "eth_getBlockByNumber",
      params: [height, false],
    })) as Block | null;
    if (!block) return honest;
    const hash = String(block["hash"]);
    const forgedHash = String(headerHash({ ...block, extraData: FORGED }));
    const isOfForged = call.params[0] === forgedHash;
    const answer = isOfForged
      ? await askHonestly({ ...call, params: [hash, ...call.params.slice(1)] })
      : honest;
    const text = JSON.stringify(answer).replaceAll(hash, forgedHash);
    const isIt = (answer as Fields | null)?.["hash"] === hash;
    return isIt ? { ...JSON.parse(text), extraData: FORGED } : JSON.parse(text);
  };

/** A newest block that no node has. */
export const announced =
  (number: number): Lie =>
  (call, honest) =>
    call.params[0] === "latest"
      ? { ...(honest as Block), number: toQuantity(number), hash: OTHER_HASH }
      : honest;

/** A receipt for a transaction that does not exist. */
export const invented =
  (blockNumber: string): Lie =>
  ({ method, params }, honest) =>
    method === "eth_getTransactionReceipt" && honest === null
      ? { transactionHash: params[0], blockHash: OTHER_HASH, blockNumber, status: "0x1", logs: [] }
      : honest;
