// A pivot chain generated from a seed: epochs of one or more blocks, some with logs.
import conflux from "@conflux-dev/conflux-address-js";
import { toQuantity } from "../../src/evm/values.ts";
import { Random } from "../support/generated-chain/random.ts";
import { type EpochLog, EpochModel } from "./model.ts";

export const NETWORK_ID = 1234;

export type Epoch = {
  readonly number: number;
  readonly parentHash: string;
  /** Block hashes in the order of execution: the pivot block is the last. */
  readonly blocks: readonly string[];
  readonly logs: readonly EpochLog[];
};

/** One epoch in `oneOf` has logs; `logs` is the range of their count. */
export type EpochShape = {
  readonly seed: number;
  readonly oneOf: number;
  readonly logs: readonly [number, number];
};

export class GeneratedEpochs {
  /** All epochs, which count as executed. */
  readonly epochs: Epoch[] = [];
  readonly contracts: readonly string[];
  readonly topics: readonly string[];
  readonly #random: Random;
  readonly #shape: EpochShape;

  constructor(shape: EpochShape) {
    this.#shape = shape;
    this.#random = new Random(shape.seed);
    this.contracts = Array.from({ length: 4 }, () =>
      conflux.encode(`0x8${this.#random.hex(20).slice(3)}`, NETWORK_ID, true),
    );
    this.topics = Array.from({ length: 4 }, () => this.#random.hex(32));
  }

  /** @param given The number of logs and blocks in each epoch; random where left out. */
  extend(count: number, given: { logs?: number; blocks?: number } = {}): void {
    for (let left = count; left > 0; left -= 1) {
      const chance = this.#random.below(this.#shape.oneOf) === 0;
      const logs = given.logs ?? (chance ? this.#random.between(this.#shape.logs) : 0);
      this.epochs.push(this.#generate(logs, given.blocks ?? this.#random.one([1, 1, 1, 2, 3])));
    }
  }

  get head(): Epoch {
    return this.epochs.at(-1) as Epoch;
  }

  model(): EpochModel {
    const logs = this.epochs.flatMap((epoch) => epoch.logs);
    const hashes = this.epochs.flatMap(({ blocks }) => blocks);
    return new EpochModel({ logs, hashes, latestState: this.head.number });
  }

  #generate(logs: number, blockCount: number): Epoch {
    const random = this.#random;
    const number = this.epochs.length;
    const blocks = Array.from({ length: blockCount }, () => random.hex(32));
    const parentHash = this.epochs.at(-1)?.blocks.at(-1) ?? `0x${"00".repeat(32)}`;
    const each = blocks.flatMap((blockHash, at) => {
      const [start, end] = [at, at + 1].map((part) => Math.floor((logs * part) / blocks.length));
      return Array.from({ length: Number(end) - Number(start) }, (_, index) =>
        this.#log({ epochNumber: toQuantity(number), blockHash }, index),
      );
    });
    return { number, parentHash, blocks, logs: each };
  }

  /** A log in a transaction of its own. */
  #log(place: Pick<EpochLog, "epochNumber" | "blockHash">, index: number): EpochLog {
    const random = this.#random;
    return {
      address: random.one(this.contracts),
      ...place,
      data: random.hex(random.below(3) * 32),
      logIndex: toQuantity(index),
      topics: Array.from({ length: random.below(5) }, () => random.one(this.topics)),
      transactionHash: random.hex(32),
      transactionIndex: toQuantity(index),
      transactionLogIndex: "0x0",
    } as EpochLog;
  }
}
