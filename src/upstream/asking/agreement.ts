// Answers that nothing proves, asked of several vendors: what enough of them say counts. Pure.
import { parsed } from "../../jsonrpc/raw-json.ts";
import type { FinalReply } from "./call-options.ts";

export type AgreementRule = {
  /** How many nodes are asked, of different vendors. */
  readonly ask: number;
  /** How many of them must give the same answer. */
  readonly agree: number;
};

export type Vote = { readonly name: string; readonly reply: FinalReply };

export type Verdict =
  | { readonly kind: "agreed"; readonly reply: FinalReply; readonly dissenters: readonly string[] }
  | { readonly kind: "open" };

/** @param agree How many must give the same answer. */
export function verdictOf(votes: readonly Vote[], agree: number): Verdict {
  const groups = [...Map.groupBy(votes, ({ reply }) => sayingOf(reply)).values()].sort(
    (a, b) => b.length - a.length,
  );
  const [largest = []] = groups;
  const [first] = largest;
  if (first && largest.length >= agree) {
    const dissenters = votes.filter((vote) => !largest.includes(vote)).map(({ name }) => name);
    return { kind: "agreed", reply: first.reply, dissenters };
  }
  return { kind: "open" };
}

export const isSameSaying = (a: FinalReply, b: FinalReply): boolean => sayingOf(a) === sayingOf(b);

/** One of each vendor, in the given order. */
export function ofDifferentVendors<Node extends { readonly options: { readonly vendor: string } }>(
  nodes: readonly Node[],
): readonly Node[] {
  const byVendor = new Map<string, Node>();
  for (const node of nodes) {
    const { vendor } = node.options;
    if (!byVendor.has(vendor)) byVendor.set(vendor, node);
  }
  return [...byVendor.values()];
}

/** Equal for answers that say the same: spaces, the order of members and the words of a refusal aside. */
function sayingOf(reply: FinalReply): string {
  if (reply.kind === "result") return `= ${canonical(parsed(reply.json))}`;
  const error = parsed(reply.json) as { data?: unknown } | undefined;
  // Nodes word the same refusal differently; what a revert returned is the same.
  return `! ${reply.code} ${typeof error?.data === "string" ? error.data.toLowerCase() : ""}`;
}

function canonical(value: unknown): string {
  if (typeof value === "string") return JSON.stringify(value.toLowerCase());
  if (Array.isArray(value)) return `[${value.map(canonical).join()}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined";
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join()}}`;
}
