// Logs found in a store, for tests: each in a block of its own, which the store can lose.
import { LogSelection } from "../../src/chain/log-selection.ts";
import { pieceOf, wholeItem } from "../../src/chain/stored-block.ts";

/** A selection of logs from blocks with one log each, in a store that can lose them. */
export function select(logs: readonly string[]) {
  const pieces = new Map(
    logs.map((log, number) => [keyOf(hashOf(number)), pieceOf([wholeItem(Buffer.from(log))])]),
  );
  const store = { part: (hash: string | Buffer) => pieces.get(keyOf(hash)) };
  const found = new LogSelection({ store });
  for (const [number, log] of logs.entries()) {
    found.beginBlock(number, hashOf(number));
    const span = { piece: 0, start: 0, length: log.length };
    found.add({ ...span, addressAt: 0, topicsAt: 0, topicCount: 0 }, Buffer.from(log));
  }
  return { found, loseBlock: (number: number) => pieces.delete(keyOf(hashOf(number))) };
}

const keyOf = (hash: string | Buffer): string =>
  typeof hash === "string" ? hash : hash.toString("latin1");

const hashOf = (number: number): Buffer =>
  Buffer.alloc(32, number % 100, "latin1").fill(number, 30);

export const logOf = (number: number, length: number): string =>
  `{"n":${number},"data":"${"a".repeat(length)}"}`;
