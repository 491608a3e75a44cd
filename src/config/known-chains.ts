// Well-known chains by name and chain id, so that a network called `base` needs neither `family` nor `chainId`.
// scripts/known-chains.ts generates known-chains.json.
import type { Family } from "../namespaces/known-method.ts";
import rows from "./known-chains.json" with { type: "json" };

/** Which chain a network is: as the file says, as its name tells, or as its nodes say. */
export type ChainFacts = { readonly family: Family; readonly chainId: number };

export type KnownChain = ChainFacts & {
  /** The name of a network of this chain, where nobody chooses one. */
  readonly name: string;
  /** The mean time between blocks in milliseconds; undefined where the list has none. */
  readonly blockMs: number | undefined;
  readonly isTestnet: boolean;
  /** A block is final so many blocks below the head; undefined: what nodes say counts, or nothing is known. */
  readonly finalAfter: number | undefined;
};

/** The epoch networks of the list; all others are block networks. */
const EPOCH_NETWORKS = new Set(["cfx-mainnet", "cfx-testnet"]);

const byName = new Map<string, KnownChain>();
const byChain = new Map<string, KnownChain>();
for (const [name, chainId, blockMs, isTestnet, finalAfter, ...others] of rows as [
  string,
  number,
  number,
  number,
  number,
  ...string[],
][]) {
  const family = EPOCH_NETWORKS.has(name) ? "conflux" : "evm";
  const chain: KnownChain = {
    ...{ name, family, chainId, blockMs: blockMs || undefined, isTestnet: isTestnet === 1 },
    finalAfter: finalAfter || undefined,
  };
  byChain.set(`${family} ${chainId}`, chain);
  for (const each of [name, ...others]) byName.set(each, chain);
}

/** The chain that a network of this name is expected to be: `base`, `base-mainnet`, `eth-sepolia`. */
export const chainNamed = (name: string): KnownChain | undefined =>
  byName.get(name) ?? byName.get(name.replace(/-mainnet$/, ""));

export const chainOf = ({ family, chainId }: ChainFacts): KnownChain | undefined =>
  byChain.get(`${family} ${chainId}`);

/** The family of a chain id. Conflux's test network has the id 1, which counts as Ethereum's. */
export const familyOfChain = (chainId: number): Family => (chainId === 1029 ? "conflux" : "evm");
