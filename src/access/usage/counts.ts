// What is counted of one key's calls on one day, by network and method, and its text in the state.
import type { CounterTree } from "../../state/state.ts";

export type Counts = {
  /** Answered with a result or an error, and charged. Refused ones are not among them. */
  calls: number;
  computeUnits: number;
  /** Of the answers, before compression. */
  bytes: number;
  requestBytes: number;
  /** Of the calls, those that were answered with an error. */
  errors: number;
  /** Turned away by the key's scope or limits; they cost little. */
  refused: number;
  savedByStore: number;
  /** They shared the answer to an equal call. */
  savedByMerging: number;
  /** Computed here, where a node would have been asked otherwise. */
  savedHere: number;
  /** The compute units of all saved calls. */
  savedComputeUnits: number;
  /** How often nodes were asked for these calls, refused ones included. */
  upstreamCalls: number;
};

/** The order of the numbers in the text: new ones are appended, and missing ones are 0. */
export const FIELDS = [
  "calls",
  "computeUnits",
  "bytes",
  "requestBytes",
  "errors",
  "refused",
  "savedByStore",
  "savedByMerging",
  "savedHere",
  "savedComputeUnits",
  "upstreamCalls",
] as const satisfies readonly (keyof Counts)[];

/** By network, then by method. */
export type Totals = Map<string, Map<string, Counts>>;

export const noCounts = (): Counts => ({
  calls: 0,
  computeUnits: 0,
  bytes: 0,
  requestBytes: 0,
  errors: 0,
  refused: 0,
  savedByStore: 0,
  savedByMerging: 0,
  savedHere: 0,
  savedComputeUnits: 0,
  upstreamCalls: 0,
});

/** The counts of one network and method; made with the first call. */
export function countsIn(totals: Totals, network: string, method: string): Counts {
  return totals.get(network)?.get(method) ?? begin(totals, network, method);
}

function begin(totals: Totals, network: string, method: string): Counts {
  const methods = totals.get(network) ?? new Map<string, Counts>();
  const counts = noCounts();
  methods.set(method, counts);
  totals.set(network, methods);
  return counts;
}

export function addTotals(totals: Totals, other: Totals): void {
  for (const [network, methods] of other)
    for (const [method, counts] of methods) addCounts(countsIn(totals, network, method), counts);
}

export function addCounts(counts: Counts, other: Counts): void {
  for (const field of FIELDS) counts[field] += other[field];
}

/** `{"<network>":{"<method>":[…]}}`, as the state adds it up. */
export const treeOf = (totals: Totals): CounterTree =>
  Object.fromEntries(
    [...totals].map(([network, methods]) => [
      network,
      Object.fromEntries(
        [...methods].map(([method, counts]) => [method, FIELDS.map((field) => counts[field])]),
      ),
    ]),
  );

export function totalsOfText(text: string): Totals {
  const totals: Totals = new Map();
  const parsed: Readonly<Record<string, Readonly<Record<string, readonly number[]>>>> =
    JSON.parse(text);
  for (const [network, methods] of Object.entries(parsed))
    for (const [method, numbers] of Object.entries(methods)) {
      const counts = countsIn(totals, network, method);
      for (const [index, field] of FIELDS.entries()) counts[field] = numbers[index] ?? 0;
    }
  return totals;
}
