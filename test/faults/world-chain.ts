// The one true chain of a test run: a function of seed and time. From these two numbers the nodes and the judge each
// compute the right answer of any node at any moment, without sharing anything else.
import { generateBlock, generateTransaction } from "../support/generated-chain/generate-block.ts";
import { Random } from "../support/generated-chain/random.ts";
import { type GeneratedBlock, GeneratedChain } from "../support/generated-chain.ts";

export type WorldTime = {
  readonly seed: number;
  readonly blockMs: number;
  /** In milliseconds since 1970: all processes share this clock. */
  readonly startedAtMs: number;
};

/** The part of the chain that a node has: up to some block, or with a branch of its own at the end. */
export type NodeView = Pick<
  GeneratedChain,
  "head" | "firstNumber" | "block" | "byHash" | "position"
>;

/** The number of blocks at the start, more than a window. */
const FIRST_BLOCKS = 260;

export class WorldChain {
  readonly #chain: GeneratedChain;
  readonly #time: WorldTime;

  constructor(time: WorldTime) {
    this.#time = time;
    this.#chain = new GeneratedChain({ seed: time.seed, blockSeconds: time.blockMs / 1000 });
    this.#grow(FIRST_BLOCKS);
  }

  headNumber(atMs = Date.now()): number {
    return FIRST_BLOCKS + Math.floor((atMs - this.#time.startedAtMs) / this.#time.blockMs);
  }

  block(number: number): GeneratedBlock {
    this.#grow(number);
    return this.#chain.block(number) as GeneratedBlock;
  }

  /** The chain as it was when `head` was its head. */
  upTo(head: number): NodeView {
    const chain = this.#chain;
    const known = (block: GeneratedBlock | undefined): GeneratedBlock | undefined =>
      block && block.number <= head ? block : undefined;
    return {
      head: this.block(head),
      firstNumber: chain.firstNumber,
      block: (number) => known(chain.block(number)),
      byHash: (hash) => known(chain.byHash(hash)),
      position: (hash) => {
        const position = chain.position(hash);
        return position && known(position.block) ? position : undefined;
      },
    };
  }

  /** The chain up to `from`, and other blocks after it. */
  branch(from: number, count: number): NodeView {
    const trunk = this.upTo(from);
    const own = branchOf(trunk.head, count, this.#chain.words);
    const head = own.at(-1) as GeneratedBlock;
    return {
      ...trunk,
      head,
      block: (number) => own[number - from - 1] ?? trunk.block(number),
      byHash: (hash) => own.find((block) => block.hash === hash) ?? trunk.byHash(hash),
    };
  }

  #grow(number: number): void {
    this.#chain.extend(Math.max(0, number - this.#chain.head.number));
  }
}

function branchOf(
  trunk: GeneratedBlock,
  count: number,
  words: GeneratedChain["words"],
): GeneratedBlock[] {
  const random = new Random(trunk.number + 7919);
  const own: GeneratedBlock[] = [];
  for (let parent = trunk; own.length < count; parent = own.at(-1) as GeneratedBlock) {
    const { number, hash, timestamp } = parent;
    const position = { number: number + 1, parentHash: hash, timestamp: timestamp + 1 };
    own.push(generateBlock(position, [generateTransaction(1, words, random)], random));
  }
  return own;
}
