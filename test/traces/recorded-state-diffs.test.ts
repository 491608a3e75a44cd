// State diffs that nodes of real networks returned, and those of geth's own tests.
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { stateDiffOf } from "../../src/traces/prestate-diff.ts";
import { normaliseStateDiff } from "../../src/traces/state-diff.ts";
import { executeVector, type GethVector } from "./goldens/execute-vector.ts";
import { parityDiff } from "./parity-diff.ts";

const shared = fileURLToPath(new URL("../../../shared/", import.meta.url));
const erigon = `${shared}vectors/erigon-rpc-tests/mainnet/`;
const geth = `${shared}vectors/geth-tracetest/`;

const readText = (file: string): string =>
  file.endsWith(".tar")
    ? execFileSync("tar", ["--extract", "--to-stdout", "--file", file], { encoding: "utf8" })
    : readFileSync(file, "utf8");

/** All state diffs in a value, at any depth. */
function stateDiffsIn(value: unknown): readonly object[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    name === "stateDiff" && member ? [member] : stateDiffsIn(member),
  );
}

describe.skipIf(!existsSync(erigon))("what Erigon answered on mainnet", () => {
  it.each([
    { method: "trace_replayTransaction", count: 5 },
    { method: "trace_replayBlockTransactions", count: 2 },
  ])("$method is passed on to the letter", ({ method, count }) => {
    const files = readdirSync(`${erigon}${method}`).map((file) => `${erigon}${method}/${file}`);
    const diffs = files.flatMap((file) => stateDiffsIn(JSON.parse(readText(file))));
    expect(diffs).toHaveLength(count);
    for (const diff of diffs)
      expect(JSON.stringify(normaliseStateDiff(diff))).toBe(JSON.stringify(diff));
  });
});

it.skipIf(!existsSync(`${shared}samples`))(
  "a client's form of mainnet's first transaction is completed",
  () => {
    const [diff] = stateDiffsIn(
      JSON.parse(readText(`${shared}samples/trace_replayBlockTransactions-1.json`)),
    );
    const unchanged = { code: "=", nonce: "=", storage: {} };
    const { a, b, c } = names;
    expect(normaliseStateDiff(diff)).toEqual({
      // The library had dropped the parts that are "=", and the code of a created account is "0x".
      [a]: { balance: { "+": "0x7a69" }, code: { "+": "0x" }, nonce: { "+": "0x0" }, storage: {} },
      [b]: {
        ...unchanged,
        balance: { "*": { from: "0x6c6b935b8bbd400000", to: "0x6c5d01021be7168597" } },
        nonce: { "*": { from: "0x0", to: "0x1" } },
      },
      [c]: {
        ...unchanged,
        balance: { "*": { from: "0xf3426785a8ab466000", to: "0xf350f9df18816f6000" } },
      },
    });
  },
);

const names = {
  a: "0x5df9b87991262f6ba471f09758cde1c0fc1de734",
  b: "0xa1e4380a3b1f749673e270229993ee55f35663b4",
  c: "0xe6a7a1d47ff21b6321162aea7c6cb457d5476bca",
};

describe.skipIf(!existsSync(geth))("geth's own tests", () => {
  it.each(["create", "simple"])("%s changes what its execution changes", async (name) => {
    const vector = read(`prestate_tracer_with_diff_mode/${name}`);
    const { before, after } = await executeVector(vector);
    const want = JSON.stringify(parityDiff(before, after));
    expect(JSON.stringify(stateDiffOf(vector.result))).toBe(want);
  });
});

const read = (name: string): GethVector => JSON.parse(readText(`${geth}${name}.json`));
