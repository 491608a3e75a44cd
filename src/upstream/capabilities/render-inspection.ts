// What was found out about a node, and what is remembered of it, as a person reads it.
import type { CapabilityRecord } from "./capability-record.ts";
import type { KnownReach } from "./history.ts";
import type { Inspection } from "./inspect.ts";

export function renderInspection(name: string, inspection: Inspection): string[] {
  switch (inspection.kind) {
    case "unusable":
      return [`✗ ${name}: ${inspection.reason}`];
    case "wrong chain":
      return [
        `✗ ${name}: is on chain ${inspection.chainId}, the configuration wants ${inspection.want}`,
      ];
    case "usable": {
      const { clientVersion, chainId, head, has, lacks, unclear, reaches } = inspection;
      const { state, history, traces } = reaches;
      return [
        `✓ ${name}: ${clientVersion}, chain ${chainId}, head ${head.number}, ${head.ageSeconds} s old`,
        `    has   ${has.join(", ") || "none of the methods asked for"}`,
        `    lacks ${lacks.join(", ") || "none of the methods asked for"}`,
        ...(unclear.length > 0 ? [`    no answer to ${unclear.join(", ")}`] : []),
        `    state of ${newest(state, head.number)}`,
        `    blocks and receipts of ${since(history)}`,
        ...(traces.kind === "unknown" ? [] : [`    traces of ${since(traces)}`]),
      ];
    }
  }
}

export type TakesBatches = "yes" | "no" | "nobody knows";

export const renderBatches = (takesBatches: TakesBatches): string =>
  `    batches: ${{ yes: "yes", no: "no, calls are sent each by itself", "nobody knows": "not known" }[takesBatches]}`;

/** What earlier runs learned from the answers to callers. */
export function renderMemory({ version, missing, widestLogs, batch }: CapabilityRecord): string[] {
  const names = missing.map(([method]) => method.replace(/[^\x20-\x7e]/g, "?"));
  const lacks =
    names.length > 0 ? `it lacked ${names.slice(-NAMED).join(", ")}` : "it lacked no method";
  const more = names.length > NAMED ? ` and ${names.length - NAMED} more` : "";
  return [
    `    remembered of ${version ?? "an unknown version"}: ${lacks}${more}`,
    ...(widestLogs ? [`    remembered: at most ${widestLogs} blocks in one log query`] : []),
    ...(batch ? [`    remembered: at most ${batch} calls in one request`] : []),
  ];
}

/** Callers may have invented some: no more than fit a line or two. */
const NAMED = 12;

/**
 * The most blocks whose states some node keeps before it drops older ones: Erigon and reth keep 100,000
 * and 10,064, Besu 512, geth and Nethermind 128. On a younger chain a node that drops states looks like
 * one that keeps them all.
 */
const LONGEST_PRUNING_WINDOW = 100_000;

/** A node that drops what is old: so many from the head on. */
function newest(reach: KnownReach, head: number): string {
  if (reach.kind === "all" && head < LONGEST_PRUNING_WINDOW)
    return `all ${head + 1} blocks so far: the chain is too young to show whether it drops old ones`;
  if (reach.kind !== "part") return whole(reach.kind);
  const { newest: least, atMost } = reach;
  if (least === 0) return `the newest ${atMost} blocks at most`;
  return least === atMost
    ? `the newest ${least} blocks`
    : `the newest ${least} blocks at least, ${atMost} at most`;
}

/** A node that began somewhere. */
function since(reach: KnownReach): string {
  if (reach.kind !== "part") return whole(reach.kind);
  const { since: first, notAt } = reach;
  return first === notAt + 1 ? `the blocks from ${first} on` : `no block before ${notAt + 1}`;
}

const whole = (kind: "all" | "unknown"): string =>
  kind === "all" ? "all blocks" : "old blocks: not known";
