// Writes src/config/known-chains.json, so that networks of well-known chains need no family and no chain id: viem's list of
// chains, with the epoch networks of Conflux and with finality depths, both of which viem lacks. With --check it only
// compares, and fails when the file is stale.
import { readFile, writeFile } from "node:fs/promises";
import * as viemChains from "viem/chains";

/**
 * Name, chain id, mean block time in milliseconds (0: unknown), 1 for a test network, the depth in blocks at which a
 * block is final (0: nodes tell it, or it is unknown); then other names.
 */
type Row = readonly [string, number, number, 0 | 1, number, ...string[]];

/**
 * Depths by chain id where Chainlink, whose nodes move money by them, has one for the chain itself (`FinalityDepth` in
 * pkg/config/toml/defaults of github.com/smartcontractkit/chainlink-evm, and in core/chains/evm/config/toml/defaults of
 * …/chainlink, its former place). Left out: the default depth of all chains, chains that have changed their kind (Celo),
 * and chains where one sequencer decides (Metis).
 */
const FINAL_AFTER: Readonly<Record<number, number>> = {
  30: 20, // Rootstock: "suggested by the chain team"; no `finalized`
  31: 20,
  56: 50, // BSC: 11 of 21 validators, with a margin; docs.bnbchain.org says 11 to 15
  100: 50, // Gnosis
  137: 500, // Polygon: nodes took back their `finalized` several times
  80002: 500,
  295: 10, // Hedera: three blocks, with a margin
  1101: 500, // Polygon zkEVM
  2222: 1, // Kava: Tendermint
  8217: 1, // Kaia: Istanbul BFT
  43113: 10, // Avalanche
  43114: 10,
  59144: 300, // Linea: less than 60 minutes
};

/** Our names where they differ from viem's, which become other names of the chain. */
const RENAMED: Readonly<Record<string, string>> = {
  mainnet: "eth-mainnet",
  sepolia: "eth-sepolia",
  holesky: "eth-holesky",
  hoodi: "eth-hoodi",
};

const OTHER_NAMES: Readonly<Record<string, readonly string[]>> = {
  "eth-mainnet": ["eth", "ethereum"],
  optimism: ["op", "opt"],
  "optimism-sepolia": ["op-sepolia", "opt-sepolia"],
  arbitrum: ["arb", "arbitrum-one"],
  "arbitrum-sepolia": ["arb-sepolia"],
  bsc: ["bnb"],
  "bsc-testnet": ["bnb-testnet"],
  polygon: ["matic"],
  "polygon-amoy": ["matic-amoy"],
  avalanche: ["avax"],
  "avalanche-fuji": ["avax-fuji"],
};

/** The chosen one of several chains in viem's list with the same id. */
const CHOSEN: Readonly<Record<number, string>> = {
  9: "quai",
  260: "guruNetwork",
  300: "zksyncSepoliaTestnet",
  324: "zksync",
  463: "areonNetwork",
  999: "hyperEvm",
  8453: "base",
  84532: "baseSepolia",
  8217: "kaia",
  31337: "anvil",
};

const kebab = (key: string): string =>
  key
    .replace(/([a-z])([A-Z])/g, "$1-$2")
    .replaceAll("_", "-")
    .toLowerCase();

const rows: Row[] = [
  ["cfx-mainnet", 1029, 0, 0, 0, "conflux", "cfx"],
  ["cfx-testnet", 1, 0, 1, 0, "conflux-testnet"],
];
/** Chains of a developer's own machine: a network with such a name may be any chain. */
const LOCAL = /local|InMemory|^(foundry|hardhat)$/i;

const taken = new Set<number>();
for (const [key, chain] of Object.entries(viemChains)) {
  if (typeof chain !== "object" || !("id" in chain)) continue;
  if (LOCAL.test(key) || taken.has(chain.id) || (CHOSEN[chain.id] ?? key) !== key) continue;
  taken.add(chain.id);
  const name = RENAMED[key] ?? kebab(key);
  const others = [...(RENAMED[key] ? [kebab(key)] : []), ...(OTHER_NAMES[name] ?? [])];
  const facts = [chain.blockTime ?? 0, chain.testnet ? 1 : 0, FINAL_AFTER[chain.id] ?? 0] as const;
  rows.push([name, chain.id, ...facts, ...new Set(others)]);
}
const unused = Object.keys(FINAL_AFTER).find((id) => !taken.has(Number(id)));
if (unused) throw new Error(`the list has no chain ${unused}`);
const names = rows.flatMap(([name, , , , , ...others]) => [name, ...others]);
const twice = names.find((name, at) => names.indexOf(name) !== at);
if (twice) throw new Error(`two chains have the name ${twice}`);

const file = new URL("../src/config/known-chains.json", import.meta.url);
const wanted = `[\n${rows.map((row) => JSON.stringify(row)).join(",\n")}\n]\n`;
if (!process.argv.includes("--check")) await writeFile(file, wanted);
else if ((await readFile(file, "utf8").catch(() => "")) !== wanted) {
  console.error("src/config/known-chains.json is stale: run node scripts/known-chains.ts");
  process.exitCode = 1;
}
