// The rules of each chain by its id: the third layer over `block-rules.ts`, with the source of each fact.
// docs/chains.md is generated from it.
import { chainOf } from "../../config/known-chains.ts";
import {
  type BlockRules,
  type ChainFamily,
  families,
  type Layer,
  protocol,
  withLayer,
} from "./block-rules.ts";
import { transactionForms } from "./transaction-forms.ts";

export type ChainRules = {
  /** The chain's name; undefined: the chain is not listed. */
  readonly name: string | undefined;
  readonly family: ChainFamily;
  /** Newest first. The last one is of the first blocks. */
  readonly eras: readonly Era[];
  /** The mean time between blocks in milliseconds; undefined: not known. */
  readonly blockMs: number | undefined;
  /** How many blocks below the head a block is final; undefined: nodes tell it, or it is not known. */
  readonly finalAfter: number | undefined;
  /** Whether there are heights without a block, for which nodes give null or an error. */
  readonly hasMissingHeights: boolean;
  /** The source of these facts, and the blocks that were seen. */
  readonly source: string;
};

type Era = {
  /** The number of the first block. */
  readonly from: number;
  readonly rules: BlockRules;
};

/** The rules of a chain; for a chain that is not listed, those that prove what fits and call nothing a lie. */
export function chainRulesOf(chainId: number): ChainRules {
  const known = rulesById.get(chainId);
  if (known) return known;
  const made = rulesFrom(chainId, UNLISTED);
  // No limit is needed: a gateway has few networks.
  rulesById.set(chainId, made);
  return made;
}

/** The rules of the chain's block with this number; left out: of its newest blocks. */
export function blockRulesOf(chainId: number, number = Number.POSITIVE_INFINITY): BlockRules {
  const era = chainRulesOf(chainId).eras.find(({ from }) => from <= number);
  return era?.rules ?? protocol;
}

/** All listed chains, those with the same rules together. */
export const listedChains = (): readonly { ids: readonly number[]; rules: ChainRules }[] =>
  rows.map(({ ids }) => ({ ids, rules: chainRulesOf(ids[0] ?? 0) }));

type Row = {
  readonly ids: readonly number[];
  readonly name: string | undefined;
  readonly family: ChainFamily;
  /** The rules that differ from those of the family. */
  readonly own?: Layer;
  /** Eras before the newest one, newest first: each ends before the block `until`. */
  readonly earlier?: readonly {
    readonly until: number;
    readonly family?: ChainFamily;
    readonly own?: Layer;
  }[];
  readonly hasMissingHeights?: true;
  readonly source: string;
};

const UNLISTED: Omit<Row, "ids"> = { name: undefined, family: "unlisted", source: "" };

const SEEN = "recorded blocks";

