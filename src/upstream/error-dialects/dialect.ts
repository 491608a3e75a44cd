// One wording in which nodes and providers refuse a call, and its meaning.

/** Data that this node lacks, and another node may have. */
export type Lack = "block" | "state" | "history";

type Meaning =
  | { readonly kind: "refused"; readonly lacks?: Lack }
  /** See `Reply`. */
  | { readonly kind: "missing"; readonly isUnsure?: true }
  | { readonly kind: "busy" }
  /** See `Reply`. */
  | { readonly kind: "failed"; readonly reason: string; readonly isReported?: true };

/** A row of the table. All given conditions must hold. */
export type Dialect = {
  /** The nodes and providers known to use the wording. Documentation only: the row applies to any upstream. */
  readonly of: readonly string[];
  /** The codes in the error object. Left out: any code, except those in `ABOUT_THE_CALL`. */
  readonly code?: number | readonly number[];
  readonly status?: number | readonly number[];
  /** The methods of the calls that the row is about. */
  readonly method?: RegExp;
  /** A pattern for the beginning of the message, or of a body that is not JSON-RPC. */
  readonly words?: RegExp;
  readonly means: Meaning;
  /** For how long the condition lasts, in milliseconds, if known from experience and not from the reply. */
  readonly pauseMs?: number;
};

/** The parts of an upstream's reply that the table is about. */
export type ReplyWording = {
  readonly status: number;
  readonly code: number | undefined;
  readonly text: string;
  /** The method of the call. */
  readonly method?: string | undefined;
};

/**
 * Codes of reverts (3, -32015), rejected transactions (-32003) and parameters (-32602), whose messages contain words
 * chosen by the caller or a contract. A row applies to them only if it names the code.
 */
const ABOUT_THE_CALL: ReadonlySet<number | undefined> = new Set([3, -32015, -32003, -32602]);

/** The wrapping of an error that a node behind the node gave. */
const WRAPPING =
  /^(?:rpc error: code = \w{1,30} desc = |(?:json-?rpc |upstream |backend )?error: )/i;

export const unwrapped = (text: string): string => text.replace(WRAPPING, "");

/** Whether the code alone says that the error is about the call, and not about the node. */
export const isCodeOfTheCall = (code: number | undefined): boolean => ABOUT_THE_CALL.has(code);

export const fits = (row: Dialect, { status, code, text, method = "" }: ReplyWording): boolean =>
  (row.code === undefined ? !ABOUT_THE_CALL.has(code) : isOneOf(row.code, code)) &&
  (row.status === undefined || isOneOf(row.status, status)) &&
  (row.method === undefined || row.method.test(method)) &&
  (row.words === undefined || row.words.test(text));

const isOneOf = (wanted: number | readonly number[], got: number | undefined): boolean =>
  typeof wanted === "number" ? wanted === got : got !== undefined && wanted.includes(got);

/** Adds the same meaning to all rows that have none of their own. */
export const withMeaning = (
  means: Meaning,
  rows: readonly (Omit<Dialect, "means"> & Partial<Dialect>)[],
): readonly Dialect[] => rows.map((row) => ({ means, ...row }));
