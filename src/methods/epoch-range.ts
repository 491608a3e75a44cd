// Which epochs a query means, as numbers, and whether they are a range that is served.

import type { EpochLogFilter } from "../conflux/epoch-logs.ts";
import { beyondEpochs, gapTooWide, reversedEpochs } from "../conflux/epoch-words.ts";
import type { LogRange } from "../evm/log-filter.ts";
import { isQuantity, toNumber } from "../evm/values.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { isBeyondAnyChain } from "./block-lookup.ts";
import type { CallContext } from "./method.ts";

/** docs/decisions/0035: what is left out. */
const DEFAULTS = { from: "latest_checkpoint", to: "latest_state" };

/**
 * The end is at most the newest executed epoch, as nodes take it.
 *
 * @throws RpcError -32016 in the nodes' words: reversed, beyond the newest epoch, or too wide.
 */
export async function settleEpochs(
  { fromEpoch, toEpoch }: Pick<EpochLogFilter, "fromEpoch" | "toEpoch">,
  context: CallContext,
): Promise<LogRange> {
  const newest = await newestEpoch(fromEpoch, context);
  const settle = (reference: string): number | Promise<number> =>
    reference === "latest_state" ? newest : settleEpoch(reference, context);
  const from = await settle(fromEpoch ?? DEFAULTS.from);
  const to = Math.min(await settle(toEpoch ?? DEFAULTS.to), newest);
  if (from > newest && from > (await readEpoch("latest_mined", context))) throw beyondEpochs();
  if (from > to) throw reversedEpochs(from, to);
  const { blocks, rule } = context.network.limits.logs;
  if (blocks !== undefined && to - from >= blocks) throw gapTooWide(from, to, { blocks, rule });
  return { from, to };
}

/** The newest executed epoch; looked for again when the caller knows of a newer one. */
async function newestEpoch(
  fromEpoch: string | null | undefined,
  context: CallContext,
): Promise<number> {
  const { chain } = context;
  if (!chain) return context.consultHead().latest();
  const wanted = fromEpoch && isQuantity(fromEpoch) ? toNumber(fromEpoch) : 0;
  return wanted > chain.head.number ? chain.atLeast(wanted, context.signal) : chain.head.number;
}

async function settleEpoch(reference: string, context: CallContext): Promise<number> {
  if (reference === "earliest") return 0;
  if (isBeyondAnyChain(reference)) return Number.MAX_SAFE_INTEGER;
  if (isQuantity(reference)) return toNumber(reference);
  const position = await context.chain?.tagged(reference as `latest_${string}`);
  return position?.number ?? readEpoch(reference, context);
}

const readEpoch = async (reference: string, context: Pick<CallContext, "ask">): Promise<number> => {
  const json = await context.ask("cfx_epochNumber", JSON.stringify([reference]));
  const number: unknown = JSON.parse(json.toString());
  if (!isQuantity(number) || isBeyondAnyChain(number)) throw errors.upstreamsFailed();
  return toNumber(number);
};
