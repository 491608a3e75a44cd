// The calls that find out what a node can do: all of them are cheap for the node.
import { parsed } from "../../jsonrpc/raw-json.ts";
import type { Family } from "../../namespaces/known-method.ts";
import type { Reply } from "../reply.ts";
import type { Capabilities } from "./capabilities.ts";
import { LONGEST_VERSION, type Reach, UNKNOWN_VERSION } from "./kept-capabilities.ts";

export type Probe = {
  /** The name by which it is remembered that the probe was answered. */
  readonly name: string;
  readonly method: string;
  readonly paramsJson: string;
  /** What the answer shows besides whether the node has the method. */
  readonly about?: { readonly reach: Reach; readonly block: number } | undefined;
};

const NOWHERE = `"0x${"0".repeat(64)}"`;
const NOBODY = `"0x${"0".repeat(40)}"`;

/** The version that a node tells. People read it, so it must not act on a terminal, nor be very long. */
export function versionIn(reply: Reply): string {
  const text = reply.kind === "result" ? parsed(reply.json) : undefined;
  if (typeof text !== "string" || text === "") return UNKNOWN_VERSION;
  return text.slice(0, LONGEST_VERSION).replace(/[^\x20-\x7e]/g, "?");
}

/** Methods that some nodes lack. A refusal shows that the node knows the method. */
const METHODS: Readonly<Record<Family, Readonly<Record<string, string>>>> = {
  evm: {
    eth_getBlockReceipts: '["0x0"]',
    eth_getTransactionReceiptsByBlock: '["0x0"]',
    eth_getLogs: `[{"fromBlock":"0x0","toBlock":"0x0","address":${NOBODY}}]`,
    eth_getUncleCountByBlockNumber: '["0x0"]',
    eth_getUncleByBlockNumberAndIndex: '["0x0","0x0"]',
    eth_estimateGas: `[{"to":${NOBODY}}]`,
    eth_feeHistory: '["0x1","latest",[]]',
    eth_getProof: `[${NOBODY},[],"latest"]`,
    eth_getFilterChanges: '["0x0"]',
    trace_get: `[${NOWHERE},["0x0"]]`,
    trace_transaction: `[${NOWHERE}]`,
    trace_replayTransaction: `[${NOWHERE},["trace"]]`,
    debug_traceTransaction: `[${NOWHERE}]`,
  },
  conflux: {
    cfx_getLogs: '[{"fromEpoch":"0x0","toEpoch":"0x0"}]',
    cfx_getEpochReceipts: '["0x0"]',
    cfx_getFilterChanges: '["0x0"]',
    trace_block: `[${NOWHERE}]`,
  },
};

type Question = readonly [method: string, paramsOf: (block: string) => string];

/** Calls that show whether a node has what it needs for a block. The first one stands for the reach. */
const QUESTIONS: Readonly<Record<Family, Readonly<Record<Reach, readonly Question[]>>>> = {
  evm: {
    state: [["eth_getBalance", (block) => `[${NOBODY},${block}]`]],
    history: [
      ["eth_getBlockByNumber", (block) => `[${block},false]`],
      ["eth_getBlockReceipts", (block) => `[${block}]`],
      ["eth_getLogs", (block) => `[{"fromBlock":${block},"toBlock":${block},"address":${NOBODY}}]`],
    ],
    traces: [["trace_block", (block) => `[${block}]`]],
  },
  conflux: {
    state: [["cfx_getInterestRate", (epoch) => `[${epoch}]`]],
    history: [
      ["cfx_getBlocksByEpoch", (epoch) => `[${epoch}]`],
      ["cfx_getEpochReceipts", (epoch) => `[${epoch}]`],
      ["cfx_getLogs", (epoch) => `[{"fromEpoch":${epoch},"toEpoch":${epoch}}]`],
    ],
    traces: [],
  },
};

/** Which of the first blocks is asked for: every node has the state that block 1 is made from. */
const FIRST: Readonly<Record<Reach, number>> = { state: 1, history: 1, traces: 2 };
/** A node that keeps the newest states keeps 64 or 128 of them, or far more than this. */
const RECENT_DEPTH = 1000;

export const methodProbes = (family: Family): readonly Probe[] =>
  Object.entries(METHODS[family]).map(([method, paramsJson]) => ({
    name: method,
    method,
    paramsJson,
  }));

/** @param head The number of the newest block. */
export function reachProbes(family: Family, head: number): readonly Probe[] {
  const probes = (["state", "history", "traces"] as const).flatMap((reach) =>
    QUESTIONS[family][reach].map((question) => ({
      ...asked(question, { reach, block: FIRST[reach] }),
      name: `${question[0]} of the first blocks`,
    })),
  );
  const [state] = QUESTIONS[family].state;
  const block = head - RECENT_DEPTH;
  if (!state || block <= FIRST.state) return probes.filter(({ about }) => about.block <= head);
  return [...probes, { ...asked(state, { reach: "state", block }), name: `${state[0]} of late` }];
}

/** An answer that there is no such method counts as well. */
export const isAnswered = ({ kind }: Reply): boolean =>
  kind === "result" || kind === "refused" || kind === "missing";

/** @param parts.head The number of the newest block. */
export function learnFromProbe(
  { method, about }: Probe,
  reply: Reply,
  { head, capabilities }: { head: number; capabilities: Pick<Capabilities, "learnReach"> },
): void {
  if (!about) return;
  capabilities.learnReach(about.reach, { method, reply }, { block: about.block, head });
}

/** The cheapest call that shows whether a node has what it needs for this block. */
export function probeAt(family: Family, about: { reach: Reach; block: number }): Probe | undefined {
  const [question] = QUESTIONS[family][about.reach];
  return question && asked(question, about);
}

const asked = (
  [method, paramsOf]: Question,
  about: { readonly reach: Reach; readonly block: number },
) => ({
  name: method,
  method,
  paramsJson: paramsOf(`"0x${about.block.toString(16)}"`),
  about,
});
