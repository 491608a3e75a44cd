// The state diffs of executed chains, compared with Besu's and geth's recorded answers, and with OpenEthereum's rules
// for the whole accounts before and after.
import { readdirSync } from "node:fs";
import { beforeAll, describe, expect, it } from "vitest";
import { stateDiffOf } from "../../src/traces/prestate-diff.ts";
import { normaliseStateDiff, type StateDiff } from "../../src/traces/state-diff.ts";
import { isBalanced } from "../support/balanced.ts";
import { executionChainAvailable } from "../support/execution-chain.ts";
import { answerOf, dialects } from "./dialects.ts";
import { diffModeOf } from "./geth-prestate.ts";
import { parityDiff } from "./parity-diff.ts";
import {
  besuTraceAvailable,
  gethDebugAvailable,
  type RecordedBlock,
  readJson,
  recordBesuTraceChain,
  recordExecutionChain,
  recordGethDebugChain,
  vectorFolder,
} from "./recorded-chains.ts";
import type { Recorded } from "./state-recorder.ts";

type Call<T> = { request: { params: [string] }; response: { result: readonly T[] } };

/** Each answer about a block in the files of `folder`, with its transaction. */
function pairsOf<T>(folder: string, blocks: readonly RecordedBlock[]): [T, Recorded][] {
  const files = readdirSync(`${vectorFolder}${folder}`).map((file) => `${folder}/${file}`);
  return files.flatMap((file) => {
    const { request, response } = readJson(file) as Call<T>;
    const block = blocks.find(({ number }) => number === Number(request.params[0]));
    const transactions = block?.transactions ?? [];
    expect(response.result ?? []).toHaveLength(transactions.length);
    return transactions.map((recorded, index): [T, Recorded] => [
      response.result[index] as T,
      recorded,
    ]);
  });
}

const derived = ({ before, after }: Recorded): StateDiff | undefined =>
  stateDiffOf(diffModeOf(before, after));

/** Before EIP-161 a transaction could leave an empty account; geth's tracer sees no change. */
const withoutBornEmpty = (diff: object): object =>
  Object.fromEntries(Object.entries(diff).filter(([, account]) => text(account) !== bornEmpty));

/** The JSON text, which includes the order. */
const text = (value: unknown): string => JSON.stringify(value);

const bornEmpty = text({
  balance: { "+": "0x0" },
  code: { "+": "0x" },
  nonce: { "+": "0x0" },
  storage: {},
});

describe.skipIf(!besuTraceAvailable)("the chain of Besu's traces", () => {
  it("changes what Besu says, to the letter", async () => {
    const blocks = await recordBesuTraceChain();
    for (const folder of ["all", "statediff"]) {
      const pairs = pairsOf<{ stateDiff: unknown }>(
        `besu-trace/specs/replay-trace-transaction/${folder}`,
        blocks,
      );
      expect(pairs).toHaveLength(11);
      for (const [{ stateDiff }, recorded] of pairs) {
        expect(text(derived(recorded))).toBe(text(stateDiff));
        expect(text(normaliseStateDiff(stateDiff))).toBe(text(stateDiff));
      }
    }
  });
});

describe.skipIf(!gethDebugAvailable)("the chain that Besu's authors ran in geth", () => {
  it("changes what geth's tracer says", async () => {
    const blocks = await recordGethDebugChain();
    const folder = "besu-debug-geth/specs/prestate-tracer";
    const diffs = pairsOf<{ result: unknown }>(`${folder}/diff-mode-true`, blocks);
    expect(diffs).toHaveLength(11);
    for (const [{ result }, recorded] of diffs)
      expect(text(stateDiffOf(result))).toBe(text(parityDiff(recorded.before, recorded.after)));
  });
});

describe.each([
  {
    chain: "Besu's traces",
    isThere: besuTraceAvailable,
    record: recordBesuTraceChain,
    count: 53,
    deviating: 0,
  },
  {
    chain: "Besu's authors in geth",
    isThere: gethDebugAvailable,
    record: recordGethDebugChain,
    count: 56,
    deviating: 0,
  },
  {
    chain: "execution-apis",
    isThere: executionChainAvailable,
    record: recordExecutionChain,
    count: 249,
    deviating: 3,
  },
])("every transaction of the chain of $chain", ({ isThere, record, count, deviating }) => {
  describe.skipIf(!isThere)("executed", () => {
    let transactions: readonly Recorded[];

    beforeAll(async () => {
      transactions = (await record()).flatMap((block) => block.transactions);
    });

    it.each(Object.keys(dialects))("has the diff of OpenEthereum's rules, by %s", (dialect) => {
      expect(transactions).toHaveLength(count);
      for (const recorded of transactions) {
        const diff = answerOf(dialect, recorded);
        const want = parityDiff(recorded.before, recorded.after);
        expect(text(normaliseStateDiff(want))).toBe(text(want));
        expect(text(stateDiffOf(diff))).toBe(text(withoutBornEmpty(want)));
      }
    });

    it(`has ${deviating} transactions that bore an empty account, of which geth does not tell`, () => {
      const wanted = transactions.map(({ before, after }) => text(parityDiff(before, after)));
      const differing = transactions.filter((one, index) => text(derived(one)) !== wanted[index]);
      expect(differing).toHaveLength(deviating);
    });

    it("takes its value and its fee from its sender", () => {
      for (const recorded of transactions) {
        const { transaction, outcome } = recorded;
        const { execResult, amountSpent } = outcome;
        const stateDiff = derived(recorded) ?? {};
        const sender = transaction.getSenderAddress().toString();
        // In these chains blob gas costs one wei.
        const fee = amountSpent + (outcome.blobGasUsed ?? 0n);
        const isRefused = execResult.exceptionError !== undefined;
        const value = isRefused || transaction.to?.toString() === sender ? 0n : transaction.value;
        expect(isBalanced(stateDiff, { sender, value, fee }), sender).toBe(true);
      }
    });
  });
});
