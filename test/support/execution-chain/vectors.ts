// The recorded exchanges (`.io` files) that belong to the chain.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { vectorFolder } from "./execute.ts";

/** All exchange files, by their path in the folder; none where the folder is absent. */
export const vectorPaths = (): string[] =>
  existsSync(vectorFolder)
    ? readdirSync(vectorFolder, { recursive: true, encoding: "utf8" })
        .filter((path) => path.endsWith(".io"))
        .sort()
    : [];

export function readVector(path: string): {
  isSpecOnly: boolean;
  exchanges: { request: string; response: string }[];
} {
  const lines = readFileSync(`${vectorFolder}${path}`, "utf8").split("\n");
  const after = (mark: string): string[] =>
    lines.filter((line) => line.startsWith(mark)).map((line) => line.slice(mark.length).trim());
  const responses = after("<<");
  return {
    isSpecOnly: after("//").some((comment) => comment.startsWith("speconly:")),
    exchanges: after(">>").map((request, index) => ({ request, response: responses[index] ?? "" })),
  };
}

/** Names and types, without values. */
export function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (typeof value !== "object" || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shapeOf(one)]));
}
