// Deviations of the gateway's answers from the recorded ones, with their reasons: docs/traces.md. They change the
// expected answer in this order.
import { isDeepStrictEqual } from "node:util";
import type { Entry, Golden, Json } from "./golden.ts";
import { eachTop, eachTrace, withGasUsed, withoutRewards } from "./trace-changes.ts";

export type Deviation = {
  readonly why: string;
  /** Matches the names of the goldens. */
  readonly names: RegExp;
  /** The number of goldens that it changes. */
  readonly count: number;
  /** The expected answer instead; the same where this golden does not deviate. */
  readonly instead: (want: unknown, golden: Golden) => unknown;
};

export const deviations: readonly Deviation[] = [
  {
    why: "a reward is told by nodes that have trace_block only",
    names:
      /^(besu-(block-)?tracers|besu-replay-block|erigon-replay-block|etl-tree-\S+): .*trace_block /,
    count: 33,
    instead: withoutRewards,
  },
  {
    why: "a tracer's gasUsed is what the sender paid: refunds are off it, and these nodes have no tracer in JavaScript",
    names: /^(geth-(blocks|transactions)\S*|geth-flat-63|samples-flat-63): /,
    count: 29,
    instead: (want, { world }) => eachTop(want, (top) => withGasUsed(top, paidIn(world))),
  },
  {
    why: "a tracer's gasUsed is what the sender paid: the floor of EIP-7623, where it is more",
    names: /^geth-(blocks|transactions)\S*: block [47]: /,
    count: 36,
    instead: (want) =>
      eachTop(want, (top) => withGasUsed(top, { "0x1404": "0x336", "0x1b": "0xe4" })),
  },
  {
    why: "a geth of 2019 did not count in what is paid before the first instruction, and it is taken off all the same",
    names: /^etl-tree-\S+: /,
    count: 10,
    instead: (want) => eachTop(want, (top) => withGasUsed(top, { "0x27377": "0x1c297" })),
  },
  {
    why: "how it was created is told, which the OpenEthereum of that time did not yet",
    names: /^etl-tree-\S+: /,
    count: 10,
    instead: (want) =>
      eachTrace(want, (trace) =>
        trace.type === "create"
          ? { ...trace, action: { ...trace.action, creationMethod: "create" } }
          : trace,
      ),
  },
  {
    why: "geth tells of a call for which there is no balance; OpenEthereum never begins it",
    names: /^samples-flat-3: trace_flat-18: /,
    count: 4,
    instead: withoutTheCall,
  },
  {
    why: "geth tells of a create for which there is no balance; OpenEthereum never begins it",
    names: /^samples-flat-63: trace_flat-10: /,
    count: 5,
    instead: withoutTheCreate,
  },
];

/** The gas that the tracers tell, by the gas that OpenEthereum tells. */
const paidIn = (world: string): Readonly<Record<string, string>> =>
  Object.entries(paid).find(([name]) => world.startsWith(name))?.[1] ?? {};

const paid: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "geth-flat": { "0x15db": "0x0" },
  geth: { "0x1c38": "0x978" },
  samples: { "0x15db": "0x0", "0x909d": "0x32dd" },
};

function withoutTheCall(want: unknown, { method, params }: Golden): unknown {
  if (method === "trace_get" && String(params[1]) === "0x0") return null;
  const alone = eachTop(want, (top) => ({ ...top, subtraces: 0 }));
  if (Array.isArray(alone)) return alone.slice(0, 1);
  const { trace } = Object(alone) as { trace?: readonly Entry[] };
  return trace ? { ...(alone as Json), trace: trace.slice(0, 1) } : alone;
}

function withoutTheCreate(want: unknown, { method, params }: Golden): unknown {
  if (method === "trace_get" && String(params[1]) === "0x1") return null;
  if (method === "trace_get" && String(params[1]) === "0x0")
    return { ...(want as Entry), ...SUICIDE };
  const alone = eachTop(want, (top) => ({ ...top, subtraces: 1 }));
  if (Array.isArray(alone)) return suicideFirst(alone);
  const { trace } = Object(alone) as { trace?: readonly Entry[] };
  return trace ? { ...(alone as Json), trace: suicideFirst(trace) } : alone;
}

/** Replaces the create. */
const SUICIDE = {
  action: {
    address: "0x1d99a1a3efa9181f540f9e24fa6e4e08eb7844ca",
    balance: "0x0",
    refundAddress: "0x0000000000000000000000000000000000000000",
  },
  ...{ error: undefined, result: null, subtraces: 0, type: "suicide" },
};

const suicideFirst = ([top, , suicide]: readonly Entry[]): unknown => [
  top,
  { ...suicide, traceAddress: [0] },
];

/** The expected answer of the gateway, and the deviations that changed it. */
export function expectedOf(golden: Golden): { value: unknown; deviating: readonly Deviation[] } {
  let value = golden.want;
  const deviating = deviations.filter(({ names, instead }) => {
    if (!names.test(golden.name)) return false;
    const before = value;
    value = instead(value, golden);
    return !isDeepStrictEqual(value, before);
  });
  return { value, deviating };
}
