// Who is told how calls went.
import { z } from "zod";
import { duration, wholeNumber } from "./units.ts";

/** The slow and failed calls that operators can look at. */
export const tail = z
  .strictObject({
    calls: wholeNumber(0, 10_000)
      .prefault(0)
      .describe("How many of them are kept, in each process; 0: none."),
    slow: duration.prefault("1s").describe("From which time on a call is slow."),
  })
  .transform(({ calls, slow }) => ({ calls, slowMs: slow }));
