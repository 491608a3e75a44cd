// The samples from nodes' answers or from documents, passed through.
import { hex } from "./chain.ts";
import type { Answer, Entry, Json, Scenario } from "./golden.ts";
import { recorded } from "./questions.ts";
import { readVector } from "./vectors.ts";

export const source = "samples";

export type Sample = {
  readonly network: string;
  readonly request: Pick<Answer, "method" | "params"> | null;
  readonly response: { readonly result: unknown };
  readonly context: { readonly number: string };
};

export const read = (name: string): Sample => readVector<Sample>(`samples/${name}.json`);
export const resultOf = (name: string): unknown => read(name).response.result;

type Question = Answer & { readonly name: string };

/** The calls of the samples; those without a request get one that fits their result. */
function questions(): readonly Question[] {
  const [{ transactionHash } = {}] = resultOf("trace_transaction-1") as readonly Entry[];
  const hash = String(transactionHash);
  const [one, two] = resultOf("trace_replayBlockTransactions-2") as readonly Json[]; // the sample ends with three dots
  const get = { method: "trace_get", params: [hash, ["0x0"]] };
  const block = "trace_replayBlockTransactions";
  return [
    ...["trace_transaction-1", "trace_transaction-2"].map((name) => ({
      ...{ name, method: "trace_transaction", params: [hash], result: resultOf(name) },
    })),
    ...["trace_get-2", "trace_get-5", "trace_get-6"].map((name) => ({
      name,
      ...get,
      result: resultOf(name),
    })),
    ...["trace_replayTransaction-1", "trace_replayTransaction-4"].map((name) => {
      const { request, response } = read(name);
      const { method = "", params = [] } = request ?? {};
      return { name, method, params, result: response.result };
    }),
    {
      name: `${block}-1`,
      method: block,
      params: [hex(46_147), ["stateDiff"]],
      result: firstTransfer(),
    },
    { name: `${block}-2`, method: block, params: ["0x1", ["trace"]], result: [one, two] },
  ];
}

/** A node's answer in a client's form, with defaults for the members that the client did not keep. */
const firstTransfer = (): unknown =>
  (resultOf("trace_replayBlockTransactions-1") as readonly Json[]).map((replay) => ({
    ...{ output: "0x", trace: [], vmTrace: null, ...replay },
  }));

/** Gives each account all its parts: a missing part did not change, and a created account has all of them. */
const completed = (replays: unknown): unknown =>
  (replays as readonly Json[]).map((replay) => ({
    ...replay,
    stateDiff: Object.fromEntries(
      Object.entries(replay["stateDiff"] ?? {}).map(([address, account]) => {
        const isBorn = "+" in account.balance;
        const parts = { code: isBorn ? { "+": "0x" } : "=", nonce: "=", storage: {} };
        return [address, { ...parts, ...account }];
      }),
    ),
  }));

export function samplesThemselves(): Scenario {
  const asked = questions();
  const origin = { source, mode: "pass-through", world: "samples" } as const;
  const answers = asked.filter(({ method }) => method !== "trace_get");
  const goldens = asked.flatMap(({ name, method, params, result }) => {
    const want = name === "trace_replayBlockTransactions-1" ? completed(result) : result;
    return recorded({ ...origin, name }, { method, params, want });
  });
  return { worlds: [{ name: "samples", chainId: 1, answers }], goldens };
}
