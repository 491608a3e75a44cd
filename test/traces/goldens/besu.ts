// Besu's chain and Besu's answers about it: passed through, and derived from methods that only Besu offers.
import { type ChainBlock, chainAnswers, fieldsOf, hex } from "./chain.ts";
import type { ExecutedTransaction } from "./executions.ts";
import type { Answer, Entry, Golden, Scenario, TracePosition, World } from "./golden.ts";
import { aboutTransaction, type Origin, type Parts, recorded } from "./questions.ts";
import { byTransaction, type Exchange, exchangesIn, filesIn } from "./vectors.ts";
import { wantedResult } from "./wanted.ts";

export const source = "besu-trace";
const CHAIN_ID = 1982;
export const specs = `vectors/${source}/specs`;
export const replays = `${specs}/replay-trace-transaction`;

export type BesuBlock = ChainBlock & {
  /** As trace_block returned them. */
  readonly entries: readonly Entry[];
  readonly executed: readonly ExecutedTransaction[];
};

export const exchanges = (folder: string): readonly Exchange[] =>
  filesIn(folder).flatMap(exchangesIn);

/** The blocks; their hashes exist only in Besu's own build of the chain, so they come from the recorded answers. */
export const besuBlocks = (
  executed: ReadonlyMap<number, readonly ExecutedTransaction[]>,
): readonly BesuBlock[] =>
  exchanges(`${specs}/trace-block`)
    .map(({ params, result }): BesuBlock => {
      const number = Number(params[0]);
      const entries = result as readonly Entry[];
      const hashes = [...byTransaction(entries).keys()];
      const own = executed.get(number) ?? [];
      return {
        number,
        entries,
        executed: own,
        hash: entries[0]?.blockHash ?? GENESIS,
        transactions: own.map(({ transaction }, index) => fieldsOf(transaction, hashes[index])),
      };
    })
    .sort((one, other) => one.number - other.number);

/** An invented hash: no answer tells the real one. */
const GENESIS = `0x${"0".repeat(63)}1`;

export const besuWorld = (
  name: string,
  blocks: readonly BesuBlock[],
  answers: readonly Answer[],
): World => ({
  ...{ name, chainId: CHAIN_ID },
  answers: [...chainAnswers(blocks), ...blocks.flatMap(codesOf), ...answers],
});

/** The code of the contracts that the block's transactions call, before and after the block. */
const codesOf = ({ number, executed }: BesuBlock): readonly Answer[] =>
  executed.flatMap(({ codes }) =>
    [...codes].flatMap(([address, result]) =>
      [number - 1, number].map((at) => ({
        ...{ method: "eth_getCode", params: [address, hex(at)], result },
      })),
    ),
  );

type Replayed = Required<Pick<Parts, "output" | "stateDiff" | "vmTrace">> & {
  readonly transactionHash: string;
};

const positionOf = (block: BesuBlock, index: number): TracePosition => ({
  blockHash: block.hash,
  blockNumber: block.number,
  transactionHash: String(block.transactions[index]?.hash),
  transactionPosition: index,
});

/** Replays with every part, by transaction hash. */
export const replaysByHash = (): ReadonlyMap<string, Replayed> =>
  new Map(
    exchanges(`${replays}/all`)
      .flatMap(({ result }) => result as readonly Replayed[])
      .map((replay) => [replay.transactionHash, replay]),
  );

export function besuItself(blocks: readonly BesuBlock[]): Scenario {
  const told = ["trace-block", "trace-transaction"].flatMap((name) =>
    exchanges(`${specs}/${name}`),
  );
  const replayed = filesIn(replays).flatMap((folder) => exchanges(folder));
  const origin = { source, mode: "pass-through", world: "besu" } as const;
  const whole = [...told, ...replayed, ...exchanges(`${specs}/trace-get`)];
  const goldens = whole.flatMap(({ file, method, params, result }) =>
    recorded(
      { ...origin, name: nameOf(file) },
      { method, params, want: wantedResult(method, result) },
    ),
  );
  const paths = blocks.flatMap((block) =>
    aboutBlocksTransactions({ ...origin, name: `block ${block.number}` }, block),
  );
  return {
    worlds: [besuWorld("besu", blocks, [...told, ...replayed])],
    goldens: [...goldens, ...paths.filter(({ method }) => method === "trace_get")],
  };
}

export const nameOf = (file: string): string =>
  file.slice(file.lastIndexOf("/") + 1, -".json".length);

export function aboutBlocksTransactions(origin: Origin, block: BesuBlock): readonly Golden[] {
  const outputs = replaysByHash();
  const lists = byTransaction(block.entries);
  return block.transactions.flatMap(({ hash }, index) =>
    aboutTransaction(origin, {
      hash,
      position: positionOf(block, index),
      traces: lists.get(hash) ?? [],
      output: outputs.get(hash)?.output,
    }),
  );
}
