// Checks the notifications of one subscription: each event once, in order, and at the end the canonical chain.

import { type Filter, matches } from "../support/generated-chain/answers.ts";
import type { GeneratedChain } from "../support/generated-chain.ts";

export type ExpectedNotifications = {
  readonly params: readonly unknown[];
  /** @throws When the notification may not come now. */
  hear(item: unknown): void;
  /** The difference between all notifications so far and the present chain; undefined: none. */
  whyNotAtEnd(): string | undefined;
};

type Header = { readonly number: string; readonly hash: string; readonly parentHash: string };

/** Requires that each header follows an earlier one, or the head at the beginning, and that none comes twice. */
export class ExpectedHeads implements ExpectedNotifications {
  readonly params = ["newHeads"];
  readonly #hashes = new Set<string>();
  /** The hashes of the told branch, by block number. */
  readonly #branch: string[] = [];
  readonly #chain: GeneratedChain;

  constructor(chain: GeneratedChain) {
    this.#chain = chain;
    for (let number = chain.firstNumber; number <= chain.head.number; number += 1)
      this.#branch[number] = chain.block(number)?.hash ?? "";
  }

  hear(item: unknown): void {
    const { number, hash, parentHash } = item as Header;
    const height = Number(number);
    if (this.#hashes.has(hash)) throw new Error(`head ${height} came twice`);
    if (this.#branch[height - 1] !== parentHash)
      throw new Error(`head ${height} stands on nothing`);
    this.#hashes.add(hash);
    this.#branch.length = height;
    this.#branch.push(hash);
  }

  whyNotAtEnd(): string | undefined {
    const { head } = this.#chain;
    const last = this.#branch.length - 1;
    if (last !== head.number) return `told to ${last}, the head is ${head.number}`;
    for (let number = this.#chain.firstNumber; number <= last; number += 1)
      if (this.#branch[number] !== this.#chain.block(number)?.hash)
        return `${number} is of another branch`;
    return undefined;
  }
}

type Log = {
  readonly blockHash: string;
  readonly blockNumber: string;
  readonly logIndex: string;
  readonly removed: boolean;
};
type Place = { readonly block: number; readonly index: number; readonly name: string };

/** Requires that logs come in ascending order, and that only those of the newest block with logs are removed. */
export class ExpectedLogs implements ExpectedNotifications {
  readonly params: readonly unknown[];
  readonly #logs: Place[];
  readonly #filter: Filter;
  readonly #chain: GeneratedChain;

  constructor(chain: GeneratedChain, filter: Filter) {
    this.#chain = chain;
    this.#filter = filter;
    this.params = ["logs", filter];
    this.#logs = this.#canonical();
  }

  hear(item: unknown): void {
    const { blockHash, blockNumber, logIndex, removed } = item as Log;
    const [block, index] = [Number(blockNumber), Number(logIndex)];
    const name = `${blockHash} ${index}`;
    const last = this.#logs.at(-1);
    if (removed) this.#remove(name, block);
    else if (last && (block < last.block || (block === last.block && index <= last.index)))
      throw new Error(`log ${index} of ${block} came behind log ${last.index} of ${last.block}`);
    else this.#logs.push({ block, index, name });
  }

  #remove(name: string, block: number): void {
    const at = this.#logs.findIndex((log) => log.name === name);
    if (at < 0) throw new Error(`a log of ${block} was removed that was not there`);
    const last = this.#logs.at(-1)?.block;
    if (last !== block) throw new Error(`a log of ${block} was removed before those of ${last}`);
    this.#logs.splice(at, 1);
  }

  #canonical(): Place[] {
    const found: Place[] = [];
    for (let number = this.#chain.firstNumber; number <= this.#chain.head.number; number += 1) {
      const block = this.#chain.block(number);
      for (const log of block?.logs ?? [])
        if (matches(log, this.#filter))
          found.push({
            block: number,
            index: log.logIndex,
            name: `${block?.hash} ${log.logIndex}`,
          });
    }
    return found;
  }

  whyNotAtEnd(): string | undefined {
    const [told, canonical] = [this.#logs, this.#canonical()];
    const wrong = canonical.findIndex(({ name }, index) => told[index]?.name !== name);
    if (wrong >= 0)
      return `${told.length} logs are told, ${canonical.length} are canonical, log ${wrong} of block ${canonical[wrong]?.block} is missing`;
    return told.length > canonical.length ? "logs that are not canonical" : undefined;
  }
}
