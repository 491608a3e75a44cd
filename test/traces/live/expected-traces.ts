// OpenEthereum's `trace` list, made from the frames of ethereumjs.
import type { Frame } from "./frames.ts";

export type ExpectedTrace = {
  readonly action: Readonly<Record<string, string>>;
  readonly error?: string;
  readonly result?: Readonly<Record<string, string>> | null;
  readonly subtraces: number;
  readonly traceAddress: readonly number[];
  readonly type: "call" | "create" | "suicide";
};

export function expectedTraces(
  frame: Frame,
  traceAddress: readonly number[] = [],
): readonly ExpectedTrace[] {
  const children = frame.children.map((child) => child.frame).filter(isTraced);
  const below = children.flatMap((child, at) => expectedTraces(child, [...traceAddress, at]));
  const end = suicideOf(frame, [...traceAddress, children.length]);
  const subtraces = children.length + end.length;
  return [{ ...described(frame), subtraces, traceAddress }, ...below, ...end];
}

/** ethcore's prepare_trace_call: "Don't trace builtin calls without value". */
const isTraced = ({ isPrecompile, kind, value }: Frame): boolean =>
  !isPrecompile || kind === "DELEGATECALL" || kind === "CALLCODE" || value > 0n;

type Described = Pick<ExpectedTrace, "action" | "error" | "result" | "type">;

function described(frame: Frame): Described {
  const { kind, from, to, input, output } = frame;
  const common = { from, gas: hex(frame.gas), value: hex(frame.value) };
  const gasUsed = hex(frame.gasUsed);
  const error = errorOf(frame);
  if (kind.startsWith("CREATE")) {
    const result = { address: to, code: output, gasUsed };
    return { action: { ...common, init: input }, ...(error ?? { result }), type: "create" };
  }
  const action = { ...common, callType: kind.toLowerCase(), input, to };
  return { action, ...(error ?? { result: { gasUsed, output } }), type: "call" };
}

function suicideOf({ selfDestruct }: Frame, traceAddress: readonly number[]): ExpectedTrace[] {
  if (!selfDestruct) return [];
  const { address, heir, balance } = selfDestruct;
  const action = { address, balance: hex(balance), refundAddress: heir };
  return [{ action, result: null, subtraces: 0, traceAddress, type: "suicide" }];
}

function errorOf({ error, isPrecompile, steps }: Frame): { error: string } | undefined {
  if (error === undefined) return undefined;
  // ethereumjs says "out of gas" here; EIP-211 says only that the halt is exceptional.
  if (steps.at(-1)?.name === "RETURNDATACOPY" && error === "out of gas")
    return { error: "Out of bounds" };
  if (isPrecompile && error !== "out of gas") return { error: "Built-in failed" };
  return { error: openEthereumWords[error] ?? error };
}

/** OpenEthereum's words by those of ethereumjs. */
const openEthereumWords: Readonly<Record<string, string>> = {
  "out of gas": "Out of gas",
  "code store out of gas": "Out of gas",
  "code size to deposit exceeds maximum code size": "Out of gas",
  "create collision": "Out of gas",
  "initcode exceeds max initcode size": "Out of gas",
  "stack underflow": "Stack underflow",
  "stack overflow": "Out of stack",
  "invalid JUMP": "Bad jump destination",
  "invalid opcode": "Bad instruction",
  "static state change": "Mutable Call In Static Context",
  "invalid bytecode deployed": "Invalid code",
  revert: "Reverted",
};

const hex = (value: bigint): string => `0x${value.toString(16)}`;

/** Only some nodes tell how a contract was created. */
export const withoutMethod = ({
  action: { creationMethod, ...action },
  ...trace
}: ExpectedTrace) => ({
  action,
  ...trace,
});
