// Sending a transaction is safe to repeat: whoever sends one that a node has already is answered its
// hash, whether the first attempt was the caller's or one of ours whose answer was lost. The hash is
// computed here: a node that tells another one is not believed.
import { meaningOf, type Refusal } from "../evm/submission-refusals.ts";
import type { SignedHash } from "../evm/transaction-hash.ts";
import { findMembers } from "../jsonrpc/members.ts";
import type { RawJson } from "../jsonrpc/raw-json.ts";
import { RpcError } from "../jsonrpc/rpc-error.ts";
import type { Arrival } from "../upstream/asking/call-options.ts";
import { MAY_LAG, nullWhenUnknown } from "./block-lookup.ts";
import type { CallContext } from "./method.ts";

export type Submission = {
  /** The method that sends. */
  readonly send: string;
  /** The method that finds a transaction by its hash. */
  readonly find: string;
  readonly signed: SignedHash;
};

/**
 * @returns The hash, once a node has the transaction. Of a type that only some network knows it is the
 * node's word.
 */
export async function submit(submission: Submission, context: CallContext): Promise<RawJson> {
  const { hash, isCertain } = submission.signed;
  const isFalse = (json: Buffer): boolean => isCertain && !isHashIn(json, hash);
  try {
    const told = await context.ask(submission.send, context.paramsJson, { isFalse, arrivalOf });
    return isCertain ? JSON.stringify(hash) : told;
  } catch (thrown) {
    const meaning = thrown instanceof RpcError ? meaningOfError(thrown) : "refused";
    if (meaning === "refused") throw thrown;
    const found = await lookFor(hash, submission.find, context);
    // Nethermind says "already known" of what it refused since the last block, too: it is asked.
    const isTrusted = meaning === "known" && found === "unanswered" && isCertain;
    if (found === "found" || isTrusted) return JSON.stringify(hash);
    throw thrown;
  }
}

/** A node that told another hash may find anything. */
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

/** Within what is left of the request's time. */
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
