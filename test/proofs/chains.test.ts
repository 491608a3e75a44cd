// Blocks that nodes of many chains gave, each proven by the rules of its chain and as a block of a chain that is not
// listed.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { levelOf } from "../../src/chain/writing.ts";
import type { Json } from "../../src/proofs/json.ts";
import type { BlockPart, BlockParts } from "../../src/proofs/prove-block.ts";
import { proveBlock } from "../support/at-once.ts";

const folder = fileURLToPath(new URL("../../../shared/vectors/chains/", import.meta.url));
const UNLISTED = 424_242;

const noReceipts: BlockPart[] = ["receipts root", "logs bloom"];
const hashesOnly: BlockPart[] = ["transactions root", ...noReceipts];

type Row = {
  readonly file: string;
  readonly chainId: number;
  /** The parts that are not proven by the chain's rules; none of them is odd. */
  readonly unproven?: readonly BlockPart[];
  /** The parts that do not fit as those of a chain that is not listed. */
  readonly odd?: readonly string[];
};

const rows: readonly Row[] = [
  {
    file: "arbitrum-classic/18413839-via-nitro.json",
    chainId: 42161,
    unproven: hashesOnly,
    odd: hashesOnly,
  },
  {
    file: "arbitrum-classic/19000174.json",
    chainId: 42161,
    unproven: ["receipts root"],
    odd: ["receipts root"],
  },
  { file: "arbitrum-one/350791066.json", chainId: 42161, unproven: noReceipts },
  { file: "arbitrum-orbit/ethgo-1.json", chainId: 3666643831, unproven: noReceipts },
  // Arbitrum takes no tips, so that the price is not Ethereum's.
  { file: "arbitrum-sepolia/185232421.json", chainId: 421614, odd: ["places"] },
  { file: "base-goerli/1041847.json", chainId: 84531 },
  { file: "base/387634.json", chainId: 8453, unproven: hashesOnly },
  {
    file: "cronos/10000.json",
    chainId: 25,
    unproven: ["header hash", "transactions root", ...noReceipts.slice(0, 1)],
    odd: ["header hash", "transactions root", "receipts root"],
  },
  {
    file: "cronos/11446765.json",
    chainId: 25,
    unproven: ["header hash", ...hashesOnly],
    odd: ["header hash", "transactions root", "receipts root", "places"],
  },
  { file: "ethereum/1000000.json", chainId: 1 },
  { file: "ethereum/dencun-devnet-122987.json", chainId: 1337 },
  { file: "ethereum/devnet-45-types-0-1-2-4.json", chainId: 1337, unproven: noReceipts },
  { file: "ethereum/sepolia-7265502-type3.json", chainId: 11155111, unproven: noReceipts },
  { file: "fantom/2.json", chainId: 250, unproven: ["header hash"], odd: ["header hash"] },
  ...[0, 20000000, 29000000, 30000000, 40000000].map((number) => ({
    file: `gnosis/${number}.json`,
    chainId: 100,
    unproven: noReceipts,
  })),
  { file: "op-goerli/5003318.json", chainId: 420 },
  { file: "op-goerli/5003322.json", chainId: 420, unproven: noReceipts },
  { file: "op-sepolia/4089330.json", chainId: 11155420 },
  ...[1, 1241186, 14930491, 1502839, 1909952, 22698, 87673, 985465].map((number) => ({
    file: `optimism-legacy/${number}.json`,
    chainId: 10,
  })),
  { file: "optimism-legacy/985.json", chainId: 10, unproven: noReceipts },
  { file: "optimism-legacy/goerli-367675.json", chainId: 420 },
  { file: "polygon/38102393.json.gz", chainId: 137 },
  {
    file: "stable/14692806.json",
    chainId: 988,
    unproven: ["header hash", ...noReceipts],
    odd: ["header hash"],
  },
  { file: "tempo/6541.json", chainId: 42431 },
  {
    file: "zksync/35533.json",
    chainId: 324,
    unproven: ["header hash", ...hashesOnly],
    odd: ["header hash"],
  },
];

/** Files without a block, or with one that its source has cut. */
const others: readonly string[] = [
  "bsc-testnet/11832497.json", // its bloom was replaced by 0x0
  "ethereum/devnet-bal-header-1.json", // a header without its lists
  "polygon/state-sync-receipt-67836608.json",
];

function read(file: string): BlockParts {
  const bytes = readFileSync(`${folder}${file}`);
  const text = file.endsWith(".gz") ? gunzipSync(bytes) : bytes;
  const { block, receipts } = JSON.parse(text.toString()) as BlockParts & { receipts?: Json[] };
  return receipts ? { block, receipts } : { block };
}

describe.skipIf(!existsSync(folder))("recorded blocks of many chains", () => {
  it.each(rows)("$file is proven but for $unproven", ({ file, chainId, unproven = [] }) => {
    expect(proveBlock(read(file), { chainId })).toEqual({ kind: "proven", unproven, odd: [] });
  });

  it.each(rows)("$file is no lie on a chain that is not listed", ({ file, unproven, odd = [] }) => {
    const proof = proveBlock(read(file), { chainId: UNLISTED });
    expect(proof).toMatchObject({ kind: "proven", unproven: unproven ?? [] });
    const parts = proof.kind === "proven" ? proof.odd.map(({ part }) => part) : [];
    expect(parts).toEqual(odd);
  });

  it("is odd where a part cannot be encoded", () => {
    const proof = proveBlock(read("bsc-testnet/11832497.json"), { chainId: 97 });
    expect(proof).toMatchObject({ kind: "proven", odd: [{ part: "header hash" }] });
    expect(proof.kind === "proven" && levelOf(proof)).toBe("none");
  });

  it("leaves no recorded block out", () => {
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
    const listed = new Set([...rows.map(({ file }) => file), ...others]);
    const left = files.filter((file) => /\.json(\.gz)?$/.test(file) && !listed.has(file));
    expect(left).toEqual([]);
  });
});
