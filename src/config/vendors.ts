// Vendors by name: `alchemy://KEY` stands for the vendor's URL of the network that it is an upstream of, with what its calls
// cost there. Each row names where its facts are from; what no source says is left out: limits are learned from
// the vendor's answers then, as of every upstream.
import type { ChainFacts } from "./known-chains.ts";

type Vendor = {
  /** A host and a path, in which `{chain}`, and `{key}` or `{name}` and `{key}`, are put. */
  readonly url: string;
  /** How the vendor calls a chain, by chain id: `1 eth-mainnet, 10 opt-mainnet`. Block networks only. */
  readonly chains: string;
  /** In the vendor's credits, by method or pattern. Left out: each call counts as one. */
  readonly costs?: Readonly<Record<string, number>>;
  /** The largest log query that it takes, by plan; for people. */
  readonly logBlocks?: string;
  /** Where the above is from. */
  readonly sources: readonly string[];
};

const table: Readonly<Record<string, Vendor>> = {
  alchemy: {
    url: "{chain}.g.alchemy.com/v2/{key}",
    chains:
      "1 eth-mainnet, 11155111 eth-sepolia, 17000 eth-holesky, 560048 eth-hoodi, 10 opt-mainnet, 11155420 opt-sepolia, 137 polygon-mainnet, 80002 polygon-amoy, 42161 arb-mainnet, 421614 arb-sepolia, 42170 arbnova-mainnet, 8453 base-mainnet, 84532 base-sepolia, 324 zksync-mainnet, 300 zksync-sepolia, 81457 blast-mainnet, 534352 scroll-mainnet, 59144 linea-mainnet, 100 gnosis-mainnet, 5000 mantle-mainnet, 42220 celo-mainnet, 56 bnb-mainnet, 97 bnb-testnet, 43114 avax-mainnet, 43113 avax-fuji, 480 worldchain-mainnet, 80094 berachain-mainnet, 130 unichain-mainnet, 146 sonic-mainnet, 57073 ink-mainnet, 7777777 zora-mainnet",
    costs: {
      "*": 20,
      net_version: 0,
      eth_chainId: 0,
      eth_syncing: 0,
      eth_blockNumber: 10,
      eth_feeHistory: 10,
      eth_maxPriorityFeePerGas: 10,
      eth_createAccessList: 10,
      eth_call: 26,
      eth_getLogs: 60,
      eth_sendRawTransaction: 40,
      debug_traceCall: 40,
    },
    logBlocks:
      "10 blocks in the free plan; in others of any width on the large chains, of 10000 blocks elsewhere, and of 150 MB",
    sources: [
      "https://www.alchemy.com/docs/reference/compute-unit-costs",
      "https://www.alchemy.com/docs/chains/boba/boba-api-endpoints/eth-get-logs (log queries by chain and plan)",
      "https://github.com/erpc/erpc thirdparty/alchemy.go (names of chains)",
    ],
  },
  infura: {
    url: "{chain}.infura.io/v3/{key}",
    chains:
      "1 mainnet, 11155111 sepolia, 17000 holesky, 42161 arbitrum-mainnet, 421614 arbitrum-sepolia, 43114 avalanche-mainnet, 43113 avalanche-fuji, 8453 base-mainnet, 84532 base-sepolia, 56 bsc-mainnet, 97 bsc-testnet, 81457 blast-mainnet, 42220 celo-mainnet, 59144 linea-mainnet, 59141 linea-sepolia, 5000 mantle-mainnet, 204 opbnb-mainnet, 10 optimism-mainnet, 11155420 optimism-sepolia, 137 polygon-mainnet, 80002 polygon-amoy, 534352 scroll-mainnet, 324 zksync-mainnet, 300 zksync-sepolia",
    costs: {
      "*": 80,
      eth_chainId: 5,
      eth_syncing: 5,
      net_version: 5,
      net_listening: 5,
      eth_blobBaseFee: 300,
      eth_estimateGas: 300,
      eth_getBlockReceipts: 1000,
      "eth_getBlockTransactionCount*": 150,
      "eth_getTransactionByBlock*": 150,
      "eth_getUncle*": 150,
      eth_getLogs: 255,
      eth_getProof: 150,
      "trace_*": 300,
      "debug_*": 1000,
    },
    logBlocks: "10000 blocks and 10000 logs",
    sources: [
      "https://docs.metamask.io/services/get-started/pricing/credit-cost/",
      "https://github.com/INFURA/infura/issues/237 (log queries, as they are documented and as they are)",
      "https://github.com/erpc/erpc thirdparty/infura.go (names of chains)",
    ],
  },
  quicknode: {
    url: "{name}.{chain}.quiknode.pro/{key}",
    chains:
      "1 -, 11155111 ethereum-sepolia, 17000 ethereum-holesky, 42161 arbitrum-mainnet, 421614 arbitrum-sepolia, 8453 base-mainnet, 84532 base-sepolia, 56 bsc, 97 bsc-testnet, 137 matic, 80002 matic-amoy, 10 optimism, 11155420 optimism-sepolia, 100 xdai, 480 worldchain-mainnet, 4801 worldchain-sepolia",
    costs: {
      "*": 20,
      "trace_*": 40,
      "debug_*": 40,
      "txpool_*": 40,
      txpool_content: 80,
      trace_replayTransaction: 80,
      trace_replayBlockTransactions: 80,
    },
    logBlocks: "5 blocks in a free trial, 10000 in paid plans",
    sources: [
      "https://www.quicknode.com/api-credits",
      "https://www.quicknode.com/docs/ethereum/eth_getLogs",
      "https://www.quicknode.com/guides (multichain endpoints: one name and token for all chains)",
    ],
  },
  ankr: {
    url: "rpc.ankr.com/{chain}/{key}",
    chains:
      "1 eth, 10 optimism, 56 bsc, 100 gnosis, 137 polygon, 250 fantom, 324 zksync_era, 1101 polygon_zkevm, 5000 mantle, 8453 base, 42161 arbitrum, 42170 arbitrum_nova, 42220 celo, 43114 avalanche, 59144 linea, 81457 blast, 534352 scroll, 167000 taiko",
    costs: { "*": 200 },
    logBlocks: "200000 logs",
    sources: [
      "https://www.ankr.com/docs/changelog/eth-getlogs-result-limit-2026-10-07/",
      "https://www.ankr.com/docs/rpc-service/pricing",
      "https://github.com/erpc/erpc thirdparty/ankr.go (names of chains)",
    ],
  },
  drpc: {
    url: "lb.drpc.org/ogrpc?network={chain}&dkey={key}",
    chains:
      "1 ethereum, 11155111 sepolia, 17000 holesky, 560048 hoodi, 10 optimism, 11155420 optimism-sepolia, 56 bsc, 97 bsc-testnet, 100 gnosis, 10200 gnosis-chiado, 130 unichain, 137 polygon, 80002 polygon-amoy, 146 sonic, 250 fantom, 252 fraxtal, 324 zksync, 300 zksync-sepolia, 480 worldchain, 1101 polygon-zkevm, 5000 mantle, 8453 base, 84532 base-sepolia, 42161 arbitrum, 421614 arbitrum-sepolia, 42170 arbitrum-nova, 42220 celo, 43114 avalanche, 43113 avalanche-fuji, 57073 ink, 59144 linea, 80094 berachain, 81457 blast, 534352 scroll, 7777777 zora",
    sources: ["https://github.com/erpc/erpc thirdparty/drpc.go (URL, names of chains)"],
  },
  blast: {
    url: "{chain}.blastapi.io/{key}",
    chains:
      "1 eth-mainnet, 11155111 eth-sepolia, 17000 eth-holesky, 10 optimism-mainnet, 11155420 optimism-sepolia, 56 bsc-mainnet, 97 bsc-testnet, 100 gnosis-mainnet, 10200 gnosis-chiado, 137 polygon-mainnet, 80002 polygon-amoy, 250 fantom-mainnet, 324 zksync-mainnet, 300 zksync-sepolia, 1101 polygon-zkevm-mainnet, 5000 mantle-mainnet, 8453 base-mainnet, 84532 base-sepolia, 42161 arbitrum-one, 421614 arbitrum-sepolia, 42170 arbitrum-nova, 59144 linea-mainnet, 81457 blastl2-mainnet, 534352 scroll-mainnet",
    sources: ["https://github.com/erpc/erpc thirdparty/blastapi.go (URL, names of chains)"],
  },
  tenderly: {
    url: "{chain}.gateway.tenderly.co/{key}",
    chains:
      "1 mainnet, 11155111 sepolia, 560048 hoodi, 42161 arbitrum, 42170 arbitrum-nova, 421614 arbitrum-sepolia, 43114 avalanche, 8453 base, 80094 berachain, 81457 blast, 1030 cfx-espace, 14 flare, 252 fraxtal, 100 gnosis-chain, 57073 ink, 60808 bob",
    sources: ["https://docs.tenderly.co/node-rpc/rpc-reference"],
  },
  dwellir: {
    url: "{chain}.dwellir.com/{key}",
    chains:
      "1 api-ethereum-mainnet.n, 11155111 api-ethereum-sepolia.n, 17000 api-ethereum-holesky.n, 10 api-optimism-mainnet-archive.n, 11155420 api-optimism-sepolia.n, 56 api-bsc-mainnet-full.n, 100 api-gnosis-mainnet.n, 130 api-unichain-mainnet.n, 137 api-polygon-mainnet-full.n, 146 api-sonic-mainnet-archive.n, 324 api-zksync-era-mainnet-full.n, 8453 api-base-mainnet-archive.n, 84532 api-base-sepolia-archive.n, 42161 api-arbitrum-mainnet-archive.n, 421614 api-arbitrum-sepolia.n, 42220 api-celo-mainnet-archive.n, 59144 api-linea-mainnet-archive.n, 80094 api-berachain-mainnet.n, 534352 api-scroll-mainnet.n",
    sources: ["https://github.com/erpc/erpc thirdparty/dwellir.go (URL, names of chains)"],
  },
  publicnode: {
    url: "{chain}-rpc.publicnode.com",
    chains:
      "1 ethereum, 11155111 ethereum-sepolia, 17000 ethereum-holesky, 10 optimism, 56 bsc, 100 gnosis, 137 polygon-bor, 8453 base, 84532 base-sepolia, 42161 arbitrum-one, 43114 avalanche-c-chain, 59144 linea, 5000 mantle, 534352 scroll",
    sources: [
      "https://www.publicnode.com",
      "public repositories that use these hosts (names of chains)",
    ],
  },
};

