// Well-known chains by name and chain id, so that a network called `base` needs neither `family` nor `chainId`.
// scripts/known-chains.ts generates known-chains.json.
import type { Family } from "../namespaces/known-method.ts";
import rows from "./known-chains.json" with { type: "json" };

/** The chain of a network, which its settings, its name or its nodes tell. */
export type ChainFacts = { readonly family: Family; readonly chainId: number };

export type KnownChain = ChainFacts & {
  /** The default name of a network of this chain. */
  readonly name: string;
  /** The mean time between blocks in milliseconds; undefined if the list does not have it. */
  readonly blockMs: number | undefined;
  readonly isTestnet: boolean;
  /** How many blocks below the head a block is final; undefined: nodes tell the finalized block, or it is not known. */
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

/** The chain of a network with this name, such as `base`, `base-mainnet` or `eth-sepolia`; undefined: unknown. */
export const chainNamed = (name: string): KnownChain | undefined =>
  byName.get(name) ?? byName.get(name.replace(/-mainnet$/, ""));

export const chainOf = ({ family, chainId }: ChainFacts): KnownChain | undefined =>
  byChain.get(`${family} ${chainId}`);

/** The family of a chain id. The id 1 counts as Ethereum's, although Conflux's test network has it too. */
export const familyOfChain = (chainId: number): Family => (chainId === 1029 ? "conflux" : "evm");
