// Erigon's answers on mainnet: passed through, and one of its methods derived from another one's answers.
import { type ChainBlock, chainAnswers, fieldsIn, type TransactionFields } from "./chain.ts";
import type { Answer, Entry, Json, Scenario, TracePosition, World } from "./golden.ts";
import { aboutPositionedTraces, aboutReplay, recorded } from "./questions.ts";
import { type Exchange, exchangesIn, filesIn } from "./vectors.ts";
import { wantedReplay, wantedResult, wantedTraces } from "./wanted.ts";

export const source = "erigon-rpc-tests";
const folder = `vectors/${source}/mainnet`;
export const MAINNET = 1;

export const exchanges = (method: string): readonly Exchange[] =>
  filesIn(`${folder}/${method}`).flatMap(exchangesIn);

const passedOn = [
  "trace_transaction",
  "trace_replayTransaction",
  "trace_block",
  "trace_replayBlockTransactions",
  "debug_traceTransaction",
];

export type Replay = Json & {
  readonly stateDiff?: unknown;
  readonly vmTrace?: unknown;
  readonly output: string;
  readonly trace: readonly Entry[];
  readonly transactionHash?: string;
};

export function erigonItself(): Scenario {
  const answers = passedOn.flatMap(exchanges);
  const origin = { source, mode: "pass-through", world: "erigon" } as const;
  const goldens = [...answers, ...exchanges("trace_get")].flatMap(
    ({ file, method, params, result }) => {
      const want = method === "debug_traceTransaction" ? result : wantedResult(method, result);
      return recorded({ ...origin, name: file.slice(folder.length + 1) }, { method, params, want });
    },
  );
  const paths = placedLists().flatMap(([hash, entries]) =>
    aboutPositionedTraces(
      { ...origin, name: "paths" },
      { hash, position: positionOf(entries), traces: wantedTraces(entries) },
    ),
  );
  const allow = ["eth_*", "trace_*", "debug_traceTransaction"];
  return {
    worlds: [{ name: "erigon", chainId: MAINNET, answers, allow }],
    goldens: [...goldens, ...paths],
  };
}

/** The results of trace_transaction, by hash. */
const placedLists = (): readonly [string, readonly Entry[]][] =>
  exchanges("trace_transaction").map(({ params, result }) => [
    String(params[0]),
    result as readonly Entry[],
  ]);

export const positionOf = ([top]: readonly Entry[]): TracePosition => {
  const {
    blockHash = "",
    blockNumber = 0,
    transactionHash = "",
    transactionPosition = 0,
  } = top ?? {};
  return { blockHash, blockNumber, transactionHash, transactionPosition };
};

/** Each transaction in a block of its own; the node lacks answers about the transactions before it. */
const chainOf = (lists: readonly (readonly [string, readonly Entry[]])[]): readonly Answer[] =>
  chainAnswers(
    lists.map(([hash, entries]): ChainBlock => {
      const { blockHash, blockNumber, transactionPosition } = positionOf(entries);
      const [top] = entries;
      const before = Array.from({ length: transactionPosition ?? 0 }, () => UNKNOWN);
      const transactions: readonly TransactionFields[] = top
        ? [...before, fieldsIn(top, hash)]
        : before;
      return { number: blockNumber, hash: blockHash, transactions };
    }),
  ).filter(
    ({ method, params }) => method !== "eth_getTransactionByHash" || params[0] !== UNKNOWN.hash,
  );

/** Stands for each transaction before it in its block. */
const UNKNOWN = { hash: `0x${"0".repeat(64)}` };

/** Traces derived from replays, and replays from traces. */
export function erigonByItsOther(): Scenario {
  const lists = placedLists();
  const replays = exchanges("trace_replayTransaction");
  const world = (name: string, answers: readonly Answer[]): World => ({
    ...{ name, chainId: MAINNET },
    answers: [...chainOf(lists), ...answers],
  });
  const replayed = replays.map(({ params, ...rest }) => ({
    ...rest,
    params: [params[0], ["trace"]],
  }));
  const known = lists.flatMap(([hash, entries]) => {
    const replay = replays.find(({ params }) => params[0] === hash)?.result as Replay | undefined;
    return replay ? [{ hash, entries, replay }] : [];
  });
  const goldens = known.flatMap(({ hash, entries, replay }) => {
    const origin = {
      source,
      mode: "derivation",
      world: "erigon-replay",
      name: hash.slice(0, 10),
    } as const;
    const { output, trace } = wantedReplay(replay) as Replay;
    return [
      ...aboutPositionedTraces(origin, {
        hash,
        position: positionOf(entries),
        traces: wantedTraces(entries),
      }),
      ...aboutReplay({ ...origin, world: "erigon-transaction" }, hash, { output, trace }),
    ];
  });
  const worlds = [
    world("erigon-replay", replayed),
    world("erigon-transaction", exchanges("trace_transaction")),
  ];
  return { worlds, goldens };
}
