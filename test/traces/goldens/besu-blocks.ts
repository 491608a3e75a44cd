// Besu's chain over nodes that trace only whole blocks, while callers ask for each transaction; and each of the two
// ways to trace a block derived from the other.
import {
  aboutBlocksTransactions,
  type BesuBlock,
  besuWorld,
  exchanges,
  nameOf,
  replays,
  source,
  specs,
} from "./besu.ts";
import { aboutParts } from "./besu-parts.ts";
import type { Golden, Scenario } from "./golden.ts";
import { type Origin, recorded } from "./questions.ts";
import type { Exchange } from "./vectors.ts";
import { wantedResult } from "./wanted.ts";

export function besuByBlocks(blocks: readonly BesuBlock[]): Scenario {
  const traced = exchanges(`${specs}/trace-block`);
  const replayed = exchanges(`${replays}/flat`);
  const parts = ["statediff", "vm-trace"].flatMap((part) => exchanges(`${replays}/${part}`));
  return {
    worlds: [
      besuWorld("besu-trace-block", blocks, traced),
      besuWorld("besu-replay-block", blocks, [...replayed, ...parts]),
    ],
    goldens: [
      ...blocks.flatMap((block) =>
        aboutBlocksTransactions(originOf("besu-trace-block", block), block),
      ),
      ...asked("besu-trace-block", replayed),
      ...blocks.flatMap((block) => {
        const origin = originOf("besu-replay-block", block);
        return [...aboutBlocksTransactions(origin, block), ...aboutParts(origin, block)];
      }),
      ...asked("besu-replay-block", traced),
    ],
  };
}

const originOf = (world: string, { number }: BesuBlock): Origin => ({
  ...{ source, mode: "derivation", world, name: `block ${number}` },
});

const asked = (world: string, told: readonly Exchange[]): readonly Golden[] =>
  told.flatMap(({ file, method, params, result }) =>
    recorded(
      { source, mode: "derivation", world, name: nameOf(file) },
      { method, params, want: wantedResult(method, result) },
    ),
  );
