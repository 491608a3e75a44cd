// The trace list from what geth's callTracer gives: frames inside of frames.
import { isAbsent, isJson, type Json } from "../proofs/json.ts";
import { type Trace, type TreeOptions, tracesOfFrames } from "./call-tree.ts";
import type { Frame } from "./frame.ts";

/** The EVM allows 1024 calls inside of each other; a self-destruct or a call too many stands below. */
const MAX_DEPTH = 1026;

/** Undefined when it is no frame that a callTracer gives. */
export function tracesOfCallFrame(
  frame: unknown,
  options: TreeOptions = {},
): readonly Trace[] | undefined {
  const frames = flatten(frame);
  return frames && tracesOfFrames(frames, options);
}

/** In the order they began; on a stack of its own, for frames nest deeper than functions may. */
function flatten(top: unknown): readonly Frame[] | undefined {
  const frames: Frame[] = [];
  const waiting: { told: unknown; depth: number }[] = [{ told: top, depth: 0 }];
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { told, depth } = next;
    if (!isJson(told) || depth > MAX_DEPTH) return undefined;
    const calls = isAbsent(told["calls"]) ? [] : told["calls"];
    if (!Array.isArray(calls)) return undefined;
    frames.push(frameOf(told, depth));
    for (const call of calls.toReversed()) waiting.push({ told: call, depth: depth + 1 });
  }
  return frames;
}

function frameOf(told: Json, depth: number): Frame {
  const { from, value, gas, input, gasUsed, output, error } = told;
  const type = typeof told["type"] === "string" ? told["type"].toLowerCase() : "";
  const kind = kinds[type] ?? type;
  // Of a contract that leaves its balance to itself, anvil and reth do not tell to whom.
  const to = told["to"] ?? (kind === "suicide" ? from : undefined);
  const frame = { depth, kind, from, to, value, gas, input, gasUsed, output, error };
  return kind === "create" ? { ...frame, creationMethod: type } : frame;
}

const kinds: Readonly<Record<string, string>> = { create2: "create", selfdestruct: "suicide" };
