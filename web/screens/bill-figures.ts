// The figures of a bill: sums in order, a bar for each day, money with its currency. Pure.
import type { BillAnswer } from "../../src/admin/schemas.ts";
import type { Bar } from "../components/bars.tsx";
import type { Column } from "../components/table.tsx";
import { daysBetween, NOTHING, shareText, wholeText } from "../lib/format.ts";

export type BillSum = BillAnswer["total"];
export type NamedSum = BillSum & { readonly name: string };

export const savedCalls = ({ savedByStore, savedByMerging, savedHere }: BillSum): number =>
  savedByStore + savedByMerging + savedHere;

/** An amount of money; a small amount has enough digits to differ from zero. */
export function costText(cost: number | undefined, currency: string | undefined): string {
  if (cost === undefined || currency === undefined) return NOTHING;
  const digits = cost >= 1 || cost === 0 ? 2 : Math.min(9, 1 - Math.floor(Math.log10(cost)));
  const amount = cost.toLocaleString(undefined, {
    minimumFractionDigits: 2,
    maximumFractionDigits: Math.max(2, digits),
  });
  return `${amount} ${currency}`;
}

/** The sums with the most compute units, and the number of the others. */
export function topOf(
  sums: Readonly<Record<string, BillSum>>,
  most: number,
): { readonly rows: readonly NamedSum[]; readonly leftOut: number } {
  const all = Object.entries(sums)
    .map(([name, sum]) => ({ ...sum, name }))
    .sort((one, other) => other.computeUnits - one.computeUnits || other.refused - one.refused);
  return { rows: all.slice(0, most), leftOut: Math.max(0, all.length - most) };
}

/** One bar for each day, also for days without usage. */
export function barsOf(
  { from, to, days }: Pick<BillAnswer, "from" | "to" | "days">,
  figure: (sum: BillSum) => Omit<Bar, "name">,
): readonly Bar[] {
  return daysBetween(from, to).map((name) => {
    const sum = Object.hasOwn(days, name) ? days[name] : undefined;
    return sum ? { name, ...figure(sum) } : { name, whole: 0 };
  });
}

export const sumColumns = (currency: string | undefined): readonly Column<NamedSum>[] => [
  {
    title: "Calls",
    hint: "Calls that were answered with a result or an error, and charged.",
    cell: ({ calls }) => wholeText(calls),
    isNumber: true,
  },
  {
    title: "Units",
    hint: "The compute units that calls were charged.",
    cell: ({ computeUnits }) => wholeText(computeUnits),
    isNumber: true,
  },
  {
    title: "Saved",
    hint: "The share of the calls for which no node was asked.",
    cell: (sum) => shareText(savedCalls(sum), sum.calls),
    isNumber: true,
  },
  {
    title: "Errors",
    hint: "Calls that were answered with an error.",
    cell: ({ errors }) => wholeText(errors),
    isNumber: true,
  },
  {
    title: "Refused",
    hint: "Calls that the scope or limits of their key refused.",
    cell: ({ refused }) => wholeText(refused),
    isNumber: true,
  },
  ...(currency === undefined
    ? []
    : ([
        {
          title: "Cost",
          hint: "The cost of the calls, by the configured prices.",
          cell: ({ cost }) => costText(cost, currency),
          isNumber: true,
        },
        {
          title: "Saved cost",
          hint: "The cost of the calls for which no node was asked, by the configured prices.",
          cell: ({ savedCost }) => costText(savedCost, currency),
          isNumber: true,
        },
      ] as const satisfies readonly Column<NamedSum>[])),
];

/** The reasons for refused calls of a key, with the setting behind each. */
export const REFUSALS = [
  { field: "refusedMethods", setting: "methods", text: "The key does not allow the method." },
  { field: "refusedWrites", setting: "readOnly", text: "The key is read-only." },
  { field: "refusedContracts", setting: "contracts", text: "The key is bound to other contracts." },
  { field: "refusedRate", setting: "rate", text: "The key exceeded its compute units per second." },
  {
    field: "refusedQuota",
    setting: "computeUnits",
    text: "The key used up its compute units of a day or month.",
  },
  {
    field: "refusedConcurrent",
    setting: "concurrentCalls",
    text: "Too many calls of the key ran at once.",
  },
  { field: "refusedNetworks", setting: "networks", text: "The key does not allow the network." },
  {
    field: "refusedOrigins",
    setting: "origins",
    text: "The key does not allow the page's origin.",
  },
  {
    field: "refusedAddresses",
    setting: "addresses",
    text: "The key does not allow the caller's address.",
  },
  { field: "refusedBatches", setting: "limits.batch", text: "The batch was too large." },
  {
    field: "refusedWebSockets",
    setting: "limits.webSocket",
    text: "The key had too many WebSockets or event streams, or messages over them.",
  },
  {
    field: "refusedAgain",
    setting: "limits.refusals",
    text: "Too many requests from the caller's address had been refused.",
  },
] as const satisfies readonly { field: keyof BillSum; setting: string; text: string }[];
