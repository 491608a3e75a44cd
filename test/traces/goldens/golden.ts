// What a golden is: something that is asked through the gateway, over a node that has only what was recorded.
export type Mode =
  /** The node knows what is asked; of trace_get, which is never passed on, trace_transaction. */
  | "pass-through"
  /** The node refuses what is asked, and knows only lower methods. */
  | "derivation";

export type Answer = {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly result?: unknown;
  readonly error?: unknown;
};

/** A node as the gateway sees it: whatever method is not in its answers, it does not have. */
export type World = {
  /** Of its network, too. */
  readonly name: string;
  readonly chainId: number;
  readonly answers: readonly Answer[];
  /** What is passed on beside trace_* and eth_*. */
  readonly allow?: readonly string[];
};

export type Golden = {
  readonly name: string;
  /** The folder that it comes from. */
  readonly source: string;
  readonly mode: Mode;
  readonly world: string;
  readonly method: string;
  readonly params: readonly unknown[];
  readonly want: unknown;
};

export type Scenario = { readonly worlds: readonly World[]; readonly goldens: readonly Golden[] };

/** What several of them ask is asked once. */
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

export type Place = Required<
  Pick<Entry, "blockHash" | "blockNumber" | "transactionHash" | "transactionPosition">
>;
