// How keys are shown to a person at a terminal.
import { stringify } from "yaml";
import type { KeyView } from "../access/keys/key-view.ts";

const HEADER = ["NAME", "STATUS", "SOURCE", "CREATED", "EXPIRES", "NETWORKS", "UNITS/S"];

/** A line each, in columns. */
export function keyTable(keys: readonly KeyView[]): string {
  const rows = keys.map(({ name, status, source, createdAt, settings }) => [
    name,
    status,
    source,
    createdAt?.slice(0, "2026-11-21T10:00".length) ?? "-",
    settings.expires?.slice(0, "2026-11-21T10:00".length) ?? "never",
    settings.networks?.join(",") ?? "all",
    settings.rate ? String(settings.rate.computeUnits) : "-",
  ]);
  return table([HEADER, ...rows]);
}

/** The last column is as wide as it is. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, at) =>
    Math.max(...rows.map((row) => (row[at] ?? "").length)),
  );
  return rows
    .map((row) =>
      row
        .map((cell, at) => cell.padEnd(widths[at] ?? 0))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}

/** As YAML, its settings as they would be written in the configuration. */
export const keySheet = (key: KeyView): string => stringify(key).trimEnd();

export const madeText = (name: string, text: string): string =>
  `The key ${name}. It is shown this once:\n\n  ${text}\n\nEvery gateway knows it within a second.`;
