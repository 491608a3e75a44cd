// Writes src/config/known-chains.json, by which networks of well-known chains need no family and no chain id: from viem's
// list of chains, with the epoch networks of Conflux, which it has not. With --check it only compares, and fails
// when the file is stale.
import { readFile, writeFile } from "node:fs/promises";
import * as viemChains from "viem/chains";

/** Name, chain id, mean block time in milliseconds (0: not known), 1 for a test network; then other names. */
type Row = readonly [string, number, number, 0 | 1, ...string[]];

/** Where our name is another than viem's, which is another name then. */
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

/** viem has several chains of these ids. */
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
  ["cfx-mainnet", 1029, 0, 0, "conflux", "cfx"],
  ["cfx-testnet", 1, 0, 1, "conflux-testnet"],
];
/** Of a developer's own machine: what is called so may be any chain. */
const LOCAL = /local|InMemory|^(foundry|hardhat)$/i;

const taken = new Set<number>();
for (const [key, chain] of Object.entries(viemChains)) {
  if (typeof chain !== "object" || !("id" in chain)) continue;
  if (LOCAL.test(key) || taken.has(chain.id) || (CHOSEN[chain.id] ?? key) !== key) continue;
  taken.add(chain.id);
  const name = RENAMED[key] ?? kebab(key);
  const others = [...(RENAMED[key] ? [kebab(key)] : []), ...(OTHER_NAMES[name] ?? [])];
  rows.push([name, chain.id, chain.blockTime ?? 0, chain.testnet ? 1 : 0, ...new Set(others)]);
}
const names = rows.flatMap(([name, , , , ...others]) => [name, ...others]);
const twice = names.find((name, at) => names.indexOf(name) !== at);
if (twice) throw new Error(`the name ${twice} is given twice`);

const file = new URL("../src/config/known-chains.json", import.meta.url);
const wanted = `[\n${rows.map((row) => JSON.stringify(row)).join(",\n")}\n]\n`;
if (!process.argv.includes("--check")) await writeFile(file, wanted);
else if ((await readFile(file, "utf8").catch(() => "")) !== wanted) {
  console.error("src/config/known-chains.json is stale: run node scripts/known-chains.ts");
  process.exitCode = 1;
}
