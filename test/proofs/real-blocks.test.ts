// Blocks from nodes of real networks, and the parts of each that are proven. Published samples whose hashes are wrong
// are in the list of failures, with the reason.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { headerHash } from "../../src/proofs/check-header.ts";
import type { Json } from "../../src/proofs/json.ts";
import type { BlockPart, Proof } from "../../src/proofs/prove-block.ts";
import { proveBlock } from "../support/at-once.ts";

const shared = fileURLToPath(new URL("../../../shared/", import.meta.url));
const samples = "samples/";
const erigon = "vectors/erigon-rpc-tests/mainnet/";
const geth = "vectors/geth-ethapi-shapes/";

const hashesOnly: BlockPart[] = ["transactions root", "receipts root", "logs bloom"];
const wholeTransactions: BlockPart[] = ["receipts root", "logs bloom"];
const eSpace: BlockPart[] = ["header hash", "transactions root", "receipts root", "logs bloom"];
const OF_ESPACE = 1030;
/** A chain that is not listed: the samples are of many chains, and some have wrong labels. */
const UNLISTED = 424_242;

/** All parts are proven except those in `unproven`. */
const blocks: readonly {
  file: string;
  receipts?: string;
  unproven: BlockPart[];
  chainId?: number;
}[] = [
  // geth on the chain of execution-apis, recorded
  {
    file: `${samples}eth_getBlockByHash-6`,
    receipts: `${samples}eth_getBlockReceipts-7`,
    unproven: [],
  },
  {
    file: `${samples}eth_getBlockByNumber-11`,
    receipts: `${samples}eth_getBlockReceipts-6`,
    unproven: [],
  },
  {
    file: `${samples}eth_getBlockByNumber-12`,
    receipts: `${samples}eth_getBlockReceipts-1`,
    unproven: [],
  },
  { file: `${samples}eth_getBlockByNumber-13`, unproven: wholeTransactions },
  { file: `${samples}eth_getBlockByNumber-14`, unproven: wholeTransactions },
  { file: `${samples}eth_getBlockByNumber-5`, unproven: hashesOnly },
  { file: `${samples}eth_getBlockByNumber-6`, unproven: hashesOnly },
  { file: `${samples}eth_getBlockByNumber-7`, unproven: hashesOnly },
  { file: `${samples}eth_getBlockByNumber-9`, unproven: hashesOnly },
  { file: `${samples}eth_getBlockByNumber-10`, unproven: hashesOnly },
  // Conflux eSpace, recorded: its block hash is that of its own header format, not of an Ethereum header
  { file: `${samples}eth_getBlockByHash-1`, unproven: eSpace, chainId: OF_ESPACE },
  { file: `${samples}eth_getBlockByHash-2`, unproven: eSpace, chainId: OF_ESPACE },
  { file: `${samples}eth_getBlockByNumber-1`, unproven: eSpace, chainId: OF_ESPACE },
  { file: `${samples}eth_getBlockByNumber-2`, unproven: eSpace, chainId: OF_ESPACE },
  { file: `${samples}eth_getBlockByNumber-3`, unproven: eSpace, chainId: OF_ESPACE },
  { file: `${samples}eth_getBlockByNumber-4`, unproven: eSpace, chainId: OF_ESPACE },
  // Published with labels of the wrong networks, but with right header hashes
  { file: `${samples}eth_getBlockByHash-9`, unproven: hashesOnly },
  { file: `${samples}eth_getBlockByHash-10`, unproven: hashesOnly },
  { file: `${samples}eth_getBlockByNumber-16`, unproven: wholeTransactions },
  { file: `${samples}eth_getBlockByNumber-17`, unproven: wholeTransactions },
  { file: `${samples}eth_getBlockByNumber-18`, unproven: wholeTransactions },
  { file: `${samples}eth_getBlockByNumber-19`, unproven: hashesOnly },
  { file: `${samples}eth_getBlockByNumber-20`, unproven: hashesOnly },
  // Ethereum mainnet, recorded from Erigon: genesis, before Byzantium, Shanghai with its 16 withdrawals
  { file: `${erigon}eth_getBlockByHash/test_02`, unproven: hashesOnly },
  {
    file: `${erigon}eth_getBlockByHash/test_10`,
    receipts: `${erigon}eth_getBlockReceipts/test_06`,
    unproven: [],
  },
  { file: `${erigon}eth_getBlockByNumber/test_01`, unproven: hashesOnly },
  { file: `${erigon}eth_getBlockByNumber/test_12`, unproven: wholeTransactions },
  // Expected answers in go-ethereum's tests
  { file: `${geth}eth_getBlockByHash-hash-1`, unproven: hashesOnly },
  {
    file: `${geth}eth_getBlockByHash-hash-genesis`,
    receipts: `${geth}eth_getBlockReceipts-number-0`,
    unproven: [],
  },
  { file: `${geth}eth_getBlockByHash-hash-latest-1-fullTx`, unproven: wholeTransactions },
  { file: `${geth}eth_getBlockByHash-hash-latest`, unproven: hashesOnly },
  { file: `${geth}eth_getBlockByNumber-number-0`, unproven: wholeTransactions },
  { file: `${geth}eth_getBlockByNumber-number-1`, unproven: hashesOnly },
  { file: `${geth}eth_getBlockByNumber-number-latest-1`, unproven: wholeTransactions },
  { file: `${geth}eth_getBlockByNumber-tag-latest`, unproven: hashesOnly },
];

