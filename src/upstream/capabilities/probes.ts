// The calls that probe a node's capabilities. All of them are cheap for the node.
import { parsed } from "../../jsonrpc/raw-json.ts";
import type { Family } from "../../namespaces/known-method.ts";
import type { Reply } from "../reply.ts";
import type { Capabilities } from "./capabilities.ts";
import { LONGEST_VERSION, type Reach, UNKNOWN_VERSION } from "./capability-store.ts";

export type Probe = {
  /** The name under which the gateway remembers that the probe was answered. */
  readonly name: string;
  readonly method: string;
  readonly paramsJson: string;
  /** The data that the reply shows the node to have or lack, besides the method. */
  readonly about?: { readonly reach: Reach; readonly block: number } | undefined;
};

const NOWHERE = `"0x${"0".repeat(64)}"`;
const NOBODY = `"0x${"0".repeat(40)}"`;

/** The version that a node reports, for people: printable ASCII, so that it cannot control a terminal, and truncated. */
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

/** Calls that show whether a node has the data for a block. The first call of each reach represents it. */
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

/** The early block that is asked for: every node has the genesis state, from which block 1 is made. */
const FIRST: Readonly<Record<Reach, number>> = { state: 1, history: 1, traces: 2 };
/** Nodes that prune states keep the newest 64 or 128, or far more than this. */
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
  return [
    ...probes,
    { ...asked(state, { reach: "state", block }), name: `${state[0]} of a recent block` },
  ];
}

/** Whether the node answered the probe; the reply that the method is missing counts, too. */
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

/** The cheapest call that shows whether a node has the data for this block. */
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