/** Each node has a host of its own there, so that a key says nothing of where it is. */
const OWN_HOSTS: Readonly<Record<string, string>> = {
  chainstack: "each node of Chainstack has a URL of its own: copy it from its console",
};

export const vendorNames: readonly string[] = Object.keys(table);

/** For people: what is known of a vendor's log queries. */
export const logBlocksOf = (vendor: string): string | undefined => table[vendor]?.logBlocks;

type VendorUpstream = {
  readonly url: string;
  readonly vendor: string;
  readonly rate?: { readonly costs: Readonly<Record<string, number>> };
};

type ResolvedVendor =
  | { readonly kind: "upstream"; readonly upstream: VendorUpstream }
  /** The vendor does not have the chain. */
  | { readonly kind: "without"; readonly why: string }
  /** Never with the key. */
  | { readonly kind: "mistake"; readonly why: string };

/**
 * What a URL such as `alchemy://KEY` stands for; undefined where it is no vendor's.
 *
 * @param chain Of the network; undefined where nobody knows it yet.
 * @param through A URL through which vendors are asked, with their host as the first part of the path.
 */
export function resolveVendor(
  url: string,
  chain: ChainFacts | undefined,
  through?: string,
): ResolvedVendor | undefined {
  const [, name = "", rest = ""] = /^([a-z]+):\/\/(.*)$/s.exec(url) ?? [];
  if (Object.hasOwn(OWN_HOSTS, name)) return { kind: "mistake", why: OWN_HOSTS[name] ?? "" };
  const vendor = Object.hasOwn(table, name) ? table[name] : undefined;
  if (!vendor) return undefined;
  const credentials = credentialsIn(rest, vendor.url);
  if (!credentials) return { kind: "mistake", why: `want ${formOf(name, vendor.url)}` };
  if (!chain)
    return {
      kind: "mistake",
      why: `which chain of ${name}'s? Write the network's chainId, or call it by a known name (eth-mainnet, base, …)`,
    };
  const called = chain.family === "evm" ? calledBy(vendor, chain.chainId) : undefined;
  if (called === undefined)
    return { kind: "without", why: `${name} is not known to have chain ${chain.chainId}` };
  const place = placeOf(vendor.url, { ...credentials, chain: called });
  const rate = vendor.costs ? { rate: { costs: vendor.costs } } : {};
  const whole = through ? `${through.replace(/\/$/, "")}/${place}` : `https://${place}`;
  return { kind: "upstream", upstream: { url: whole, vendor: name, ...rate } };
}