/** Blocks with a part that cannot be proven, with the reason. */
const failing: readonly { file: string; part: BlockPart; why: string }[] = [
  {
    file: `${samples}eth_getBlockByHash-8`,
    part: "header hash",
    why: "an invented documentation example",
  },
  {
    file: `${samples}eth_getBlockByNumber-15`,
    part: "header hash",
    why: "the same invented example",
  },
  {
    file: `${geth}eth_getBlockByNumber-tag-pending`,
    part: "header hash",
    why: "pending, has no hash",
  },
  {
    file: `${geth}eth_getBlockByNumber-tag-pending-fullTx`,
    part: "header hash",
    why: "pending, has no hash",
  },
];

/** Headers alone: uncles, and geth's eth_getHeaderBy…. */
const headers: readonly { file: string; holds: boolean }[] = [
  { file: `${samples}eth_getUncleByBlockHashAndIndex-1`, holds: false }, // invented, without mixHash and nonce
  { file: `${samples}eth_getUncleByBlockHashAndIndex-2`, holds: true },
  { file: `${samples}eth_getUncleByBlockHashAndIndex-3`, holds: true }, // of mainnet, although its label says otherwise
  { file: `${samples}eth_getUncleByBlockNumberAndIndex-1`, holds: true },
  { file: `${samples}eth_getUncleByBlockNumberAndIndex-2`, holds: true },
  ...[
    "ByHash-hash-0",
    "ByHash-hash-1",
    "ByHash-hash-latest-1",
    "ByHash-hash-latest",
    "ByNumber-number-0",
    "ByNumber-number-1",
    "ByNumber-number-latest-1",
    "ByNumber-tag-latest",
  ].map((name) => ({ file: `${geth}eth_getHeader${name}`, holds: true })),
  { file: `${geth}eth_getHeaderByNumber-tag-pending`, holds: false }, // pending, has no hash
];

/** Receipts whose block is in no vector: only their positions can be checked. */
const lonelyReceipts: readonly string[] = [
  `${samples}eth_getBlockReceipts-2`, // the same as -7
  `${samples}eth_getBlockReceipts-9`, // an invented example from documentation
  `${samples}eth_getBlockReceipts-10`, // published, truncated to four receipts
  `${erigon}eth_getBlockReceipts/test_10`,
  ...[
    "block-with-blob-tx",
    "block-with-contract-create-tx",
    "block-with-dynamic-fee-tx",
    "tag-latest",
    "block-with-legacy-contract-call-tx",
    "block-with-legacy-transfer-tx",
    "tag-pending",
  ].map((name) => `${geth}eth_getBlockReceipts-${name}`),
];

/** Reads the answer in a file of any of the three sets. */
function read(file: string): unknown {
  const content: unknown = JSON.parse(readFileSync(`${shared}${file}.json`, "utf8"));
  const exchange = Array.isArray(content) && file.startsWith(erigon) ? content[0] : content;
  return file.startsWith(geth)
    ? exchange
    : (exchange as { response: { result?: unknown } }).response.result;
}

const prove = (file: string, chainId: number, receipts?: string): Proof =>
  proveBlock(
    {
      block: read(file) as Json,
      ...(receipts !== undefined && { receipts: read(receipts) as readonly Json[] }),
    },
    { chainId },
  );

describe.skipIf(![samples, erigon, geth].every((folder) => existsSync(`${shared}${folder}`)))(
  "blocks of real nodes",
  () => {
    it.each(blocks)(
      "$file is proven but for $unproven",
      ({ file, receipts, unproven, chainId }) => {
        expect(prove(file, chainId ?? UNLISTED, receipts)).toEqual({
          kind: "proven",
          unproven,
          odd: [],
        });
      },
    );

    it.each(failing)("$file is not proven: $why", ({ file, part }) => {
      const { kind, ...proof } = prove(file, UNLISTED);
      expect({ kind, ...proof }).toMatchObject(
        kind === "failed"
          ? { part }
          : { odd: expect.arrayContaining([expect.objectContaining({ part })]) },
      );
    });

    it.each(headers)("the header $file has its hash: $holds", ({ file, holds }) => {
      const header = read(file) as Json;
      expect(headerHash(header) === header["hash"]).toBe(holds);
    });

    it("leave no sample of a block, header or list of receipts out", () => {
      const listed = new Set([
        ...blocks.flatMap(({ file, receipts }) => [file, receipts]),
        ...[...failing, ...headers].map(({ file }) => file),
        ...lonelyReceipts,
      ]);
      const left = [
        samples,
        `${erigon}eth_getBlockByHash/`,
        `${erigon}eth_getBlockByNumber/`,
        `${erigon}eth_getBlockReceipts/`,
        `${erigon}eth_getUncleByBlockHashAndIndex/`,
        geth,
      ]
        .flatMap((folder) =>
          readdirSync(`${shared}${folder}`).map((name) => `${folder}${name.replace(".json", "")}`),
        )
        .filter(
          (file) => /eth_get(Block(By|Receipts)|Header|Uncle[^C])/.test(file) && !listed.has(file),
        )
        .filter((file) => !isEmpty(read(file)));
      expect(left).toEqual([]);
    });
  },
);

const isEmpty = (answer: unknown): boolean =>
  answer === null || answer === undefined || (Array.isArray(answer) && answer.length === 0);
