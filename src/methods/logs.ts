// eth_getLogs: the range is fixed and checked here, so that no node guesses what a tag means.
import { z } from "zod";
import { conditionsOf, type LogFilter, logFilter, scopeOf } from "../evm/log-filter.ts";
import { log } from "../evm/results.ts";
import { toQuantity } from "../evm/values.ts";
import type { RawJson } from "../jsonrpc/envelope.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import { readBlock, saysUnknown } from "./block-lookup.ts";
import { refuseTooMany, settleRange } from "./log-range.ts";
import { type CallContext, defineMethod } from "./method.ts";

export const logMethods = [
  defineMethod({
    name: "eth_getLogs",
    summary: "The logs that match a filter, of a range of blocks or of one block.",
    cost: 10,
    params: { filter: logFilter },
    result: z.array(log),
    freshness: "until next block",
    answer: async ({ filter }, context) => {
      const scope = scopeOf(filter);
      if (scope.kind === "block") return logsOfBlock(scope.blockHash, filter, context);
      const range = await settleRange(scope, context);
      const fixed = { fromBlock: toQuantity(range.from), toBlock: toQuantity(range.to) };
      const logs = await context.ask(
        "eth_getLogs",
        JSON.stringify([{ ...fixed, ...conditionsOf(filter) }]),
      );
      refuseTooMany(logs, range, context.network.limits.logs.results);
      return logs;
    },
  }),
];

async function logsOfBlock(
  blockHash: string,
  filter: LogFilter,
  context: CallContext,
): Promise<RawJson> {
  const paramsJson = JSON.stringify([{ blockHash, ...conditionsOf(filter) }]);
  const logs = await context.ask("eth_getLogs", paramsJson).catch((thrown: unknown) => {
    throw saysUnknown(thrown) ? errors.unknownBlock() : thrown;
  });
  // Some nodes find nothing in a block they do not have.
  const isEmpty = logs.length <= 4; // [], or null
  if (isEmpty && !(await readBlock({ kind: "hash", hash: blockHash }, context))) {
    throw errors.unknownBlock();
  }
  return isEmpty ? "[]" : logs;
}
