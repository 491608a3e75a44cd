// A node of 2021 over a generated chain: it knows limit and offset itself, and silently returns only the last logs
// where there are too many.
import { toQuantity } from "../../src/evm/values.ts";
import {
  failure,
  missing,
  type NodeCall,
  result,
  type ScriptedNode,
  startScriptedNode,
} from "../support/scripted-node.ts";
import { type Epoch, type GeneratedEpochs, NETWORK_ID } from "./generated-epochs.ts";
import type { EpochModel, Filter } from "./model.ts";

export type OldNode = ScriptedNode & {
  countOf(method: string): number;
  /** The number of logs in all answers so far. */
  logsGiven(): number;
};

/** The number of newest epochs that are mined but not executed. */
const DEFERRED = 4;

/** @param options.preset The most logs of an answer. @param options.gap The most epochs of a query. */
export async function startOldNode(
  epochs: GeneratedEpochs,
  options: { preset: number; gap: number },
): Promise<OldNode> {
  let model = epochs.model();
  let given = 0;
  const node = await startScriptedNode((call) => {
    if (model.latestState !== epochs.head.number) model = epochs.model();
    const onLogs = (count: number): void => {
      given += count;
    };
    return answer(call, { epochs, model, onLogs, ...options });
  });
  const countOf = (wanted: string) => node.calls.filter(({ method }) => method === wanted).length;
  return { ...node, countOf, logsGiven: () => given };
}

type Known = {
  readonly epochs: GeneratedEpochs;
  readonly model: EpochModel;
  readonly preset: number;
  readonly gap: number;
  onLogs(count: number): void;
};

function answer(call: NodeCall, known: Known): string {
  const { epochs } = known.epochs;
  const [param] = call.params;
  const told = (value: unknown): string => result(call, JSON.stringify(value));
  switch (call.method) {
    case "cfx_getStatus":
      return told({ chainId: toQuantity(NETWORK_ID), networkId: toQuantity(NETWORK_ID) });
    case "cfx_epochNumber":
      return told(toQuantity(numberOf(param ?? "latest_mined", known)));
    case "cfx_getBlockByHash": {
      const epoch = epochs.find(({ blocks }) => blocks.includes(String(param)));
      return told(epoch ? blockOf(epoch, String(param)) : null);
    }
    case "cfx_getBlockByEpochNumber":
    case "cfx_getBlocksByEpoch": {
      const epoch = epochs[numberOf(param, known)];
      if (!epoch)
        return refuse(call, -32602, "expected a numbers with less than largest epoch number");
      const isList = call.method === "cfx_getBlocksByEpoch";
      return told(isList ? epoch.blocks : blockOf(epoch, epoch.blocks.at(-1) ?? ""));
    }
    case "cfx_getLogs":
      return logs(call, known);
    default:
      return missing(call);
  }
}

function logs(call: NodeCall, known: Known): string {
  const { model, preset, gap } = known;
  const filter = call.params[0] as Filter;
  const [from, to] = [
    filter.fromEpoch ?? "latest_checkpoint",
    filter.toEpoch ?? "latest_state",
  ].map((reference) => numberOf(reference, known)) as [number, number];
  if (!filter.blockHashes) {
    if (from > to)
      return refuse(call, -32016, `Filter has wrong epoch numbers set (from: ${from}, to: ${to})`);
    if (to - from + 1 > gap) {
      const words = `(from: ${from}, to: ${to}, max_gap: ${gap})`;
      return refuse(
        call,
        -32016,
        `The gap between from_epoch and to_epoch is larger than max_gap ${words}`,
      );
    }
  }
  const unknown = filter.blockHashes?.find((hash) => !model.hashes.includes(hash));
  if (unknown) return refuse(call, -32016, `Unable to identify block ${unknown}`);
  const { logs: found } = model.answer(filter, preset);
  known.onLogs(found.length);
  return result(call, JSON.stringify(found));
}

const refuse = (call: NodeCall, code: number, why: string): string => {
  const message =
    code === -32016 ? `Error processing request: Filter error: ${why}` : `Invalid params: ${why}.`;
  return failure(call, JSON.stringify({ code, message }));
};

function numberOf(reference: unknown, { model }: Known): number {
  if (reference === "latest_state") return model.latestState;
  if (reference === "latest_mined") return model.latestState + DEFERRED;
  if (reference === "latest_confirmed") return Math.max(0, model.latestState - 20);
  return String(reference).startsWith("0x") ? Number(reference) : 0;
}

const blockOf = ({ number, parentHash, blocks }: Epoch, hash: string): object => ({
  hash,
  parentHash: hash === blocks.at(-1) ? parentHash : `0x${"77".repeat(32)}`,
  epochNumber: toQuantity(number),
  height: toQuantity(number),
  timestamp: toQuantity(1_600_000_000 + number),
  transactions: [],
});
