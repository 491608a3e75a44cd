// Chains from a seed with valid hashes, which grow, reorganise and roll back as a test wants; and a JSON-RPC node over
// one.
import {
  type GeneratedBlock,
  generateBlock,
  generateTransaction,
  type Signed,
  type Vocabulary,
} from "./generated-chain/generate-block.ts";
import { Random } from "./generated-chain/random.ts";

export type { GeneratedBlock } from "./generated-chain/generate-block.ts";

type Range = readonly [least: number, most: number];

export type ChainShape = {
  readonly seed: number;
  /** The number of transactions, and of logs, in each block. */
  readonly transactions?: Range;
  readonly logs?: Range;
  /** The number of emitting contracts, and of different topics. */
  readonly addresses?: number;
  readonly topics?: number;
  /** One log in so many is of the first address. */
  readonly busy?: number;
  /** The lengths of the logs' data, in words of 32 bytes. */
  readonly dataWords?: readonly number[];
  readonly firstNumber?: number;
  /** The time between two blocks: a gateway asks for the head twice in that time. */
  readonly blockSeconds?: number;
};

export class GeneratedChain {
  /** Oldest first; the first has the number `#first`. */
  #canonical: GeneratedBlock[] = [];
  #first: number;
  /** Blocks by hash, also dropped ones. */
  readonly #byHash = new Map<string, GeneratedBlock>();
  readonly #positionByTransaction = new Map<string, { block: GeneratedBlock; index: number }>();
  /** How many heights the next block leaves out. */
  #skipped = 0;
  /** Transactions of dropped blocks, which may be included again. */
  #waiting: Signed[] = [];
  readonly words: Vocabulary;
  readonly #random: Random;
  readonly #shape: Required<ChainShape>;

  constructor(shape: ChainShape) {
    this.#shape = {
      transactions: [0, 4],
      logs: [0, 6],
      addresses: 8,
      topics: 12,
      firstNumber: 0,
      blockSeconds: 12,
      busy: 10,
      dataWords: [0, 1, 1, 2, 3],
      ...shape,
    };
    this.#first = this.#shape.firstNumber;
    this.#random = new Random(shape.seed);
    const { addresses, topics } = this.#shape;
    this.words = {
      busy: this.#shape.busy,
      dataWords: this.#shape.dataWords,
      addresses: Array.from({ length: addresses }, () => this.#random.hex(20)),
      // Topics are signatures of events, or addresses in 32 bytes.
      topics: Array.from({ length: topics }, (_, index) =>
        index % 8 === 0
          ? this.#random.hex(32)
          : `0x${this.#random.hex(20).slice(2).padStart(64, "0")}`,
      ),
    };
    this.#add([]);
  }

  get head(): GeneratedBlock {
    return this.#canonical.at(-1) as GeneratedBlock;
  }

  get firstNumber(): number {
    return this.#shape.firstNumber;
  }

  /** undefined for a height that the chain does not reach, or that it left out. */
  block(number: number): GeneratedBlock | undefined {
    let index = Math.min(number - this.#first, this.#canonical.length - 1);
    while ((this.#canonical[index]?.number ?? number) > number) index -= 1;
    const block = this.#canonical[index];
    return block?.number === number ? block : undefined;
  }

  /** Leaves out some heights before the next block, as Filecoin does where nobody made a block in time. */
  skip(heights: number): void {
    this.#skipped = heights;
  }

  byHash(hash: string): GeneratedBlock | undefined {
    return this.#byHash.get(hash.toLowerCase());
  }

  /** The block and the index of a transaction of the canonical chain. */
  position(transactionHash: string): { block: GeneratedBlock; index: number } | undefined {
    const position = this.#positionByTransaction.get(transactionHash.toLowerCase());
    return position && this.block(position.block.number)?.hash === position.block.hash
      ? position
      : undefined;
  }

  extend(count: number): void {
    const { transactions, logs } = this.#shape;
    for (let made = 0; made < count; made += 1) {
      const again = this.#waiting.splice(0, this.#random.below(3));
      const fresh = this.#random.between(transactions);
      const emitted = this.#random.between(logs);
      const list = Array.from({ length: fresh }, (_, index) => {
        const share = Math.floor(emitted / fresh) + (index < emitted % fresh ? 1 : 0);
        return generateTransaction(share, this.words, this.#random);
      });
      this.#add([...again, ...list]);
    }
  }

  /** Keeps only the head: a long chain does not fit into memory. */
  forget(): void {
    this.#first = this.head.number;
    this.#canonical = [this.head];
    this.#byHash.clear();
    this.#byHash.set(this.head.hash, this.head);
    this.#positionByTransaction.clear();
  }

  /** Drops the newest `depth` blocks, and builds `count` others in their place. */
  reorganise(depth: number, count: number): void {
    this.#drop(depth);
    this.extend(count);
  }

  /** Forgets the newest `depth` blocks, but never the first, as development nodes do on evm_revert. */
  rollBack(depth: number): void {
    for (const { hash } of this.#drop(depth)) this.#byHash.delete(hash);
  }

  #drop(depth: number): readonly GeneratedBlock[] {
    const dropped = this.#canonical.splice(Math.max(1, this.#canonical.length - depth));
    const some = dropped.flatMap(({ signed }) => signed).filter(() => this.#random.below(2) === 0);
    this.#waiting.push(...some);
    return dropped;
  }

  #add(transactions: readonly Signed[]): void {
    const parent = this.#canonical.at(-1);
    const steps = 1 + this.#skipped;
    this.#skipped = 0;
    const number = parent ? parent.number + steps : this.#shape.firstNumber;
    const position = {
      number,
      parentHash: parent?.hash ?? this.#random.hex(32),
      timestamp: (parent?.timestamp ?? 1_700_000_000) + steps * this.#shape.blockSeconds,
    };
    const block = generateBlock(position, transactions, this.#random);
    this.#canonical.push(block);
    this.#byHash.set(block.hash, block);
    for (const [index, { hash }] of transactions.entries())
      this.#positionByTransaction.set(hash, { block, index });
  }
}
