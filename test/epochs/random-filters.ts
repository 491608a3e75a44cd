// Random filters over a chain that fill-with-logs made.
import { toQuantity } from "../../src/evm/values.ts";
import { Random } from "../support/generated-chain/random.ts";
import type { LogWords } from "./fill-with-logs.ts";
import type { Filter } from "./model.ts";

export type FilterWords = LogWords & {
  readonly latestState: number;
  /** The hashes of all executed blocks. */
  readonly hashes: readonly string[];
};

/** Filters that the gateway must answer. */
export function randomFilters(
  words: FilterWords,
  options: { seed: number; count: number },
): Filter[] {
  const random = new Random(options.seed);
  const sometimes = <Name extends keyof Filter>(
    name: Name,
    value: () => Filter[Name],
  ): Pick<Filter, Name> | object => {
    const chance = random.below(10);
    if (chance < 3) return {};
    return { [name]: chance === 3 ? null : value() };
  };
  return Array.from({ length: options.count }, () => ({
    ...placeOf(words, random),
    ...sometimes("address", () => addressesOf(words.contracts, random)),
    ...sometimes("topics", () => topicsOf(words.topics, random)),
    ...sometimes("limit", () => toQuantity(random.below(random.one([3, 30, 300])))),
    ...sometimes("offset", () => toQuantity(random.below(random.one([3, 30, 700])))),
  }));
}

function placeOf({ latestState, hashes }: FilterWords, random: Random): Filter {
  const kind = random.below(8);
  const [from, to] = [random.below(latestState + 1), random.below(latestState + 1)].sort(
    (a, b) => a - b,
  ) as [number, number];
  const range = { fromEpoch: toQuantity(from), toEpoch: toQuantity(to) };
  if (kind < 3) return range;
  if (kind === 3) return {};
  if (kind === 4) return { fromEpoch: toQuantity(from) };
  if (kind === 5) return { ...range, toEpoch: random.one(["latest_state", "0xffffff", null]) };
  if (kind === 6) {
    const start = random.one(["earliest", "latest_checkpoint", "latest_finalized", null]);
    return { fromEpoch: start, toEpoch: toQuantity(to) };
  }
  const blockHashes = Array.from({ length: random.between([0, 12]) }, () => {
    const hash = random.one(hashes);
    return random.below(4) === 0 ? `0x${hash.slice(2).toUpperCase()}` : hash;
  });
  return random.below(2) === 0 ? { blockHashes } : { ...range, blockHashes };
}

/** One address or several, which may include a contract without logs. */
function addressesOf(contracts: readonly string[], random: Random): string | readonly string[] {
  const each = (): string => spelled(random.one(contracts), random);
  if (random.below(2) === 0) return each();
  return Array.from({ length: random.below(3) }, each);
}

/** The address in a random one of the forms that CIP-37 allows. */
function spelled(address: string, random: Random): string {
  const lower = address.toLowerCase();
  const short = lower.replace(/:.*:/, ":");
  return random.one([
    lower,
    lower.toUpperCase(),
    short,
    short.toUpperCase(),
    short.replace(":", ":some.part:"),
  ]);
}

function topicsOf(topics: readonly string[], random: Random): Filter["topics"] {
  const one = (): string => random.one(topics);
  return Array.from({ length: random.below(5) }, () => {
    const kind = random.below(12);
    if (kind === 0) return [];
    if (kind < 5) return null;
    return kind < 8 ? one() : Array.from({ length: random.between([1, 3]) }, one);
  });
}
