// Usage as charts with a bar for each day or hour.
import type { BillAnswer, UsageHoursAnswer } from "../../src/admin/schemas.ts";
import { Bars } from "../components/bars.tsx";
import { hourText, wholeText } from "../lib/format.ts";
import { barsOf, savedCalls } from "./bill-figures.ts";

const textOf = (value: number): string => wholeText(value);

/** Two charts by UTC day: charged compute units, and calls. */
export const DayBars = ({ bill }: { readonly bill: BillAnswer }) => (
  <>
    <Bars
      title="Compute units by day"
      hint="What calls were charged on each UTC day; the lower part is of calls for which no node was asked."
      textOf={textOf}
      partName="saved"
      bars={barsOf(bill, ({ computeUnits, savedComputeUnits }) => ({
        whole: computeUnits,
        part: Math.min(savedComputeUnits, computeUnits),
      }))}
    />
    <Bars
      title="Calls by day"
      hint="Calls of each UTC day; the lower part is of those for which no node was asked."
      textOf={textOf}
      partName="saved"
      bars={barsOf(bill, (sum) => ({ whole: sum.calls, part: savedCalls(sum) }))}
    />
  </>
);

/** Three charts by hour, in the reader's zone: compute units, calls, refused calls. */
export function HourBars({ hours }: UsageHoursAnswer) {
  const barsBy = (figure: (hour: (typeof hours)[number]) => { whole: number; part?: number }) =>
    hours.map((hour) => ({ name: hourText(hour.at), ...figure(hour) }));
  return (
    <>
      <Bars
        title="Compute units by hour"
        hint="What calls were charged in each of the last 48 hours; the last one is not over."
        textOf={textOf}
        bars={barsBy(({ computeUnits }) => ({ whole: computeUnits }))}
      />
      <Bars
        title="Calls by hour"
        hint="Calls of each of the last 48 hours; the lower part is of those that were answered with an error."
        textOf={textOf}
        partName="errors"
        partTone="bad"
        bars={barsBy(({ calls, errors }) => ({ whole: calls, part: errors }))}
      />
      <Bars
        title="Refused by hour"
        hint="What the key's scope or limits turned away in each of the last 48 hours."
        textOf={textOf}
        bars={barsBy(({ refused }) => ({ whole: refused }))}
      />
    </>
  );
}
