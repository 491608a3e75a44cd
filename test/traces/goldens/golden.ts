// A golden: a call through the gateway, over a node that has only recorded answers, with the expected result.
export type Mode =
  /** The node knows the method; for trace_get, which is never passed on, it knows trace_transaction. */
  | "pass-through"
  /** The node lacks the method, and knows only lower ones. */
  | "derivation";

export type Answer = {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly result?: unknown;
  readonly error?: unknown;
};

/** A node as the gateway sees it: it lacks each method that is not in its answers. */
export type World = {
  /** The name of the node and of its network. */
  readonly name: string;
  readonly chainId: number;
  readonly answers: readonly Answer[];
  /** The methods that the gateway passes on; left out: the default. */
  readonly allow?: readonly string[];
};

export type Golden = {
  readonly name: string;
  /** The folder of the vectors. */
  readonly source: string;
  readonly mode: Mode;
  readonly world: string;
  readonly method: string;
  readonly params: readonly unknown[];
  readonly want: unknown;
};

export type Scenario = { readonly worlds: readonly World[]; readonly goldens: readonly Golden[] };

/** Joins scenarios; a call of several scenarios is made once. */
export function together(scenarios: readonly Scenario[]): Scenario {
  const goldens = scenarios.flatMap((scenario) => scenario.goldens);
  return {
    worlds: scenarios.flatMap(({ worlds }) => worlds),
    goldens: [...new Map(goldens.map((golden) => [golden.name, golden])).values()],
  };
}

export type Json = { readonly [key: string]: unknown };

export type Entry = {
  readonly action: Json;
  readonly error?: string | null;
  readonly result?: Json | null;
  readonly subtraces: number;
  readonly traceAddress: readonly number[];
  readonly type: string;
  readonly blockHash?: string;
  readonly blockNumber?: number;
  readonly transactionHash?: string | null;
  readonly transactionPosition?: number | null;
};

export type TracePosition = Required<
  Pick<Entry, "blockHash" | "blockNumber" | "transactionHash" | "transactionPosition">
>;
