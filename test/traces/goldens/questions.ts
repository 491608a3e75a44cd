// Calls about a transaction or a block whose traces are known, with OpenEthereum's answers.
import { hex } from "./chain.ts";
import type { Entry, Golden, Json, Mode, TracePosition } from "./golden.ts";

export type Origin = {
  readonly source: string;
  readonly mode: Mode;
  readonly world: string;
  /** The name of the vector. */
  readonly name: string;
};

export type Known = {
  readonly hash: string;
  readonly position: TracePosition;
  readonly traces: readonly Entry[];
  /** The output, where it was recorded. */
  readonly output?: string | undefined;
};

type Question = Pick<Golden, "method" | "params" | "want">;

const from = ({ source, mode, world, name }: Origin, questions: readonly Question[]): Golden[] =>
  questions.map((question) => {
    const asked = `${question.method} ${JSON.stringify(question.params)}`;
    return { source, mode, world, name: `${world}: ${name}: ${asked}`, ...question };
  });

/** A path that no recorded transaction has. */
const NOWHERE = ["0x7", "0x7"];

export const aboutTransaction = (origin: Origin, known: Known): readonly Golden[] => [
  ...aboutPositionedTraces(origin, known),
  ...aboutReplay(origin, known.hash, { output: known.output, trace: known.traces }),
];

/** trace_transaction, and trace_get with every path. */
export function aboutPositionedTraces(
  origin: Origin,
  { hash, position, traces }: Known,
): readonly Golden[] {
  const placed = traces.map((trace) => ({ ...bareTrace(trace), ...position }));
  const positions = placed.map((want) => ({ path: want.traceAddress.map(hex), want }));
  return from(origin, [
    { method: "trace_transaction", params: [hash], want: placed },
    ...[...positions, { path: NOWHERE, want: null }].map(({ path, want }) => ({
      method: "trace_get",
      params: [hash, path],
      want,
    })),
  ]);
}

export type Parts = {
  readonly output?: string | undefined;
  readonly trace?: readonly Entry[];
  readonly stateDiff?: unknown;
  readonly vmTrace?: unknown;
};

export const aboutReplay = (origin: Origin, hash: string, parts: Parts): readonly Golden[] =>
  parts.output === undefined
    ? []
    : from(origin, [
        {
          method: "trace_replayTransaction",
          params: [hash, typesOf(parts)],
          want: replayOf(parts),
        },
      ]);

export const aboutBlock = (
  origin: Origin,
  block: string,
  replays: readonly (Parts & { readonly hash: string })[],
): readonly Golden[] =>
  from(origin, [
    {
      method: "trace_replayBlockTransactions",
      params: [block, replays[0] ? typesOf(replays[0]) : ["trace"]],
      want: replays.map((one) => ({ ...replayOf(one), transactionHash: one.hash })),
    },
  ]);

/** A call with exactly the recorded answer. */
export const recorded = (origin: Origin, question: Question): readonly Golden[] =>
  from(origin, [question]);

const typesOf = (parts: Parts): readonly string[] =>
  ["trace", "vmTrace", "stateDiff"].filter((type) => type in parts);

/** docs/traces.md: the parts that the call does not ask for are null, or an empty list of traces. */
const replayOf = ({ output, trace = [], stateDiff = null, vmTrace = null }: Parts): Json => ({
  ...{ output, stateDiff, trace: trace.map(bareTrace), vmTrace },
});

/** A trace as a replay has it, without its position. */
const bareTrace = (trace: Entry): Entry => {
  const { blockHash, blockNumber, transactionHash, transactionPosition, ...rest } = trace;
  return rest;
};
