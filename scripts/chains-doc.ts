// Writes the table of docs/chains.md from src/evm/chains.
// With --check it only compares, and fails when the file is stale.
import { readFile, writeFile } from "node:fs/promises";
import type { BlockRules, Fit } from "../src/evm/chains/block-rules.ts";
import { type ChainRules, chainRulesOf, listedChains } from "../src/evm/chains/chain-rules.ts";

const file = new URL("../docs/chains.md", import.meta.url);
const [begin, end] = ["<!-- chains -->", "<!-- end of chains -->"];

const partsOf = (rules: BlockRules, fit: Fit): string[] => [
  ...(rules.fit.header === fit ? ["header"] : []),
  ...(rules.fit.transactions === fit ? ["transactions"] : []),
  ...(rules.fit.receipts === fit ? ["receipts"] : []),
  ...(rules.fit.derived === fit ? ["derived members"] : []),
  ...(rules.fit.logIndex === fit && rules.fit.derived !== fit ? ["log indexes"] : []),
  ...(rules.fit.price === fit && rules.fit.derived !== fit ? ["gas prices"] : []),
];

function encodingsOf({ headers, transactions, leftOut, withdrawals }: BlockRules): string {
  const types = Object.keys(transactions).map((type) => `\`${type}\``);
  const own = headers.map(({ name }) => name).filter((name) => name !== "standard");
  return [
    ...(headers.length === 0 ? ["own hash"] : []),
    ...(own.length > 0 ? [`headers ${own.join(", ")}`] : []),
    ...(types.length > 0 ? [`types ${types.join(", ")}`] : []),
    ...(leftOut === "none" ? [] : [`in no root: ${leftOut}`]),
    ...(withdrawals === "storage root" ? ["no withdrawals"] : []),
  ].join("; ");
}

const cell = (texts: readonly string[]): string => (texts.length > 0 ? texts.join(", ") : "–");

/** One line for each era of a chain. */
const linesOf = (ids: readonly number[], { name, eras, hasMissingHeights, source }: ChainRules) =>
  eras.map(({ rules }, index) => {
    const before = eras[index - 1]?.from;
    const era = before === undefined ? "" : `, before block ${before.toLocaleString("en")}`;
    const missing = hasMissingHeights ? ["heights without a block"] : [];
    return [
      `${name ?? "any other chain"}${era}`,
      ids.join(" "),
      cell([encodingsOf(rules), ...missing].filter(Boolean)),
      cell(partsOf(rules, "must")),
      cell(partsOf(rules, "should")),
      cell(partsOf(rules, "may")),
      source,
    ];
  });

const UNLISTED = -1;
const table = [
  [
    "chain",
    "ids",
    "differs from Ethereum",
    "proven, else a lie",
    "proven, else odd",
    "not expected to fit",
    "source",
  ],
  ["---", "---", "---", "---", "---", "---", "---"],
  ...listedChains().flatMap(({ ids, rules }) => linesOf(ids, rules)),
  ...linesOf([], chainRulesOf(UNLISTED)).map((cells) =>
    cells.with(2, "all of these forms are tried").with(6, "–"),
  ),
]
  .map((cells) => `| ${cells.join(" | ")} |`)
  .join("\n");

const present = await readFile(file, "utf8");
const wanted = present.replace(
  new RegExp(`${begin}[^]*${end}`),
  () => `${begin}\n${table}\n${end}`,
);
if (!process.argv.includes("--check")) await writeFile(file, wanted);
else if (present !== wanted) {
  console.error("docs/chains.md is stale: run node scripts/chains-doc.ts");
  process.exitCode = 1;
}
