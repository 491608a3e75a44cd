// The results of the scenarios as a Markdown table: printed, and kept in docs/resilience.md.
import { readFile, writeFile } from "node:fs/promises";
import type { Outcome } from "./scenario.ts";

const HEADS = [
  "the first node",
  "chain",
  "wrong",
  "errors",
  "p99 healthy",
  "p99 broken",
  "calls at nodes, healthy",
  "broken",
  "back after",
];

export function outcomesTable(outcomes: readonly Outcome[]): string {
  const rows = outcomes.map(({ scenario, healthy, broken, amplification, recoveredMs }) => [
    scenario.name,
    scenario.isFollowed ? "followed" : "passed on",
    `${broken.wrong} of ${broken.requests}`,
    `${broken.errors}`,
    milliseconds(healthy.p99Ms),
    milliseconds(broken.p99Ms),
    amplification.healthy.toFixed(2),
    amplification.broken.toFixed(2),
    recoveredMs === undefined ? "not" : `${(Math.max(0, recoveredMs) / 1000).toFixed(1)} s`,
  ]);
  return [HEADS, HEADS.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
}

const milliseconds = (ms: number): string => `${Math.round(ms)} ms`;

const DOCUMENT = new URL("../../docs/resilience.md", import.meta.url);
const [BEGIN, END] = ["<!-- faults:begin -->", "<!-- faults:end -->"];

/** Replaces the table in docs/resilience.md. */
export async function writeTable(table: string): Promise<void> {
  const text = await readFile(DOCUMENT, "utf8");
  const [before, rest = ""] = text.split(BEGIN);
  const [, after] = rest.split(END);
  if (after === undefined) throw new Error(`docs/resilience.md has no ${BEGIN} … ${END}`);
  await writeFile(DOCUMENT, `${before}${BEGIN}\n\n${table}\n\n${END}${after}`);
}
