// The rules by which chains make their blocks, in three layers: the protocol, a family of chains, and the chain. Each layer
// says only what differs from the layer before. Data only.
import type { Field, HeaderForm, TransactionForm } from "./encoding.ts";
import { headerForms } from "./header-forms.ts";
import { receiptForms, transactionForms } from "./transaction-forms.ts";

/**
 * The meaning of a part that does not fit. `must`: a lie, since it is known how this chain makes the part. `should`: odd,
 * since only other chains are known to make the part so. `may`: nothing, since the chain is known to make it otherwise,
 * or nobody could repeat how.
 */
export type Fit = "must" | "should" | "may";

/** How the blocks of one era of a chain are made. */
export type BlockRules = {
  /** The forms of headers, which are tried in turn; none: nobody could repeat how the chain hashes its headers. */
  readonly headers: readonly HeaderForm[];
  /** The forms of transactions by type, in addition to Ethereum's types 0 to 4. */
  readonly transactions: Readonly<Record<string, readonly TransactionForm[]>>;
  /** The types whose forms were read in source only, so that they `should` fit at most. */
  readonly untried: readonly string[];
  /** The members that receipts of a type encode behind their logs. */
  readonly receipts: Readonly<Record<string, readonly Field[]>>;
  /**
   * Transactions that nodes show in a block, but that are in neither root nor bloom. `state sync`: the one whose hash Bor
   * derives from the block's hash. `free of charge`: those with a gas price of zero.
   */
  readonly leftOut: "none" | "state sync" | "free of charge";
  /** `storage root`: the field holds the root of something else, and the chain has no withdrawals. `either`: not known. */
  readonly withdrawals: "list" | "storage root" | "either";
  /** `free`: the blooms are not those of the logs. */
  readonly blooms: "of logs" | "free";
  /** The first block whose receipts have a status instead of a state root (EIP-658), where nodes have older ones. */
  readonly byzantium: number;
  readonly fit: {
    readonly header: Fit;
    readonly transactions: Fit;
    readonly receipts: Fit;
    /** Members that nodes derive from the block: indexes, repeated members, gas used and created addresses. */
    readonly derived: Fit;
    /** Log indexes that run on through a block. */
    readonly logIndex: Fit;
    /** The `effectiveGasPrice` of receipts. */
    readonly price: Fit;
  };
};

/** The rules that one layer changes. */
export type Layer = Partial<Omit<BlockRules, "fit">> & {
  readonly fit?: Partial<BlockRules["fit"]>;
};

export const withLayer = (rules: BlockRules, layer: Layer): BlockRules => ({
  ...rules,
  ...layer,
  fit: { ...rules.fit, ...layer.fit },
});

const all = (fit: Fit): BlockRules["fit"] => ({
  header: fit,
  transactions: fit,
  receipts: fit,
  derived: fit,
  logIndex: fit,
  price: fit,
});

/** The first layer: Ethereum's own rules. */
export const protocol: BlockRules = {
  headers: [headerForms.standard],
  transactions: {},
  untried: [],
  receipts: {},
  leftOut: "none",
  withdrawals: "list",
  blooms: "of logs",
  byzantium: 0,
  fit: all("must"),
};

/** Chains that only their header was checked of. */
const onlyHeader: Layer["fit"] = { ...all("should"), header: "must" };

/** The second layer: what chains of one kind have in common. */
export const families = {
  ethereum: {},
  opStack: {
    transactions: { "0x7e": transactionForms.deposit },
    receipts: { "0x7e": receiptForms.deposit },
    withdrawals: "storage root",
    fit: { price: "should" },
  },
  arbitrum: {
    transactions: transactionForms.arbitrum,
    untried: ["0x64", "0x65", "0x66"],
    fit: { derived: "should", logIndex: "should", price: "may" },
  },
  /** Polygon's Bor. Type 0x7f has a list that nodes do not tell. */
  bor: {
    leftOut: "state sync",
    fit: { derived: "should", logIndex: "should", price: "should" },
  },
  parlia: { fit: { price: "should" } },
  /** Authority Round; after the merge the headers are the standard ones. */
  aura: { headers: [headerForms.standard, headerForms.aura, headerForms.sealFields] },
  avalanche: {
    headers: [headerForms.avalanche],
    fit: { receipts: "should", derived: "should", logIndex: "should", price: "should" },
  },
  subnetEvm: { headers: [headerForms.subnet, headerForms.standard], fit: all("should") },
  celo: {
    transactions: {
      "0x7a": transactionForms.denominatedFee,
      "0x7b": transactionForms.feeCurrency,
      "0x7e": transactionForms.deposit,
    },
    receipts: { "0x7b": receiptForms.feeCurrency, "0x7e": receiptForms.deposit },
    withdrawals: "storage root",
    fit: all("should"),
  },
  /** Celo as a chain of its own. Its receipts trie has a receipt of the block that nodes tell by another method. */
  celoL1: {
    headers: [headerForms.standard, headerForms.celo],
    transactions: {
      "0x0": transactionForms.celoLegacy,
      "0x7b": transactionForms.feeCurrency,
      "0x7c": transactionForms.gatewayFee,
    },
    fit: { ...all("may"), header: "should", transactions: "should" },
  },
  scroll: {
    transactions: { "0x7e": transactionForms.message },
    fit: onlyHeader,
  },
  /** Standard headers, seen; the other parts are expected to be Ethereum's. */
  standardHeader: { fit: onlyHeader },
  berachain: { headers: [headerForms.berachain], fit: all("should") },
  hyperEvm: { leftOut: "free of charge", fit: onlyHeader },
  tempo: { headers: [headerForms.tempo], fit: onlyHeader },
  /** Substrate's Frontier, whose nodes do not tell the milliseconds that its headers have. */
  frontier: { headers: [headerForms.frontier], fit: all("should") },
  /** A hash of its own over standard roots. */
  ownHash: {
    headers: [],
    fit: { ...all("should"), header: "may", derived: "may", logIndex: "may" },
  },
  stable: {
    headers: [],
    transactions: { "0x3f": transactionForms.stable },
    fit: { ...all("may"), transactions: "should", receipts: "should" },
  },
  /** Neither the hash nor the roots are Ethereum's. */
  ownRules: { headers: [], blooms: "free", fit: all("may") },
  /**
   * A chain that is not listed: whatever fits is proven, and nothing that does not fit is a lie. Types collide between
   * chains, so all forms of a type are tried.
   */
  unlisted: {
    headers: [
      headerForms.standard,
      headerForms.aura,
      headerForms.sealFields,
      headerForms.avalanche,
      headerForms.subnet,
      headerForms.berachain,
      headerForms.tempo,
      headerForms.celo,
      headerForms.frontier,
    ],
    transactions: {
      ...transactionForms.arbitrum,
      "0x0": transactionForms.celoLegacy,
      "0x3f": transactionForms.stable,
      "0x7a": transactionForms.denominatedFee,
      "0x7b": [...transactionForms.feeCurrency, ...transactionForms.accounts],
      "0x7c": transactionForms.gatewayFee,
      "0x7e": [...transactionForms.deposit, ...transactionForms.message],
    },
    receipts: { "0x7b": receiptForms.feeCurrency, "0x7e": receiptForms.deposit },
    leftOut: "state sync",
    withdrawals: "either",
    fit: all("should"),
  },
} as const satisfies Readonly<Record<string, Layer>>;

export type ChainFamily = keyof typeof families;