type Credentials = { readonly name: string; readonly key: string };

/** Nothing that would change the rest of a URL. */
const WORD = /^[\w.~-]{1,200}$/;

function credentialsIn(text: string, form: string): Credentials | undefined {
  if (!form.includes("{key}")) return text === "" ? { name: "", key: "" } : undefined;
  const parts = text.replace(/\/$/, "").split("/");
  const [name = "", key = ""] = form.includes("{name}") ? parts : ["", ...parts];
  const wanted = form.includes("{name}") ? 2 : 1;
  return parts.length === wanted && parts.every((part) => WORD.test(part))
    ? { name, key }
    : undefined;
}

const formOf = (name: string, form: string): string =>
  form.includes("{name}")
    ? `${name}://ENDPOINT-NAME/TOKEN`
    : form.includes("{key}")
      ? `${name}://KEY`
      : `${name}:// alone`;

/** `-` where the chain is not part of the host. */
function calledBy({ chains }: Vendor, chainId: number): string | undefined {
  const row = chains.split(", ").find((each) => each.startsWith(`${chainId} `));
  return row?.slice(row.indexOf(" ") + 1);
}

const placeOf = (form: string, values: Credentials & { readonly chain: string }): string =>
  form
    .replace("{chain}.", () => (values.chain === "-" ? "" : `${values.chain}.`))
    .replace("{chain}", () => values.chain)
    .replace("{name}", () => values.name)
    .replace("{key}", () => values.key);
