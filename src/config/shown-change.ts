// How a changed setting is told: under the name that the file has for it, and never with a secret.
import { type Path, pathText } from "./path.ts";

/** Texts that are shown. Whatever is not named here may be a secret: then only that it changed is told. */
const SHOWN = new Set(
  "level family proof pending vendor hosts allow deny networks methods origins addresses contracts host data totalDifficulty name trustedProxies forwardedHeader currency".split(
    " ",
  ),
);
/** Settings with another name inside than in the file. */
const WRITTEN: Readonly<Record<string, string>> = {
  computeUnitsPerSecond: "computeUnits",
  burstComputeUnits: "burst",
  responseBytes: "response",
  bodyBytes: "body",
  memoryBytes: "memory",
  batchResponseBytes: "batchResponse",
  bytesPerSecond: "atLeast",
  expiresAtMs: "expires",
  isPrivate: "private",
};

/** A path as the file has it. */
export const writtenPath = (path: Path): string =>
  // The names of headers are whatever is written there.
  pathText((path.at(-2) === "headers" ? path.slice(0, -1) : path).map(writtenName));

const writtenName = (part: PropertyKey): PropertyKey =>
  typeof part === "string" ? (WRITTEN[part] ?? part.replace(/(?<=[a-z])Ms$/, "")) : part;

/** `100 → 200`, or `changed` where the value may be a secret. */
export function shownChange(path: Path, before: unknown, after: unknown): string {
  const [from, to] = [shown(path, before), shown(path, after)];
  return from === undefined || to === undefined ? "changed" : `${from} → ${to}`;
}

/** undefined: a secret. */
function shown(path: Path, value: unknown): string | undefined {
  if (value === undefined) return "none";
  if (typeof value === "boolean") return String(value);
  const name = String(path.at(-1));
  if (typeof value === "number")
    return name.endsWith("AtMs") ? iso(value) : shownNumber(name, value);
  // By the last name alone: networks are called what their owners like.
  if (!SHOWN.has(name) || path.at(-2) === "headers") return undefined;
  if (typeof value === "string") return value;
  const isTexts = Array.isArray(value) && value.every((each) => typeof each === "string");
  return isTexts ? `[${value.join(", ")}]` : undefined;
}

const shownNumber = (name: string, value: number): string =>
  value === Number.POSITIVE_INFINITY ? "off" : name.endsWith("Ms") ? `${value}ms` : String(value);

// biome-ignore lint/style/noRestrictedGlobals: this writes a time, it does not read the clock.
const iso = (wallTimeMs: number): string => new Date(wallTimeMs).toISOString();
