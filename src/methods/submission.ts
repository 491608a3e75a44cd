// Makes it safe to send a transaction again. When a node already has the transaction, the gateway answers its hash,
// whether the caller sent it before or the reply to the gateway's own attempt was lost. The gateway computes the hash
// itself, and believes no node that answers another hash.

import type { SignedHash } from "../evm/transaction-hash.ts";
import { data, isHash, hash as transactionHash } from "../evm/values.ts";
import { findMembers } from "../jsonrpc/members.ts";
import { parsed, type RawJson } from "../jsonrpc/raw-json.ts";
import { RpcError } from "../jsonrpc/rpc-error.ts";
import type { Arrival } from "../upstream/asking/call-options.ts";
import { MAY_LAG, nullWhenUnknown } from "./forwarding.ts";
import type { CallContext } from "./method.ts";

/** The common part of the declarations of all methods that send a transaction. */
export const SENDING = {
  workKind: "submission",
  summary: "Sends a signed transaction and returns its hash, also when it was sent before.",
  cost: 3,
  params: { transaction: data },
  result: transactionHash,
  freshness: "unknown",
  kind: "write",
} as const;

export type Submission = {
  /** The parameters for the nodes as JSON; left out: those of the call. */
  readonly paramsJson?: string;
  /** The name of the method that sends a transaction. */
  readonly send: string;
  /** The name of the method that finds a transaction by its hash. */
  readonly find: string;
  readonly signed: SignedHash;
};

/** A transaction that a node has. */
export type Sent = {
  /** Its hash; the node's own one for a type that only some network knows. */
  readonly hash: string;
  /** The hash as JSON. */
  readonly json: RawJson;
  /** Whether a node may have had it before, or may have taken it from an attempt whose answer was lost. */
  readonly isRepeated: boolean;
};

/**
 * Sends a signed transaction.
 * @returns The answer of a method that sends: the hash as JSON, once a node has the transaction.
 * @throws RpcError The node's refusal, when no node has the transaction.
 */
export const submit = async (submission: Submission, context: CallContext): Promise<RawJson> =>
  (await send(submission, context)).json;

/** As `submit`. */
export async function send(submission: Submission, context: CallContext): Promise<Sent> {
  const { hash, isCertain } = submission.signed;
  const isFalse = (json: Buffer): boolean => isCertain && !isHashIn(json, hash);
  const { paramsJson = context.paramsJson } = submission;
  try {
    const result = await context.ask(submission.send, paramsJson, { isFalse, arrivalOf });
    return isCertain ? sent(hash) : { ...sent(foreignHash(result) ?? hash), json: result };
  } catch (thrown) {
    const meaning = thrown instanceof RpcError ? meaningOfError(thrown) : "refused";
    if (meaning === "refused") throw thrown;
    const found = await lookFor(hash, submission.find, context);
    // Nethermind also says "already known" of a transaction that it refused since the last block, hence the look-up.
    const isTrusted = meaning === "known" && found === "unanswered" && isCertain;
    if (found === "found" || isTrusted) return { ...sent(hash), isRepeated: true };
    throw thrown;
  }
}

const sent = (hash: string): Sent => ({ hash, json: JSON.stringify(hash), isRepeated: false });

/** The hash that a node computed. */
function foreignHash(result: Buffer): string | undefined {
  const told = parsed(result);
  return isHash(told) ? told.toLowerCase() : undefined;
}

/** Whether the node found this very transaction: a node that answers wrong hashes may give any transaction. */
function isTransaction(json: Buffer, hash: string): boolean {
  const [span] = findMembers(json, ["hash"]) ?? [];
  return span !== undefined && isHashIn(json.subarray(span.start, span.end), hash);
}

const isHashIn = (json: Buffer, hash: string): boolean =>
  json.length === hash.length + 2 && json.toString("latin1").toLowerCase() === `"${hash}"`;

const ARRIVAL = { known: 2, perhaps: 1, refused: 0 } as const;

const arrivalOf = ({ json }: { readonly json: string }): Arrival => ARRIVAL[meaningOf(json)];

function meaningOfError({ status, json }: RpcError): Refusal {
  // No node answered, but one may have accepted the transaction.
  if (status >= 500) return "perhaps";
  return json === undefined ? "refused" : meaningOf(json);
}

/** Looks for the transaction in the followed chain and at the nodes, within the request's deadline. */
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
 * The meaning of a node's refusal of a transaction; many nodes refuse a transaction that they already have. `known`: the
 * node says that it has this very transaction. `perhaps`: the node would say the same of a transaction that was mined,
 * or that another node has. `refused`: no node has accepted the transaction, and none will.
 */
type Refusal = "known" | "perhaps" | "refused";

/** Reads the meaning of a refusal. @param json The node's error object: some nodes give the reason as `data`. */
export function meaningOf(json: string): Refusal {
  const words = json.slice(0, LONGEST_WORDS);
  // A node that executes a transaction before it accepts it may repeat a contract's words.
  if (/\brevert/i.test(words)) return "refused";
  if (KNOWN.test(words)) return "known";
  return PERHAPS.some((pattern) => pattern.test(words)) ? "perhaps" : "refused";
}

const LONGEST_WORDS = 2000;

/** None of these patterns matches "unknown transaction type". */
const KNOWN =
  /\balready ?known\b|\bknown transaction\b|\bsame hash\b|already ?imported|\btx already exist|\btx already in |\balready in the (system|pool|mempool)/i;

const PERHAPS: readonly RegExp[] = [
  // This transaction, or another one, used the nonce.
  /nonce[ _](is |has )?(too[ _](low|small)|already)|\bold ?nonce|\bstale\b|\boutdated\b/i,
  /(invalid|incorrect|correct)[ _](transaction )?nonce|NonceAlreadyUsed|already (finalized|mined)/i,
  // This transaction, or another one with its nonce, is in the mempool.
  /replacement|could not replace|same nonce|gas price \S* ?(supplied )?is too low/i,
  // Nethermind checks fees and funds before it looks at the hash and the nonce, and a mined transaction has already
  // spent its funds.
  /insufficient ?(funds|balance)|out of balance|upfront cost|not enough funds/i,
  // This node's own limits refuse the transaction, while another node may have it.
  /underpriced|fee ?too ?low|(fee|price|per gas) (\d+ )?(below|less than|too low)|(pool|queue) (is )?full/i,
];
