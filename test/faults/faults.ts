// What can be wrong with a node. Data only: it is sent to the process that the nodes live in.

export type Fault =
  | { readonly kind: "none" }
  /** Each answer comes so much later. */
  | { readonly kind: "delay"; readonly ms: number }
  /** Every second answer does. */
  | { readonly kind: "slow half"; readonly ms: number }
  /** The answer begins at once and comes byte by byte. */
  | { readonly kind: "drip" }
  /** Connections are taken, and nothing is answered. */
  | { readonly kind: "hang" }
  /** Connections are reset when a call has come. */
  | { readonly kind: "reset" }
  /** Nobody listens. */
  | { readonly kind: "refuse" }
  /** Healthy for a second, resets for a second. */
  | { readonly kind: "flapping" }
  /** One status after the other, without JSON. */
  | {
      readonly kind: "status";
      readonly statuses: readonly number[];
      readonly retryAfterSeconds?: number;
    }
  /** The text of a rate limit, with status 200. */
  | { readonly kind: "limited" }
  /** A page for people, with status 200. */
  | { readonly kind: "page" }
  /** JSON that ends in its middle. */
  | { readonly kind: "cut" }
  /** Good answers, to other calls. */
  | { readonly kind: "wrong id" }
  /** Its head falls back by so many blocks and stands still. */
  | { readonly kind: "stale"; readonly blocks: number }
  /** It is on a branch of its own, two blocks long, that stands still. */
  | { readonly kind: "fork" }
  /** Blocks, receipts, transactions and logs have other content than their hashes say. */
  | { readonly kind: "lies" }
  /** It has blocks and no state. */
  | { readonly kind: "no state" };

export const HEALTHY: Fault = { kind: "none" };

/** What mixtures are made of. Not forks: of two nodes on two branches nobody can say which is right. */
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
