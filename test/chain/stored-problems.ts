// Reads a store that another process writes, and finds inconsistencies.
import { BlockTables } from "../../src/chain/block-tables.ts";
import { StoredBlock } from "../../src/chain/stored-block.ts";

export type Seen = {
  readonly problems: readonly string[];
  /** The hashes of the different heads, in the order seen. */
  readonly heads: readonly string[];
};

/** The longest wait for a chain that should move, in milliseconds. */
const TIMEOUT_MS = 30_000;

/** @param looks The least number of looks. @param differentHeads The least number of heads, unless the wait times out. */
export async function recordedProblems(
  path: string,
  looks: number,
  differentHeads = 0,
): Promise<Seen> {
  const store = new BlockTables({ path, readOnly: true });
  const problems: string[] = [];
  const heads: string[] = [];
  const giveUpAt = performance.now() + TIMEOUT_MS;
  const isEnough = (look: number): boolean =>
    look >= looks && (heads.length >= differentHeads || performance.now() > giveUpAt);
  for (let look = 0; !isEnough(look) && problems.length === 0; look += 1) {
    problems.push(...problemsOf(store));
    const hash = store.head?.hash;
    if (hash !== undefined && heads.at(-1) !== hash) heads.push(hash);
    await new Promise((resolve) => setTimeout(resolve, 0)); // LMDB shows newer writes in the next turn
  }
  await store.close();
  return { problems, heads };
}

/** Reads in one turn, and thus one snapshot of the store. */
function problemsOf(store: BlockTables): string[] {
  const { head, tail } = store;
  if (!head || tail === undefined) return [];
  const problems: string[] = [];
  if (store.hashAt(head.number) !== head.hash)
    problems.push(`the head ${head.number} is not canonical`);
  if (store.hashAt(head.number + 1))
    problems.push(`there is a block above the head ${head.number}`);
  let child: string | undefined;
  for (let number = head.number; number >= tail; number -= 1) {
    const hash = store.hashAt(number);
    const outline = hash && store.outline(hash);
    if (!hash || !outline) return [...problems, `block ${number} is missing`];
    if (child !== undefined && child !== hash)
      problems.push(`block ${number + 1} does not stand on ${number}`);
    child = outline.parentHash;
    problems.push(...problemsOfBlock(store, new StoredBlock({ hash, outline }, { store })));
  }
  return problems;
}

function problemsOfBlock(store: BlockTables, block: StoredBlock): string[] {
  const { transactions } = JSON.parse(String(block.withTransactions())) as {
    transactions: { hash: string }[];
  };
  const receipts = JSON.parse(String(block.receipts())) as { blockHash: string }[];
  const isWhole =
    receipts.length === transactions.length &&
    receipts.every(({ blockHash }) => blockHash === block.hash);
  const areFound = transactions.every(({ hash }, index) => {
    const position = store.transactionPosition(hash);
    return position?.number === block.number && position.index === index;
  });
  return [
    ...(isWhole ? [] : [`block ${block.number} has other receipts`]),
    ...(areFound ? [] : [`a transaction of block ${block.number} is not found`]),
  ];
}
