// Log queries that only nodes answer, in their own form (`erigon_getLogs`, `erigon_getLatestLogs`): passed on unchanged,
// once their range is within the limit of the network and the key.
import { isQuantity, toNumber } from "../evm/values.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { checkWidth } from "./logs.ts";
import type { CallContext } from "./method.ts";

type Context = Pick<CallContext, "ask" | "headView" | "network" | "paramsJson">;

/**
 * @param method A method with a log filter as its first parameter, or one with a block's hash, which has no range.
 * @throws RpcError -32602 when the range is too wide, or when nodes may read it otherwise than the gateway does.
 */
export async function askForNodeLogs(method: string, context: Context): Promise<Buffer> {
  if (context.network.limits.logs.blocks !== undefined) {
    const [filter] = JSON.parse(context.paramsJson);
    if (typeof filter === "object" && filter !== null) await checkFilter(filter, context);
  }
  return context.ask(method, context.paramsJson);
}

const RANGE = ["fromBlock", "toBlock", "blockHash"];

/**
 * Erigon begins at block 0 where `fromBlock` is left out or a tag, and ends at its head where `toBlock` is
 * (rpc/jsonrpc/erigon_receipts.go, `logRangeLatestOnly`). A value that is no QUANTITY counts as the widest range.
 */
async function checkFilter(
  filter: Readonly<Record<string, unknown>>,
  context: Context,
): Promise<void> {
  // Nodes in Go ignore the case of names, and take the last that fits.
  const isAmbiguous = (name: string): boolean =>
    !RANGE.includes(name) && RANGE.some((each) => each.toLowerCase() === name.toLowerCase());
  if (Object.keys(filter).some(isAmbiguous))
    throw errors.invalidArgument(0, `want ${RANGE.join(", ")} in this spelling`);
  const { fromBlock, toBlock, blockHash } = filter;
  if (typeof blockHash === "string") return;
  const from = isQuantity(fromBlock) ? toNumber(fromBlock) : 0;
  const to = isQuantity(toBlock) ? toNumber(toBlock) : await context.headView().latest();
  checkWidth({ from, to }, context);
}
