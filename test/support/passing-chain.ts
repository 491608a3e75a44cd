// A chain of the nodes, and a gateway's store that follows it at times: for tests of filters while the network passes
// calls through, without a real store. Blocks have one log each, and heights may be left out.
import type { BlockFetch, ChainView } from "../../src/chain/chain-view.ts";
import type { Reference } from "../../src/chain/dialect.ts";
import type { Position } from "../../src/chain/stored-block.ts";
import { asRemoved } from "../../src/evm/results.ts";
import { toQuantity } from "../../src/evm/values.ts";
import { FilterBook, type FilterParts } from "../../src/filters/filter-book.ts";
import { type BlockItems, blockFormatters, type Formatter } from "../../src/filters/formatters.ts";
import { MempoolJournal } from "../../src/filters/mempool-journal.ts";
import { errors } from "../../src/jsonrpc/rpc-error.ts";

export type PassingBlock = Position & { readonly parentHash: string; readonly log: string };

const hashOf = (digits: string): string => `0x${digits.padStart(64, "0")}`;

/** How a node answers about a height that the chain left out. */
type LeftOut = "null" | "error" | "the block before";

export class PassingChain {
  /** The canonical blocks, lowest first. */
  blocks: PassingBlock[] = [];
  /** All blocks that the nodes have, by hash. */
  readonly held = new Map<string, PassingBlock>();
  /** The blocks that cannot be taken into the store. */
  readonly odd = new Set<string>();
  /** The blocks whose receipts no node has, so that the store has them without logs. */
  readonly bare = new Set<string>();
  /** How many blocks the node that answers by number is behind. */
  lag = 0;
  isAway = false;
  /** Whether the nodes lose a block when a reorg removes it. */
  isForgetful = false;
  leftOut: LeftOut = "null";
  /** Called before each answer of a node. */
  onCall: () => void = () => undefined;
  readonly calls: string[] = [];
  isFollowed = true;
  #stored = new Map<string, PassingBlock>();
  #canonical: readonly PassingBlock[] = [];
  #made = 0;

  constructor() {
    this.grow(1);
    this.follow();
  }

  get head(): PassingBlock {
    return this.blocks.at(-1) as PassingBlock;
  }

  /** Adds a block that is `step` heights above the head. */
  grow(step = 1): void {
    const { number = 9, hash: parentHash = hashOf("1") } = this.blocks.at(-1) ?? {};
    this.#made += 1;
    const position = { number: number + step, hash: hashOf(`${number + step}ab${this.#made}`) };
    const log = JSON.stringify({
      address: `0x${"1".repeat(40)}`,
      ...{ topics: [], data: "0x", logIndex: "0x0", transactionIndex: "0x0" },
      transactionHash: position.hash,
      blockHash: position.hash,
      blockNumber: toQuantity(position.number),
      removed: false,
    });
    const block = { ...position, parentHash, log };
    this.blocks.push(block);
    this.held.set(block.hash, block);
  }

  /** Replaces the last blocks by others, up to a greater height. */
  reorganise(depth: number): void {
    const { number } = this.head;
    const removed = this.blocks.slice(1).slice(-depth);
    if (this.isForgetful) for (const { hash } of removed) this.held.delete(hash);
    this.blocks = this.blocks.slice(0, Math.max(1, this.blocks.length - depth));
    while (this.head.number <= number) this.grow();
  }

