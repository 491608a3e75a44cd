// Filters that present nodes accept unchanged: without limit and offset, with both epochs or neither.
import { toQuantity } from "../../src/evm/values.ts";
import type { LogWords } from "./fill-with-logs.ts";
import type { EpochModel, Filter } from "./model.ts";

export function plainFilters(
  { contracts, topics }: LogWords,
  model: EpochModel,
): readonly Filter[] {
  const [address = ""] = contracts;
  const range = { fromEpoch: "0x0", toEpoch: "latest_state" };
  const middle = { fromEpoch: toQuantity(40), toEpoch: toQuantity(80) };
  const blockHashes = [...new Set(model.logs.map(({ blockHash }) => blockHash))].slice(3, 9);
  return [
    range,
    middle,
    { ...range, address },
    { ...middle, address: contracts.slice(0, 2) },
    { ...range, topics: [topics[0] ?? null, null, topics.slice(1, 3)] },
    { ...range, topics: [[]] },
    { ...range, topics: [null, null, null, null], address: [] },
    { fromEpoch: "latest_checkpoint", toEpoch: "latest_state" },
    { blockHashes },
    { blockHashes: blockHashes.toReversed(), address },
    { blockHashes: [] },
  ];
}
