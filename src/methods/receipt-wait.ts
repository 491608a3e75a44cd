// eth_sendRawTransactionSync (EIP-7966) over any node: the gateway sends the transaction as eth_sendRawTransaction, and
// waits itself until the followed chain, or a node, has the receipt.
import { isQuantity, toNumber } from "../evm/values.ts";
import { findMembers, textOf } from "../jsonrpc/members.ts";
import { type AnswerJson, isNull, ownedJson } from "../jsonrpc/raw-json.ts";
import { errors, RpcError } from "../jsonrpc/rpc-error.ts";
import { MAY_LAG, nullWhenUnknown } from "./forwarding.ts";
import { type CallContext, type ChainWait, FROM_NODES, storedPart } from "./method.ts";
import { nullWhenPending } from "./pending.ts";
import type { Sent } from "./submission.ts";

const RECEIPT = "eth_getTransactionReceipt";

/** While the chain is followed, it wakes the wait; the wait looks after this time whether it is still followed, in ms. */
const LOOK_AFTER_MS = 1_000;
/** The pauses between two questions to nodes, where no chain is followed: each is longer than the one before, in ms. */
const PAUSES = { firstMs: 100, factor: 1.5, longestMs: 1_000 };

/**
 * The time that the caller is ready to wait. EIP-7966: a time that is no positive integer counts as none. A longer time
 * than the operator's becomes the operator's, as in geth.
 * @param asked A number of milliseconds, or a QUANTITY.
 */
export function waitMsOf(
  asked: unknown,
  { waitMs, mostMs }: CallContext["network"]["limits"]["receipts"],
): number {
  const ms = isQuantity(asked) ? toNumber(asked) : asked;
  const isUsable = typeof ms === "number" && Number.isInteger(ms) && ms > 0;
  return Math.min(isUsable ? ms : waitMs, mostMs);
}

/**
 * The receipt of a transaction that was sent, once the transaction is in a block of the followed chain; where no chain is
 * followed, once a node has the receipt.
 * @throws RpcError Code 4 with the hash as data, when the time is over or the nodes cannot be asked any more.
 */
export async function receiptOf(
  { hash, isRepeated }: Sent,
  wait: ChainWait,
  context: CallContext,
): Promise<AnswerJson> {
  wait.view()?.hurry(); // a development node has mined the transaction already
  let mayBeOld = isRepeated;
  let pauseMs = PAUSES.firstMs;
  for (let isInTime = true; isInTime; ) {
    const chain = wait.view();
    const stored = chain && storedPart("receipt", hash, context, chain);
    if (stored) return ownedJson(stored);
    // A transaction that was sent before may be in a block that is older than the stored ones.
    if (!chain || mayBeOld) {
      const found = await askForReceipt(hash, { wait, chain }, context);
      if (found) return found;
    }
    mayBeOld = false;
    isInTime = await wait.next(chain ? LOOK_AFTER_MS : pauseMs);
    if (!chain) pauseMs = Math.min(PAUSES.longestMs, pauseMs * PAUSES.factor);
    await chain?.pause(); // one block may wake many calls
  }
  throw errors.notMinedInTime(wait.ms, hash);
}

/** @param chain The followed chain: a receipt of a block that is not older than its blocks does not count. */
async function askForReceipt(
  hash: string,
  { wait, chain }: { readonly wait: ChainWait; readonly chain: ReturnType<ChainWait["view"]> },
  context: CallContext,
): Promise<AnswerJson | undefined> {
  const isFalse = (json: Buffer): boolean =>
    !isNull(json) && memberOf(json, "transactionHash")?.toLowerCase() !== hash;
  const options = chain ? { ...MAY_LAG, isFalse } : { isFalse };
  try {
    const json = await nullWhenUnknown(context.ask(RECEIPT, JSON.stringify([hash]), options));
    if (isNull(json) || nullWhenPending(json) === "null") return undefined;
    const number = Number(memberOf(json, "blockNumber"));
    if (chain && !(number < chain.tail)) return undefined;
    context.setProvenance(FROM_NODES);
    return json;
  } catch (thrown) {
    // The transaction was sent: its caller must learn the hash, whatever becomes of the questions about its receipt.
    if (!(thrown instanceof RpcError)) throw thrown;
    if (thrown.code === LIMIT_EXCEEDED) throw errors.notMinedInTime(wait.ms, hash);
    return undefined;
  }
}

/** The call, or its key, may ask nodes no more. */
const LIMIT_EXCEEDED = -32005;

/** A member that is a text. */
function memberOf(json: Buffer, name: string): string | undefined {
  const [span] = findMembers(json, [name]) ?? [];
  return span && textOf(json, span).slice(1, -1);
}
