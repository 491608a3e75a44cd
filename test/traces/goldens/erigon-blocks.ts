// The one block of which Erigon returned both traces and replays.
import { chainAnswers, fieldsIn, hex } from "./chain.ts";
import { exchanges, MAINNET, positionOf, type Replay, source } from "./erigon.ts";
import type { Answer, Entry, Golden, Scenario } from "./golden.ts";
import {
  aboutBlock,
  aboutPositionedTraces,
  aboutReplay,
  type Origin,
  recorded,
} from "./questions.ts";
import { byTransaction } from "./vectors.ts";
import { wantedReplay, wantedTraces } from "./wanted.ts";

/** Each derived from the other, and each transaction derived from both. */
export function erigonByBlocks(): Scenario {
  const [traced, replayed] = [exchanges("trace_block"), exchanges("trace_replayBlockTransactions")];
  const entries = (traced[0]?.result ?? []) as readonly Entry[];
  const replays = (replayed[0]?.result ?? []) as readonly Replay[];
  const { blockHash, blockNumber } = positionOf(entries);
  const number = hex(blockNumber);
  const transactions = [...byTransaction(entries)].flatMap(([hash, [top]]) =>
    top ? [fieldsIn(top, hash)] : [],
  );
  const chain = [
    ...codesIn(replays, blockNumber),
    ...chainAnswers([{ number: blockNumber, hash: blockHash, transactions }]),
  ];
  const single = replayed.flatMap((one) =>
    ["trace", "stateDiff", "vmTrace"].map((type) => ({ ...one, params: [number, [type]] })),
  );
  return {
    worlds: [
      { name: TRACED, chainId: MAINNET, answers: [...chain, ...traced] },
      { name: REPLAYED, chainId: MAINNET, answers: [...chain, ...single] },
    ],
    goldens: [
      ...aboutEach(TRACED, entries),
      ...aboutEach(REPLAYED, entries),
      ...aboutReplays(number, replays),
      ...recorded(originOf(REPLAYED), {
        method: "trace_block",
        params: [number],
        want: wantedTraces(entries),
      }),
    ],
  };
}

const TRACED = "erigon-trace-block";
const REPLAYED = "erigon-replay-block";

const originOf = (world: string): Origin => ({
  ...{ source, mode: "derivation", world, name: "block" },
});

const aboutEach = (world: string, entries: readonly Entry[]): readonly Golden[] =>
  [...byTransaction(entries)].flatMap(([hash, list]) =>
    aboutPositionedTraces(originOf(world), {
      ...{ hash, position: positionOf(list), traces: wantedTraces(list) },
    }),
  );

/** A node with traces only lacks the other parts of a replay. */
function aboutReplays(number: string, replays: readonly Replay[]): readonly Golden[] {
  const told = replays.map((replay) => {
    const { output, trace, vmTrace, stateDiff } = wantedReplay(replay) as Replay;
    return { hash: String(replay.transactionHash), output, trace, vmTrace, stateDiff };
  });
  const traces = told.map(({ vmTrace, stateDiff, ...one }) => one);
  return [
    ...traces.flatMap(({ hash, ...one }) => aboutReplay(originOf(TRACED), hash, one)),
    ...told.flatMap(({ hash, ...one }) => aboutReplay(originOf(REPLAYED), hash, one)),
    ...aboutBlock(originOf(TRACED), number, traces),
  ];
}

/** The code of the called contracts, before and after the block. */
const codesIn = (replays: readonly Replay[], number: number): readonly Answer[] =>
  replays.flatMap(({ trace: [top], vmTrace }) =>
    [number - 1, number].map((at) => ({
      method: "eth_getCode",
      params: [top?.action["to"], hex(at)],
      result: (vmTrace as { code: string }).code,
    })),
  );
