// The mix of calls that the load sends.

import { Random } from "../support/generated-chain/random.ts";
import { STATE_METHODS } from "./node-answers.ts";
import type { WorldChain } from "./world-chain.ts";

export type Question = {
  readonly method: string;
  readonly params: readonly unknown[];
  /** Whether a node must answer, however much of the chain is stored. */
  readonly isForwarded: boolean;
};

/** The depth below the head, in blocks, at which every node has the block. */
const DEPTH = { least: 4, most: 100 };
/** One request in so many is a batch. */
const BATCH_EVERY = 20;

export class Questions {
  readonly #random: Random;
  readonly #chain: WorldChain;

  constructor(options: { seed: number }, parts: { chain: WorldChain }) {
    this.#random = new Random(options.seed);
    this.#chain = parts.chain;
  }

  /** The calls of the next request; several form a batch. */
  next(): readonly Question[] {
    if (this.#random.below(BATCH_EVERY) > 0) return [this.#one()];
    return [this.#state("latest"), this.#one(), this.#state("latest"), this.#one()];
  }

  #one(): Question {
    switch (this.#random.below(16)) {
      case 0:
        return this.#stored("eth_getBlockByNumber", [this.#number(), this.#random.below(2) === 0]);
      case 1:
        return this.#stored("eth_getBlockByHash", [this.#block().hash, false]);
      case 2:
        return this.#stored("eth_getTransactionByHash", [this.#transaction()]);
      case 3:
        return this.#stored("eth_getTransactionReceipt", [this.#transaction()]);
      case 4:
        return this.#stored("eth_getBlockReceipts", [this.#number()]);
      case 5:
        return this.#logs();
      case 6:
        return this.#stored("eth_blockNumber", []);
      case 7:
        return this.#forwarded("eth_getTransactionByHash", [this.#random.hex(32)]);
      case 8:
        return this.#forwarded("eth_getTransactionReceipt", [this.#random.hex(32)]);
      case 9:
        // Type 2: the hash of a transaction with blobs does not include the blobs.
        return this.#forwarded("eth_sendRawTransaction", [`0x02${this.#random.hex(119).slice(2)}`]);
      case 10:
      case 11:
      case 12:
        return this.#state(this.#number());
      default:
        return this.#state("latest");
    }
  }

  #state(block: string): Question {
    const method = this.#random.one([...STATE_METHODS]);
    const address = this.#random.hex(20);
    const subject = method === "eth_call" ? { to: address, data: this.#random.hex(36) } : address;
    return this.#forwarded(method, [subject, block]);
  }

  #logs(): Question {
    const toBlock = this.#block().number;
    const fromBlock = Math.max(1, toBlock - this.#random.below(20));
    const range = { fromBlock: quantity(fromBlock), toBlock: quantity(toBlock) };
    const address = this.#random.one(this.#block().logs.map((log) => log.address));
    return this.#stored("eth_getLogs", [address ? { ...range, address } : range]);
  }

  #block() {
    const { least, most } = DEPTH;
    return this.#chain.block(this.#chain.headNumber() - this.#random.between([least, most]));
  }

  #number = (): string => quantity(this.#block().number);

  /** The hash of the first transaction in a random block that has one. */
  #transaction(): string {
    for (let tries = 0; tries < 100; tries += 1) {
      const [first] = this.#block().signed;
      if (first) return first.hash;
    }
    throw new Error("the chain is empty");
  }

  #stored = (method: string, params: readonly unknown[]): Question => ({
    method,
    params,
    isForwarded: false,
  });

  #forwarded = (method: string, params: readonly unknown[]): Question => ({
    method,
    params,
    isForwarded: true,
  });
}

const quantity = (value: number): string => `0x${value.toString(16)}`;
