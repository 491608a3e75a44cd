// How the operation ended after which its frame has no other. Most nodes do not tell: geth writes an
// error only for what it refuses to begin.
import { isHalt, isJump, type Operation } from "./opcodes.ts";
import type { Step } from "./struct-logs.ts";

/**
 * "unbegun" are operations that OpenEthereum never writes down: those that it does not know, and those
 * for which the stack is too short or too full.
 */
export type OperationEnding = "done" | "failed" | "unbegun";

export function endingOf(
  step: Step,
  operation: Operation | undefined,
  frame: { readonly isStatic: boolean },
): OperationEnding {
  const { error, gas, cost } = step;
  if (!operation || isStackWrong(step, operation) || UNBEGUN.test(error)) return "unbegun";
  if (cost === Number.POSITIVE_INFINITY) return "unbegun";
  if (cost > gas) return "failed";
  // OpenEthereum looks for the destination only after it wrote the jump down.
  if (isJump(operation)) return error === "" || /jump/i.test(error) ? "done" : "failed";
  if (operation.name === "REVERT") return error === "" || /revert/i.test(error) ? "done" : "failed";
  if (error !== "") return "failed";
  if (operation.name === "SELFDESTRUCT") return frame.isStatic ? "failed" : "done";
  if (isHalt(operation)) return "done";
  // Nothing else is for free: the node knows its name, but not yet at this block.
  return cost === 0 ? "unbegun" : "failed";
}

/** In the words of geth, revm, Nethermind and Besu. */
const UNBEGUN =
  /stack ?(under|over)flow|stack limit|insufficient.?stack|too.?many.?stack|invalid.?op|opcode.?not.?found|not.?activated|undefined.?instruction|bad.?instruction|gas uint64 overflow/i;

const STACK_LIMIT = 1024;

const isStackWrong = ({ stack }: Step, { takes, gives }: Operation): boolean =>
  stack.length < takes || stack.length - takes + gives > STACK_LIMIT;
