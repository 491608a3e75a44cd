// The logs of one block, asked for by its hash: also of one that a reorganisation dropped.
import type { Position } from "../chain/block-store.ts";
import { areFalse } from "../evm/false-logs.ts";
import { conditionsOf, type LogFilter } from "../evm/log-filter.ts";
import { matcherOf } from "../evm/log-matcher.ts";
import { asRemoved } from "../evm/removed-log.ts";
import { isHash, isQuantity, toNumber, toQuantity } from "../evm/values.ts";
import { findElements, findMembers, textOf } from "../jsonrpc/members.ts";
import type { AnswerJson, RawJson } from "../jsonrpc/raw-json.ts";
import { errors } from "../jsonrpc/rpc-error.ts";
import type { IsFalse } from "../upstream/belief.ts";
import { MAY_LAG, readBlock, saysUnknown } from "./block-lookup.ts";
import { joinJson } from "./join-json.ts";
import { joinLogs } from "./join-logs.ts";
import type { CallContext } from "./method.ts";
import { findBlock, fromStore } from "./stored-lookup.ts";

/** @throws RpcError -32000 when the block is unknown. */
export async function logsOfBlock(
  blockHash: string,
  filter: LogFilter,
  context: CallContext,
): Promise<AnswerJson> {
  const found = await findBlock({ kind: "hash", hash: blockHash }, context);
  if (found === "unknown") throw errors.unknownBlock();
  if (found !== "elsewhere" && context.chain) {
    const logs = context.chain.selectedLogsOf(found, matcherOf(filter));
    const isGone = logs.count > 0 && (await isDropped(found, context));
    const told = isGone ? joinJson(logs.all().map(asRemoved)) : joinLogs(logs);
    return fromStore(told, found, context);
  }
  return askLogsOfBlock(blockHash, filter, context);
}

async function askLogsOfBlock(
  blockHash: string,
  filter: LogFilter,
  context: CallContext,
): Promise<RawJson> {
  const paramsJson = JSON.stringify([{ blockHash, ...conditionsOf(filter) }]);
  const question = { matcher: matcherOf(filter), within: new Set([blockHash.toLowerCase()]) };
  const isFalse: IsFalse = (json) => areFalse(json, question);
  const asked = context.ask("eth_getLogs", paramsJson, { ...MAY_LAG, isFalse });
  const logs = await asked.catch((thrown: unknown) => {
    throw saysUnknown(thrown) ? errors.unknownBlock() : thrown;
  });
  // Some nodes find nothing in a block they do not have.
  const isEmpty = logs.length <= 4; // [], or null
  if (isEmpty && !(await readBlock({ kind: "hash", hash: blockHash }, context))) {
    throw errors.unknownBlock();
  }
  return isEmpty ? "[]" : withRemoval(logs, blockHash, context);
}

/** Nodes tell the logs of a block that was dropped as if it were not, to whoever asks by its hash. */
async function withRemoval(logs: Buffer, hash: string, context: CallContext): Promise<RawJson> {
  const [first, ...rest] = (findElements(logs) ?? []).map(({ start, end }) =>
    logs.subarray(start, end),
  );
  const [span] = (first && findMembers(first, ["blockNumber"])) ?? [];
  const number = first && span && textOf(first, span).slice(1, -1);
  if (!first || !isQuantity(number)) return logs;
  const isGone = await isDropped({ number: toNumber(number), hash: hash.toLowerCase() }, context);
  return isGone ? joinJson([first, ...rest].map(asRemoved)) : logs;
}

/** Whether another block is at its number; what nobody knows is as it was told. */
async function isDropped({ number, hash }: Position, context: CallContext): Promise<boolean> {
  const { chain } = context;
  const stored = chain?.positionAt(number);
  if (stored) return stored.hash !== hash;
  if (chain) {
    const sought = await chain.fetch({ number });
    return typeof sought !== "string" && sought.hash !== hash;
  }
  const at = { kind: "number", number: toQuantity(number) } as const;
  const canonical = await readBlock(at, context).catch(() => undefined);
  return isHash(canonical?.hash) && canonical.hash.toLowerCase() !== hash;
}