const rows: readonly Row[] = [
  {
    ids: [1],
    name: "Ethereum",
    family: "ethereum",
    own: { byzantium: 4_370_000 },
    source: `Yellow Paper, EIPs; ${SEEN} of all forks`,
  },
  {
    ids: [11155111, 17000, 560048],
    name: "Ethereum's test networks",
    family: "ethereum",
    source: `EIPs; ${SEEN} of Sepolia`,
  },
  {
    ids: [1337, 31337],
    name: "development nodes",
    family: "ethereum",
    source: "geth --dev, Anvil, Hardhat",
  },
  {
    ids: [10, 420, 11155420],
    name: "OP Mainnet",
    family: "opStack",
    source: `OP Stack specification, op-geth; ${SEEN} from before Bedrock to Isthmus`,
  },
  {
    ids: [8453, 84531, 84532],
    name: "Base",
    family: "opStack",
    own: {
      transactions: { "0x7b": transactionForms.accounts, "0x7e": transactionForms.deposit },
      untried: ["0x7b"],
    },
    source: `OP Stack specification, EIP-8130 (read only); ${SEEN}`,
  },
  {
    ids: [
      130, 1301, 252, 2522, 480, 4801, 1135, 4202, 1750, 1868, 1946, 1923, 1924, 34443, 57073,
      763373, 60808, 7777777, 999999999, 360, 11011,
    ],
    name: "other chains of the Superchain",
    family: "opStack",
    own: { fit: families.unlisted.fit },
    source: "OP Stack specification",
  },
  {
    ids: [204, 5611],
    name: "opBNB",
    family: "opStack",
    own: { fit: families.unlisted.fit },
    source: "OP Stack specification; no recorded block fitted",
  },
  {
    ids: [5000, 5003],
    name: "Mantle",
    family: "opStack",
    own: {
      transactions: {
        "0x7e": [...transactionForms.mantleDeposit, ...transactionForms.deposit],
      },
      fit: families.unlisted.fit,
    },
    source: "mantle's op-geth (read only)",
  },
  {
    ids: [42161],
    name: "Arbitrum One",
    family: "arbitrum",
    earlier: [
      {
        until: 22_207_818,
        own: { fit: { transactions: "may", receipts: "may", derived: "may", logIndex: "may" } },
      },
    ],
    source: `Nitro's arb_types.go; ${SEEN}, also from before Nitro, whose receipts no known encoding fits`,
  },
  {
    ids: [421614],
    name: "Arbitrum Sepolia",
    family: "arbitrum",
    source: `Nitro's arb_types.go; ${SEEN}`,
  },
  {
    ids: [42170, 421613, 33139, 3666643831],
    name: "Arbitrum Nova and Orbit chains",
    family: "arbitrum",
    own: { fit: families.unlisted.fit },
    source: `Nitro's arb_types.go; a ${SEEN.slice(0, -1)} of a development chain`,
  },
  {
    ids: [137],
    name: "Polygon",
    family: "bor",
    own: { leftOut: "none" },
    earlier: [{ until: 80_084_800, own: { leftOut: "state sync" } }],
    source: `Bor; ${SEEN}. State-sync transactions: no root covers them before Madhugiri, and their list is not told after it`,
  },
  {
    ids: [80002, 80001, 109],
    name: "Polygon's test networks and Shibarium",
    family: "bor",
    own: { fit: families.unlisted.fit },
    source: "Bor",
  },
  {
    ids: [56, 97],
    name: "BNB Smart Chain",
    family: "parlia",
    source: `bsc; ${SEEN}`,
  },
  {
    ids: [100],
    name: "Gnosis",
    family: "aura",
    earlier: [{ until: 25_349_537, own: { fit: { receipts: "should" } } }],
    source: `Erigon's and OpenEthereum's AuRa; ${SEEN} from genesis to Prague`,
  },
  {
    ids: [10200, 77, 99, 122],
    name: "Chiado, POA and Fuse",
    family: "aura",
    own: { fit: families.unlisted.fit },
    source: "Erigon's and OpenEthereum's AuRa",
  },
  {
    ids: [43114, 43113],
    name: "Avalanche C-Chain",
    family: "avalanche",
    source: `coreth's header_ext.go; ${SEEN} from before Granite`,
  },
  {
    ids: [53935, 4337, 13337, 432204, 8787, 379],
    name: "Subnet-EVM chains",
    family: "subnetEvm",
    source: `subnet-evm's header_ext.go; ${SEEN}`,
  },
  {
    ids: [42220],
    name: "Celo",
    family: "celo",
    earlier: [{ until: 31_056_500, family: "celoL1" }],
    source: "Celo's op-geth (celo_block.go); recorded transactions",
  },
  {
    ids: [44787],
    name: "Celo Alfajores",
    family: "celo",
    earlier: [{ until: 26_384_000, family: "celoL1" }],
    source: "Celo's op-geth (celo_block.go); recorded transactions",
  },
  { ids: [11142220], name: "Celo Sepolia", family: "celo", source: "Celo's op-geth" },
  {
    ids: [59144, 59141],
    name: "Linea",
    family: "standardHeader",
    source: SEEN,
  },
  {
    ids: [534352, 534351],
    name: "Scroll",
    family: "scroll",
    source: `scroll's l2geth; ${SEEN} (headers)`,
  },
  {
    ids: [80094, 80069],
    name: "Berachain",
    family: "berachain",
    source: "bera-geth",
  },
  { ids: [146, 14601], name: "Sonic", family: "standardHeader", source: SEEN },
  {
    ids: [999, 998],
    name: "HyperEVM",
    family: "hyperEvm",
    source: `${SEEN} (headers); system transactions as the indexer SQD leaves them out`,
  },
  {
    ids: [4217, 42431, 42429],
    name: "Tempo",
    family: "tempo",
    source: `tempo's primitives; ${SEEN} of Moderato. Type 0x76 is not encoded`,
  },
  {
    ids: [1284, 1285, 1287, 1281, 964, 945, 592, 336, 81],
    name: "Moonbeam, Bittensor, Astar and others with Frontier",
    family: "frontier",
    source: `polkadot-evm/frontier; ${SEEN} (headers)`,
  },
  { ids: [250, 4002], name: "Fantom", family: "ownHash", source: SEEN },
  { ids: [988, 2201], name: "Stable", family: "stable", source: SEEN },
  { ids: [25, 338], name: "Cronos", family: "ownRules", source: SEEN },
  {
    ids: [324, 300, 2741, 11124, 232, 37111, 50104, 388, 282],
    name: "ZKsync Era and others of the ZK Stack",
    family: "ownRules",
    source: `zksync-era; ${SEEN}. The hash covers number, time, parent and transaction hashes alone; the roots are zero`,
  },
  {
    ids: [1101, 2442],
    name: "Polygon zkEVM",
    family: "ownRules",
    source: "log indexes begin anew with each transaction",
  },
  {
    ids: [314, 314159],
    name: "Filecoin",
    family: "ownRules",
    hasMissingHeights: true,
    source: "lotus: null rounds (#12633, #13694), blooms of all ones",
  },
  {
    ids: [295, 296, 297],
    name: "Hedera",
    family: "ownRules",
    source: "hedera-json-rpc-relay makes blocks of records",
  },
  { ids: [1329, 1328], name: "Sei", family: "ownRules", source: "sei-chain's evmrpc" },
  {
    ids: [1030, 71],
    name: "Conflux eSpace",
    family: "ownRules",
    source: "conflux-rust; recorded blocks",
  },
];

function rulesFrom(id: number, row: Omit<Row, "ids">): ChainRules {
  const { name, family, own = {}, earlier = [], hasMissingHeights = false, source } = row;
  const ofFamily = (each: ChainFamily): BlockRules => withLayer(protocol, families[each]);
  const newest = withLayer(ofFamily(family), own);
  const eras: Era[] = [];
  for (const [index, rules] of [
    newest,
    ...earlier.map((era) => withLayer(era.family ? ofFamily(era.family) : newest, era.own ?? {})),
  ].entries())
    eras.push({ from: earlier[index]?.until ?? 0, rules });
  const listed = chainOf({ family: "evm", chainId: id });
  const { blockMs, finalAfter } = listed ?? { blockMs: undefined, finalAfter: undefined };
  return { name, family, eras, blockMs, finalAfter, hasMissingHeights, source };
}

const rulesById = new Map(rows.flatMap((row) => row.ids.map((id) => [id, rulesFrom(id, row)])));
