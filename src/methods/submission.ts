// Makes it safe to repeat the sending of a transaction. When a node already has the transaction, its hash is the
// answer, whether the first attempt was the caller's or one of ours whose answer was lost. The hash is computed here: a
// node that answers another one is not believed.

import type { SignedHash } from "../evm/transaction-hash.ts";
import { data, hash as transactionHash } from "../evm/values.ts";
import { findMembers } from "../jsonrpc/members.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { RpcError } from "../jsonrpc/rpc-error.ts";
import type { Arrival } from "../upstream/asking/call-options.ts";
import type { CallContext } from "./method.ts";
import { MAY_LAG, nullWhenUnknown } from "./passing-on.ts";

/** The declaration that the methods which send a transaction have in common. */
export const SENDING = {
  workKind: "submission",
  summary: "Sends a signed transaction and answers its hash, also when it was sent before.",
  cost: 3,
  params: { transaction: data },
  result: transactionHash,
  freshness: "unknown",
  kind: "write",
} as const;

export type Submission = {
  /** The name of the method that sends a transaction. */
  readonly send: string;
  /** The name of the method that finds a transaction by its hash. */
  readonly find: string;
  readonly signed: SignedHash;
};

/**
 * @returns The hash, once a node has the transaction. For a transaction type that only some network knows, the node's
 * hash is taken.
 */
export async function submit(submission: Submission, context: CallContext): Promise<RawJson> {
  const { hash, isCertain } = submission.signed;
  const isFalse = (json: Buffer): boolean => isCertain && !isHashIn(json, hash);
  try {
    const result = await context.ask(submission.send, context.paramsJson, { isFalse, arrivalOf });
    return isCertain ? JSON.stringify(hash) : result;
  } catch (thrown) {
    const meaning = thrown instanceof RpcError ? meaningOfError(thrown) : "refused";
    if (meaning === "refused") throw thrown;
    const found = await lookFor(hash, submission.find, context);
    // Nethermind also says "already known" of a transaction that it refused since the last block: so it is looked for.
    const isTrusted = meaning === "known" && found === "unanswered" && isCertain;
    if (found === "found" || isTrusted) return JSON.stringify(hash);
    throw thrown;
  }
}

/** Whether the node has this transaction: a node that answers another hash may find anything. */
function isTransaction(json: Buffer, hash: string): boolean {
  const [span] = findMembers(json, ["hash"]) ?? [];
  return span !== undefined && isHashIn(json.subarray(span.start, span.end), hash);
}

const isHashIn = (json: Buffer, hash: string): boolean =>
  json.length === hash.length + 2 && json.toString("latin1").toLowerCase() === `"${hash}"`;

const ARRIVAL = { known: 2, perhaps: 1, refused: 0 } as const;

const arrivalOf = ({ json }: { readonly json: string }): Arrival => ARRIVAL[meaningOf(json)];

function meaningOfError({ status, json }: RpcError): Refusal {
  // No node answered, but one may have taken it.
  if (status >= 500) return "perhaps";
  return json === undefined ? "refused" : meaningOf(json);
}

/** Looks for the transaction, within the time that is left for the request. */
async function lookFor(
  hash: string,
  method: string,
  context: CallContext,
): Promise<"found" | "absent" | "unanswered"> {
  if (context.chain?.transaction(hash)) return "found";
  const asked = context.ask(method, JSON.stringify([hash]), MAY_LAG);
  return nullWhenUnknown(asked).then(
    (result) => (isTransaction(result, hash) ? "found" : "absent"),
    () => "unanswered",
  );
}

/**
 * What a node means when it refuses a transaction; many nodes refuse one that they already have. `known`: the node says
 * that it has this very transaction. `perhaps`: it says what it would also say of one that was mined, or that another
 * node has. `refused`: no node took it, nor will any.
 */
type Refusal = "known" | "perhaps" | "refused";

/** @param json The node's error object: some put their words into `data`. */
export function meaningOf(json: string): Refusal {
  const words = json.slice(0, LONGEST_WORDS);
  // Where a node tries a transaction before it takes it, these may be a contract's words.
  if (/\brevert/i.test(words)) return "refused";
  if (KNOWN.test(words)) return "known";
  return PERHAPS.some((pattern) => pattern.test(words)) ? "perhaps" : "refused";
}

const LONGEST_WORDS = 2000;

/** "unknown transaction type" is none of them. */
const KNOWN =
  /\balready ?known\b|\bknown transaction\b|\bsame hash\b|already ?imported|\btx already exist|\btx already in |\balready in the (system|pool|mempool)/i;

const PERHAPS: readonly RegExp[] = [
  // The nonce was used, by this transaction or by another.
  /nonce[ _](is |has )?(too[ _](low|small)|already)|\bold ?nonce|\bstale\b|\boutdated\b/i,
  /(invalid|incorrect|correct)[ _](transaction )?nonce|NonceAlreadyUsed|already (finalized|mined)/i,
  // A transaction with this nonce waits, this one or another.
  /replacement|could not replace|same nonce|gas price \S* ?(supplied )?is too low/i,
  // Nethermind checks fees and funds before it looks at the hash and the nonce, and a mined transaction has already
  // spent its funds.
  /insufficient ?(funds|balance)|out of balance|upfront cost|not enough funds/i,
  // The limits of one node, while another one may have the transaction.
  /underpriced|fee ?too ?low|(fee|price|per gas) (\d+ )?(below|less than|too low)|(pool|queue) (is )?full/i,
];
