// The output of geth's flatCallTracer, made from its callTracer's as in eth/tracers/native/call_flat.go.
import { isPrecompile } from "../../../src/traces/frame.ts";
import type { Json } from "../goldens/golden.ts";

export type FlatConfig = {
  readonly includePrecompiles?: boolean;
  readonly convertParityErrors?: boolean;
};

export function flatOf(
  frame: Json,
  config: FlatConfig = {},
  traceAddress: readonly number[] = [],
): readonly Json[] {
  const calls = ((frame["calls"] ?? []) as readonly Json[]).filter(
    (call) => config.includePrecompiles || !isLeftOut(call),
  );
  const { error, output } = frame;
  const isReverted = error === "execution reverted";
  const own = {
    ...shown(frame),
    ...(error !== undefined && { error: config.convertParityErrors ? parityWords(error) : error }),
    ...{ subtraces: calls.length, traceAddress },
  };
  const result = { gasUsed: frame["gasUsed"], output: output ?? "0x" };
  const created = { address: frame["to"], code: output ?? "0x", gasUsed: frame["gasUsed"] };
  const told = own.type === "create" ? created : result;
  const hasResult = own.type !== "suicide" && (error === undefined || isReverted);
  const below = calls.flatMap((call, at) => flatOf(call, config, [...traceAddress, at]));
  return [{ ...own, ...(hasResult && { result: told }) }, ...below];
}

/** Precompiles are left out, whatever the value of the call. */
const isLeftOut = ({ type, to }: Json): boolean =>
  (type === "CALL" || type === "STATICCALL") && isPrecompile(to);

function shown({ type, from, to, gas, input, value = "0x0" }: Json) {
  if (type === "SELFDESTRUCT")
    return { type: "suicide", action: { address: from, balance: value, refundAddress: to } };
  if (type === "CREATE" || type === "CREATE2")
    return { type: "create", action: { from, gas, init: input, value } };
  const callType = String(type).toLowerCase();
  return { type: "call", action: { from, to, gas, value, callType, input } };
}

/** geth's parityErrorMapping and parityErrorMappingStartingWith: the first entry that fits. */
function parityWords(error: unknown): string {
  const text = String(error);
  return mapping[text] ?? starts.find(([start]) => text.startsWith(start))?.[1] ?? text;
}

const mapping: Readonly<Record<string, string>> = {
  "contract creation code storage out of gas": "Out of gas",
  "out of gas": "Out of gas",
  "gas uint64 overflow": "Out of gas",
  "max code size exceeded": "Out of gas",
  "invalid jump destination": "Bad jump destination",
  "execution reverted": "Reverted",
  "return data out of bounds": "Out of bounds",
  "stack limit reached 1024 (1023)": "Out of stack",
  "precompiled failed": "Built-in failed",
  "invalid input length": "Built-in failed",
};

const starts: readonly (readonly [string, string])[] = [
  ["out of gas:", "Out of gas"],
  ["invalid opcode:", "Bad instruction"],
  ["stack underflow", "Stack underflow"],
];
