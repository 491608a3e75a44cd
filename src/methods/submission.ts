// Sending a transaction is safe to repeat: whoever sends one that a node has already is answered its
// hash, whether the first attempt was the caller's or one of ours whose answer was lost.
import { meaningOf, type Refusal } from "../evm/submission-refusals.ts";
import type { SignedHash } from "../evm/transaction-hash.ts";
import type { RawJson } from "../jsonrpc/envelope.ts";
import { RpcError } from "../jsonrpc/rpc-error.ts";
import { isNull, nullWhenUnknown } from "./block-lookup.ts";
import { MAY_LAG } from "./doubt.ts";
import type { CallContext } from "./method.ts";

export type Submission = {
  /** The method that sends. */
  readonly send: string;
  /** The method that finds a transaction by its hash. */
  readonly find: string;
  /** Asked for when it is needed: a transaction may be large, and mostly the node tells. */
  hash(): SignedHash;
};

/** @returns The hash: the node's word, or ours when the transaction has arrived all the same. */
export async function submit(submission: Submission, context: CallContext): Promise<RawJson> {
  try {
    return await context.ask(submission.send, context.paramsJson);
  } catch (thrown) {
    const meaning = thrown instanceof RpcError ? meaningOfError(thrown) : "refused";
    if (meaning === "refused") throw thrown;
    const { hash, isCertain } = submission.hash();
    const found = await lookFor(hash, submission.find, context);
    // Nethermind says "already known" of what it refused since the last block, too: it is asked.
    const isTrusted = meaning === "known" && found === "unanswered" && isCertain;
    if (found === "found" || isTrusted) return JSON.stringify(hash);
    throw thrown;
  }
}

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
    (result) => (isNull(result) ? "absent" : "found"),
    () => "unanswered",
  );
}
