// One way in which nodes and providers say no, and what they mean by it.

/** What this node does not have, and another one may. */
export type Lack = "block" | "state" | "history";

type Meaning =
  | { readonly kind: "refused"; readonly lacks?: Lack }
  /** See `Reply`. */
  | { readonly kind: "missing"; readonly isUnsure?: true }
  | { readonly kind: "busy" }
  /** See `Reply`. */
  | { readonly kind: "failed"; readonly reason: string; readonly isReported?: true };

/** A row of the table. All conditions must hold; one that is left out always does. */
export type Dialect = {
  /** Who says it. For the reader: anybody who says the same means the same. */
  readonly of: readonly string[];
  /** In the error object. Left out: any that does not speak of what was asked (`ABOUT_THE_CALL`). */
  readonly code?: number | readonly number[];
  readonly status?: number | readonly number[];
  /** Of calls of these methods only. */
  readonly method?: RegExp;
  /** In the message, of which only the beginning is read; or in a body that is no JSON-RPC at all. */
  readonly words?: RegExp;
  readonly means: Meaning;
  /** For how long it will be so, where experience tells and the answer does not. */
  readonly pauseMs?: number;
};

/** What an answer says. */
export type Saying = {
  readonly status: number;
  readonly code: number | undefined;
  readonly text: string;
  /** What was asked for. */
  readonly method?: string | undefined;
};

/**
 * Reverts (3, -32015), rejected transactions (-32003) and parameters (-32602): the caller, or a contract,
 * chooses some of the words. A row is about them only when it names the code.
 */
const ABOUT_THE_CALL: ReadonlySet<number | undefined> = new Set([3, -32015, -32003, -32602]);

export const fits = (row: Dialect, { status, code, text, method = "" }: Saying): boolean =>
  (row.code === undefined ? !ABOUT_THE_CALL.has(code) : isOneOf(row.code, code)) &&
  (row.status === undefined || isOneOf(row.status, status)) &&
  (row.method === undefined || row.method.test(method)) &&
  (row.words === undefined || row.words.test(text));

const isOneOf = (wanted: number | readonly number[], got: number | undefined): boolean =>
  typeof wanted === "number" ? wanted === got : got !== undefined && wanted.includes(got);

/** Rows that mean the same. */
export const allMean = (
  means: Meaning,
  rows: readonly Omit<Dialect, "means">[],
): readonly Dialect[] => rows.map((row) => ({ ...row, means }));
