// OpenEthereum's output for an operation, where the steps of ethereumjs do not tell it.
import type { Frame, Step } from "./frames.ts";

/** ethcore's interpreter writes nothing of an operation that it cannot begin, because it has not counted its gas. */
export function isUnbegun(step: Step, at: number, { error, steps }: Frame): boolean {
  if (at < steps.length - 1 || error === undefined) return false;
  return unbegun.has(error) || (error === "out of gas" && isBeyondCounting(step));
}

const unbegun: ReadonlySet<string> = new Set([
  "invalid opcode",
  "stack underflow",
  "stack overflow",
]);

/** Whether the end of the memory does not fit into 64 bits. */
const isBeyondCounting = ({ name, stack }: Step): boolean =>
  name === "MSTORE" && (stack.at(-1) ?? 0n) >= 2n ** 64n;

/** Whether OpenEthereum writes the last operation of a frame as completed. */
export function isWrittenAsDone({ error, steps }: Frame): boolean {
  const name = steps.at(-1)?.name;
  if (error === undefined || name === "RETURN" || name === "STOP") return true;
  if (error === "revert") return true;
  // ethcore checks the destination after it has written the operation.
  return error === "invalid JUMP";
}

/** The cost with the gas that the operation passes on (EIP-150), without the stipend. */
export function expectedCost({ name, gas, cost, stack }: Step): bigint {
  if (!/^(CALL|CALLCODE|DELEGATECALL|STATICCALL|CREATE2?)$/.test(name)) return cost;
  const most = gas - cost - (gas - cost) / 64n;
  const asked = name.startsWith("CREATE") ? most : (stack.at(-1) ?? 0n);
  return cost + (asked < most ? asked : most);
}

export function pushCount(name: string): number {
  const reach = Number(/^(?:DUP|SWAP)(\d+)$/.exec(name)?.[1] ?? 0);
  if (reach > 0) return reach + 1; // ethcore writes all items that these operations touch
  return givingNothing.test(name) ? 0 : 1;
}

const givingNothing =
  /^(STOP|JUMPDEST|POP|JUMPI?|SELFDESTRUCT|RETURN|REVERT|[MST]STORE|MSTORE8|LOG\d|\w*COPY)$/;