  /** The store takes in the chain as it is now. @param from The lowest number, where the window begins anew. */
  follow(from = this.#canonical[0]?.number ?? 0): void {
    this.isFollowed = true;
    this.#canonical = this.blocks.filter(({ number }) => number >= from);
    for (const [hash, { number }] of this.#stored) if (number < from) this.#stored.delete(hash);
    for (const block of this.#canonical) this.#stored.set(block.hash, block);
  }

  passThrough(): void {
    this.isFollowed = false;
  }

  readonly view = (): ChainView | undefined => (this.isFollowed ? this.storedView() : undefined);

  storedView(): ChainView {
    const canonical = this.#canonical;
    const stored = this.#stored;
    const { number, hash } = canonical.at(-1) as PassingBlock;
    const at = (height: number) => canonical.find((each) => each.number === height);
    const view = {
      ...{ head: { number, hash }, tail: canonical[0]?.number ?? 0 },
      get holds() {
        return at(number)?.hash === hash;
      },
      hashAt: (height: number) => at(height)?.hash,
      blockAt: (height: number) => storedBlock(at(height)),
      droppedBlock: (sought: string) => storedBlock(stored.get(sought)),
      fetch: async (wanted: Reference) => this.#fetch(wanted),
      hurry: () => undefined,
      reach: async () => this.view() ?? view,
    };
    return view as unknown as ChainView;
  }

  #fetch(wanted: Reference): BlockFetch {
    const block =
      "hash" in wanted
        ? this.held.get(wanted.hash)
        : this.blocks.find(({ number }) => number === wanted.number);
    if (!block) return "unknown";
    if (this.odd.has(block.hash)) return "unproven";
    const outline = { parentHash: block.parentHash, hasReceipts: !this.bare.has(block.hash) };
    return { ...block, outline } as unknown as BlockFetch;
  }

  /** The parts of a filter book that tell of the chain. */
  get chain() {
    const self = this;
    return {
      view: self.view,
      liveView: async () => self.view(),
      storedView: () => self.storedView(),
      headOfNodes: async () => self.head,
      reach: async () => undefined,
      get whyStopped() {
        return self.isFollowed ? undefined : "a block cannot be taken in";
      },
    };
  }

  /** The nodes. */
  readonly pool = {
    call: async (method: string, paramsJson: string): Promise<Buffer> => {
      this.onCall();
      this.calls.push(method);
      if (this.isAway) throw errors.noUpstream();
      const [asked] = JSON.parse(paramsJson) as [string & { blockHash?: string }];
      if (method === "eth_getLogs") {
        const block = this.held.get(asked.blockHash ?? "");
        return Buffer.from(block ? `[${block.log}]` : "[]");
      }
      const block =
        method === "eth_getBlockByHash" ? this.held.get(asked) : this.#answerByNumber(asked);
      return Buffer.from(JSON.stringify(block ? headerJson(block) : null));
    },
  };

  #answerByNumber(asked: string): PassingBlock | undefined {
    const head = this.blocks[Math.max(0, this.blocks.length - 1 - this.lag)] as PassingBlock;
    if (asked === "latest") return head;
    const number = Number(asked);
    if (number > head.number) return undefined;
    const block = this.blocks.find((each) => each.number === number);
    if (block || this.leftOut === "null") return block;
    if (this.leftOut === "the block before")
      return this.blocks.findLast((each) => each.number < number);
    throw errors.refusedByNode(1, "requested epoch was a null round", '{"code":1}');
  }
}

const storedBlock = (block: PassingBlock | undefined) =>
  block && { ...block, outline: { parentHash: block.parentHash } };

const headerJson = ({ number, hash, parentHash }: PassingBlock) => ({
  ...{ number: toQuantity(number), hash, parentHash, transactions: [] },
});

const logOf = (block: object): Buffer => Buffer.from((block as PassingBlock).log);

/** A book of filters over the chain, which counts the walks that failed. */
export function filterBookOver(
  chain: PassingChain,
  parts: Pick<FilterParts, "state" | "clock"> & Partial<Pick<FilterParts, "formatters">>,
  isShared = false,
): { readonly book: FilterBook; readonly failed: string[] } {
  const failed: string[] = [];
  const pool = { usable: () => [], isSettled: () => true, onChange: () => () => true };
  const perKey = { polled: 3, pushed: 3 };
  const book = new FilterBook(
    { network: "main", perKey, most: 7, isShared, sweeps: false },
    {
      ...{ chain: chain.chain, pool: chain.pool },
      journal: new MempoolJournal({ network: "main", prefix: "eth" }, { pool, ...parts }),
      formatters: { ...blockFormatters, logs: () => logsOfPassingChain },
      metrics: {
        ...{ filtersCounted: () => undefined, filterWalkedNodes: () => undefined },
        filterUnserved: (_, manner) => failed.push(manner),
      },
      ...parts,
    },
  );
  return { book, failed };
}

/** A formatter of all logs over the views of a `PassingChain`, which have no log index. */
const logsOfPassingChain: Formatter = {
  ...blockFormatters.logs({}),
  dropped: (block) => [asRemoved(logOf(block))],
  added: (block) => [logOf(block)],
  addedWithin: async ({ from, to }, most, view): Promise<BlockItems> => {
    const items: Buffer[] = [];
    for (let number = from; number <= to; number += 1) {
      const block = view.blockAt(number);
      if (block) items.push(logOf(block));
      if (items.length > most) return { items, to: number };
    }
    return { items, to };
  },
};
