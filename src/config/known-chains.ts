// Well-known chains by name and by chain id, so that a network called `base` needs neither `family` nor `chainId`.
// known-chains.json is generated (scripts/known-chains.ts).
import type { Family } from "../namespaces/known-method.ts";
import rows from "./known-chains.json" with { type: "json" };

/** Which chain a network is: told by the file, known by the network's name, or found out from nodes. */
export type ChainFacts = { readonly family: Family; readonly chainId: number };

export type KnownChain = ChainFacts & {
  /** The name of its network where nobody gives another. */
  readonly name: string;
  /** Mean, in milliseconds; undefined where the list has none. */
  readonly blockMs: number | undefined;
  readonly isTestnet: boolean;
  /** So many blocks below the head one is final, whatever nodes say; undefined: they are believed, or nobody knows. */
  readonly finalAfter: number | undefined;
};

/** Of the epoch networks; all other chains of the list are block networks. */
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

/** The chain that a network of this name is taken to be: `base`, `base-mainnet`, `eth-sepolia`. */
export const chainNamed = (name: string): KnownChain | undefined =>
  byName.get(name) ?? byName.get(name.replace(/-mainnet$/, ""));

export const chainOf = ({ family, chainId }: ChainFacts): KnownChain | undefined =>
  byChain.get(`${family} ${chainId}`);

/** Of a chain id alone. Conflux's own test network has the id 1, which means Ethereum. */
export const familyOfChain = (chainId: number): Family => (chainId === 1029 ? "conflux" : "evm");
