// The faults of nodes. Data only: it is sent to the process of the nodes.

export type Fault =
  | { readonly kind: "none" }
  /** Delays each answer by so much. */
  | { readonly kind: "delay"; readonly ms: number }
  /** Delays every second answer. */
  | { readonly kind: "slow half"; readonly ms: number }
  /** Sends the answer byte by byte. */
  | { readonly kind: "drip" }
  /** Accepts connections and answers nothing. */
  | { readonly kind: "hang" }
  /** Resets a connection after a call has come. */
  | { readonly kind: "reset" }
  /** Does not listen. */
  | { readonly kind: "refuse" }
  /** Is healthy for a second, then resets connections for a second, in turn. */
  | { readonly kind: "flapping" }
  /** Sends the statuses in turn, without JSON. */
  | {
      readonly kind: "status";
      readonly statuses: readonly number[];
      readonly retryAfterSeconds?: number;
    }
  /** Answers with a rate limit's error text and status 200. */
  | { readonly kind: "limited" }
  /** Answers with an HTML page and status 200. */
  | { readonly kind: "page" }
  /** Truncates the JSON. */
  | { readonly kind: "cut" }
  /** Answers with another call's id. */
  | { readonly kind: "wrong id" }
  /** Falls back by so many blocks, and its head stands still. */
  | { readonly kind: "stale"; readonly blocks: number }
  /** Is on its own branch of two blocks, which stands still. */
  | { readonly kind: "fork" }
  /** Changes the content of blocks, receipts, transactions and logs, but not their hashes. */
  | { readonly kind: "lies" }
  /** Has blocks but no state. */
  | { readonly kind: "no state" };

export const HEALTHY: Fault = { kind: "none" };

/** The faults of mixtures. Forks are not among them: with two nodes on two branches it is unknown which one is right. */
export const MIXED_FAULTS: readonly Fault[] = [
  { kind: "delay", ms: 1_500 },
  { kind: "slow half", ms: 1_500 },
  { kind: "drip" },
  { kind: "hang" },
  { kind: "reset" },
  { kind: "refuse" },
  { kind: "flapping" },
  { kind: "status", statuses: [429], retryAfterSeconds: 2 },
  { kind: "status", statuses: [429] },
  { kind: "status", statuses: [500, 502, 503] },
  { kind: "limited" },
  { kind: "page" },
  { kind: "cut" },
  { kind: "wrong id" },
  { kind: "stale", blocks: 10 },
  { kind: "lies" },
  { kind: "no state" },
];
