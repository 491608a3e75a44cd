// The output of geth's callTracer for a transaction, and OpenEthereum's traces of it, both made from the frames that
// ethereumjs entered.
import { gethError } from "../geth-words.ts";
import type { Frame } from "../live/frames.ts";
import { hex } from "./chain.ts";
import type { ExecutedTransaction } from "./executions.ts";
import type { Entry, Json } from "./golden.ts";

/** The callTracer's output: its top frame has the whole gas of the transaction, and the gas that the sender paid for. */
export function callFrame({
  top,
  transaction,
  gasUsed,
}: Pick<ExecutedTransaction, "top" | "transaction" | "gasUsed">): Json {
  const paid = { gas: hex(transaction.gasLimit), gasUsed: hex(gasUsed) };
  return { ...frameJson(top), ...paid };
}

function frameJson(frame: Frame): Json {
  const { kind: type, from, to, value, gas, gasUsed, input, output, error, children } = frame;
  const calls = [...children.map((child) => frameJson(child.frame)), ...endOf(frame)];
  return {
    ...{ from, gas: hex(gas), gasUsed: hex(gasUsed), to, input, type },
    ...(output !== "0x" && { output }),
    ...(error !== undefined && { error: gethError(frame) }),
    ...(calls.length > 0 && { calls }),
    ...(type !== "STATICCALL" && { value: hex(value) }),
  };
}

const endOf = ({ selfDestruct }: Frame): readonly Json[] =>
  selfDestruct
    ? [
        {
          ...{ type: "SELFDESTRUCT", from: selfDestruct.address, to: selfDestruct.heir },
          ...{ value: hex(selfDestruct.balance), gas: "0x0", gasUsed: "0x0", input: "0x" },
        },
      ]
    : [];

const openEthereumWords: Readonly<Record<string, string>> = {
  revert: "Reverted",
  "out of gas": "Out of gas",
};

/** OpenEthereum's traces, without precompiles that are called without value. */
export function openEthereumTraces(frame: Frame, traceAddress: readonly number[] = []): Entry[] {
  const children = frame.children.map((child) => child.frame).filter((child) => !isUntraced(child));
  const below = children.flatMap((child, at) => openEthereumTraces(child, [...traceAddress, at]));
  const end = suicideOf(frame, [...traceAddress, children.length]);
  const subtraces = children.length + end.length;
  return [{ ...traceOf(frame), subtraces, traceAddress }, ...below, ...end];
}

const isUntraced = ({ kind, value, isPrecompile }: Frame): boolean =>
  isPrecompile && value === 0n && (kind === "CALL" || kind === "STATICCALL");

function traceOf({ kind, from, to, value, gas, input, gasUsed, output, error }: Frame) {
  const isCreate = kind.startsWith("CREATE");
  const callType = kind.toLowerCase();
  const shown = { from, gas: hex(gas), value: hex(callType === "staticcall" ? 0n : value) };
  const used = { gasUsed: hex(gasUsed) };
  const result = isCreate ? { ...used, address: to, code: output } : { ...used, output };
  return {
    action: isCreate
      ? { ...shown, init: input, creationMethod: callType }
      : { ...shown, callType, input, to },
    ...(error === undefined ? { result } : { error: openEthereumWords[error] ?? error }),
    type: isCreate ? "create" : "call",
  };
}

const suicideOf = ({ selfDestruct }: Frame, traceAddress: readonly number[]): readonly Entry[] =>
  selfDestruct
    ? [
        {
          action: {
            ...{ address: selfDestruct.address, refundAddress: selfDestruct.heir },
            balance: hex(selfDestruct.balance),
          },
          ...{ result: null, subtraces: 0, traceAddress, type: "suicide" },
        },
      ]
    : [];
