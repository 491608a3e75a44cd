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
      hint="The compute units that calls were charged on each UTC day. The lower part of a bar is of calls for which no node was asked."
      textOf={textOf}
      partName="saved"
      bars={barsOf(bill, ({ computeUnits, savedComputeUnits }) => ({
        whole: computeUnits,
        part: Math.min(savedComputeUnits, computeUnits),
      }))}
    />
    <Bars
      title="Calls by day"
      hint="The calls of each UTC day. The lower part of a bar is of calls for which no node was asked."
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
        hint="The compute units that calls were charged in each of the last 48 hours. The last hour is not over."
        textOf={textOf}
        bars={barsBy(({ computeUnits }) => ({ whole: computeUnits }))}
      />
      <Bars
        title="Calls by hour"
        hint="The calls of each of the last 48 hours. The lower part of a bar is of calls that were answered with an error."
        textOf={textOf}
        partName="errors"
        partTone="bad"
        bars={barsBy(({ calls, errors }) => ({ whole: calls, part: errors }))}
      />
      <Bars
        title="Refused by hour"
        hint="The calls that the key's scope or limits refused in each of the last 48 hours."
        textOf={textOf}
        bars={barsBy(({ refused }) => ({ whole: refused }))}
      />
    </>
  );
}
