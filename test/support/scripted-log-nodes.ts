// Nodes for tests that answer log queries of an invented chain, each with its own limits and error texts, asked in
// order like those of a pool.

import type { LogRange } from "../../src/evm/log-filter.ts";
import { errors } from "../../src/jsonrpc/rpc-error.ts";
import { atOnce } from "../../src/lib/turns.ts";
import type { CallOptions } from "../../src/upstream/asking/call-options.ts";
import type { LogsReach } from "../../src/upstream/capabilities/capabilities.ts";
import type { LearnedRange } from "../../src/upstream/learned-range.ts";
import type { Reply } from "../../src/upstream/reply.ts";

export type Filter = { readonly address?: string | readonly string[] };
export type Log = { readonly address: string; readonly blockNumber: string; readonly data: string };

/** @param call The number of the call among all calls to all nodes, from one. @returns The node's reply. */
export type LogNode = ((question: LogRange & Filter, call: number) => Reply) & {
  /** The gateway's knowledge of the node's old logs. */
  readonly reach?: LogsReach;
};

export const told = (logs: readonly Log[]): Reply => ({
  kind: "result",
  json: Buffer.from(JSON.stringify(logs.map(whole))),
});

/** Adds all members of a log. @param index The log index in the block. */
export const whole = <Given extends { readonly blockNumber: string }>(
  log: Given,
  index: number,
) => ({
  topics: [],
  blockHash: `0x${log.blockNumber.slice(2).padStart(64, "0")}`,
  transactionHash: `0x${"99".repeat(32)}`,
  transactionIndex: "0x0",
  logIndex: `0x${index.toString(16)}`,
  removed: false,
  ...log,
});

type Refusal = Extract<Reply, { kind: "refused" }>;

export const refused = (message: string, code = -32005): Refusal => ({
  kind: "refused",
  code,
  message,
  json: JSON.stringify({ code, message }),
});

export const lacking = (lacks: "history" | "block"): Reply => ({
  ...refused(`its ${lacks} is not here`, -32000),
  lacks,
});

export const failed: Reply = { kind: "failed", reason: "HTTP 500" };

export const isWithin = ({ blockNumber, address }: Log, range: LogRange & Filter): boolean =>
  Number(blockNumber) >= range.from &&
  Number(blockNumber) <= range.to &&
  [range.address ?? address].flat().includes(address);

/** A call context over these nodes; `asked` lists the ranges, `state.mostAtOnce` the most concurrent calls. */
export function askingNodes(
  nodes: readonly LogNode[],
  {
    results,
    ranges,
    upstreamCalls = 200_000,
  }: { results: number; ranges: LearnedRange; upstreamCalls?: number },
) {
  const asked: LogRange[] = [];
  const state = { calls: 0, underWay: 0, mostAtOnce: 0, failures: 0 };
  const ask = async (_: string, paramsJson: string, options: CallOptions = {}): Promise<Buffer> => {
    const [{ fromBlock, toBlock, ...filter }] = JSON.parse(paramsJson);
    const range = { from: Number(fromBlock), to: Number(toBlock) };
    asked.push(range);
    state.underWay += 1;
    state.mostAtOnce = Math.max(state.mostAtOnce, state.underWay);
    await Promise.resolve();
    state.underWay -= 1;
    let uncertain: Reply | undefined;
    for (const [index, node] of nodes.entries()) {
      state.calls += 1;
      const reply = node({ ...range, ...filter }, state.calls);
      const found = reply.kind === "result" && options.isFalse?.(reply.json, `node ${index}`);
      if (typeof found === "object" ? atOnce(found) : found) {
        options.onFalse?.();
        continue;
      }
      if (reply.kind !== "result" && reply.kind !== "refused") continue;
      options.onReply?.(reply, `node ${index}`, node.reach);
      if (!options.crossCheck?.isUncertain(reply)) return said(reply);
      uncertain ??= reply;
    }
    if (uncertain) return said(uncertain);
    state.failures += 1;
    throw errors.upstreamsFailed();
  };
  const limits = {
    upstreamCalls,
    logs: { blocks: ranges.width, results },
    receipts: { waitMs: 2_000, mostMs: 10_000 },
    traces: { steps: 1, bytes: 1, blocks: 1, refunds: true },
  };
  const context = {
    ask,
    hold: () => undefined,
    get upstreamCallsLeft(): number {
      return Math.max(0, upstreamCalls - Math.max(asked.length, state.calls));
    },
    ranges,
    signal: new AbortController().signal,
    network: { name: "n", family: "evm" as const, chainId: 1, limits },
    chain: undefined,
  };
  return { context, asked, state };
}

function said(reply: Reply): Buffer {
  if (reply.kind === "result") return reply.json;
  if (reply.kind === "refused") throw errors.refusedByNode(reply.code, reply.message, reply.json);
  throw errors.upstreamsFailed();
}
