// Besu's replays part by part: every part alone, and all together.
import { type BesuBlock, replaysByHash } from "./besu.ts";
import { hex } from "./chain.ts";
import type { Golden } from "./golden.ts";
import { aboutBlock, aboutReplay, type Origin, type Parts, recorded } from "./questions.ts";
import { byTransaction } from "./vectors.ts";

const choices: readonly ((all: Required<Parts>) => Parts)[] = [
  ({ output, trace }) => ({ output, trace }),
  ({ output, stateDiff }) => ({ output, stateDiff }),
  ({ output, vmTrace }) => ({ output, vmTrace }),
  (all) => all,
];

function replaysOf(block: BesuBlock): readonly (Required<Parts> & { readonly hash: string })[] {
  const told = replaysByHash();
  const lists = byTransaction(block.entries);
  return block.transactions.map(({ hash }) => {
    const replay = told.get(hash);
    const { vmTrace, stateDiff } = { ...replay };
    return { hash, output: replay?.output, vmTrace, stateDiff, trace: lists.get(hash) ?? [] };
  });
}

/** Replays of each transaction. */
export const aboutParts = (origin: Origin, block: BesuBlock): readonly Golden[] =>
  replaysOf(block).flatMap(({ hash, ...all }) =>
    choices.flatMap((choose) => aboutReplay(origin, hash, choose(all))),
  );

/** Replays of the whole block; and trace_block, which also tells a reward. */
export function aboutWholeBlock(origin: Origin, block: BesuBlock): readonly Golden[] {
  const number = hex(block.number);
  const replays = replaysOf(block);
  return [
    ...recorded(origin, { method: "trace_block", params: [number], want: block.entries }),
    ...choices.flatMap((choose) =>
      aboutBlock(
        origin,
        number,
        replays.map(({ hash, ...all }) => ({ hash, ...choose(all) })),
      ),
    ),
  ];
}
