// The advice at the end of `headgate check`: the capabilities that the nodes of each network lack, their costliest
// limits, and remedies. Pure.
import type { VendorLimits } from "../../config/vendors.ts";
import type { Family } from "../../namespaces/known-method.ts";
import type { Inspection, TakesBatches } from "./inspect.ts";

export type CheckedUpstream = {
  readonly name: string;
  readonly url: string;
  readonly vendor: string;
  readonly found: Inspection;
  readonly takesBatches: TakesBatches | undefined;
  /** The most blocks in one log query, as learned earlier. */
  readonly widestLogs: number | undefined;
  /** The limits that the vendor states, in words. */
  readonly vendorLimits: VendorLimits;
};

export type CheckedNetwork = {
  readonly network: string;
  readonly family: Family;
  /** The widest log query that callers may send, in blocks; undefined: any. */
  readonly logBlocks: number | undefined;
  readonly upstreams: readonly CheckedUpstream[];
};

type Usable = CheckedUpstream & { readonly found: Extract<Inspection, { kind: "usable" }> };

/** One or two short sentences for each remedy, the costliest limits first; empty if nothing is to be done. */
export function adviceFor({ network, family, logBlocks, upstreams }: CheckedNetwork): string[] {
  const usable = upstreams.filter((each): each is Usable => each.found.kind === "usable");
  const closed = upstreams.flatMap(({ name, vendorLimits: { closed: why } }) =>
    why === undefined ? [] : [`${network}: ${name}: ${why}. Add a node of another vendor.`],
  );
  if (usable.length === 0)
    return [`${network}: no node can be used: solve the problems above.`, ...closed];
  const lines = [
    ...limits(usable, logBlocks),
    ...(family === "evm" ? missingMethods(usable) : []),
    ...archive(usable),
    ...push(usable),
    ...others(usable),
  ];
  return [...lines.map((line) => `${network}: ${line}`), ...closed];
}

/** Sentences about limits; the limit that splits a log query into the most calls comes first. */
function limits(usable: readonly Usable[], logBlocks: number | undefined): string[] {
  const narrow = usable.flatMap(({ name, widestLogs }) =>
    widestLogs === undefined || logBlocks === undefined || widestLogs >= logBlocks
      ? []
      : [{ name, widestLogs, calls: Math.ceil(logBlocks / widestLogs) }],
  );
  const widest = narrow.length === usable.length;
  return [
    ...narrow
      .toSorted((one, other) => other.calls - one.calls)
      .map(
        ({ name, widestLogs, calls }) =>
          `${name} takes at most ${widestLogs} blocks in a log query, so that a query of ${logBlocks} blocks costs ${calls} calls.${widest ? " Add a node that takes more, or lower limits.logs.blocks." : " Other nodes take more, and are asked first."}`,
      ),
    ...usable
      .filter(({ vendorLimits, widestLogs }) => vendorLimits.logBlocks && widestLogs === undefined)
      .map(({ name, vendorLimits }) => `${name} takes log queries of ${vendorLimits.logBlocks}.`),
    ...usable
      .filter(({ vendorLimits, takesBatches }) => vendorLimits.batches && takesBatches !== "no")
      .map(
        ({ name, vendorLimits }) => `${name} has these limits on batches: ${vendorLimits.batches}.`,
      ),
    ...usable
      .filter(({ takesBatches }) => takesBatches === "no")
      .map(({ name }) => `${name} takes no batches: each call to it is a request of its own.`),
  ];
}

function missingMethods(usable: readonly Usable[]): readonly string[] {
  const has = (method: string): boolean => usable.some(({ found }) => found.has.includes(method));
  // A node that did not answer the probe may have the method.
  const mayHave = (method: string): boolean =>
    has(method) || usable.some(({ found }) => found.unclear.includes(method));
  const hasReceipts = ["eth_getBlockReceipts", "eth_getTransactionReceiptsByBlock"].some(mayHave);
  const hasTraces = ["trace_transaction", "trace_replayTransaction"].some(mayHave);
  const debug = "debug_traceTransaction";
  return [
    ...(hasReceipts
      ? []
      : [
          "no node has the receipts of a block in one call: each block costs one call for each transaction. Add a node with eth_getBlockReceipts.",
        ]),
    ...(hasTraces || mayHave(debug)
      ? []
      : [
          "no node has traces, and trace_* is refused. Open debug_* at a node of yours (geth --http.api …,debug), or add a node with trace_* (Erigon, reth, Nethermind).",
          ...usable
            .filter(({ vendorLimits }) => vendorLimits.traces)
            .map(({ name, vendorLimits }) => `${name} has traces ${vendorLimits.traces}.`),
        ]),
    ...(!hasTraces && has(debug)
      ? [
          "the gateway makes trace_* from debug_*, which takes nodes longer. With many traces, add a node with trace_* (Erigon, reth, Nethermind).",
        ]
      : []),
  ];
}

function archive(usable: readonly Usable[]): string[] {
  const reaches = usable.map(({ found }) => found.reaches.state);
  const newest = reaches.flatMap((reach) => (reach.kind === "part" ? [reach.atMost] : []));
  if (newest.length < usable.length) return [];
  return [
    `no node has the state of blocks older than the newest ${Math.max(...newest)}: calls about older blocks are refused. Add an archive node if callers need them.`,
  ];
}

const push = (usable: readonly Usable[]): string[] =>
  usable.some(({ url }) => /^(wss?|ipc):/i.test(url))
    ? []
    : [
        "the gateway polls for new blocks, since it reaches no node over WebSocket or IPC. Use the wss:// URL of a node, so that new blocks are pushed.",
      ];

function others(usable: readonly Usable[]): string[] {
  const [only] = usable;
  if (usable.length === 1)
    return [
      `${only?.name} is the only node in use: when it fails, so does the network. Add a second node.`,
    ];
  const vendors = new Set(usable.map(({ vendor }) => vendor));
  return vendors.size > 1
    ? []
    : [
        `all nodes are of the vendor ${only?.vendor}: when it fails, so does the network. Add a node of another vendor, or of your own.`,
      ];
}
