// What calls cost in compute units, where the operator wants other prices than those of the catalogue.
import { z } from "zod";
import { amount } from "./units.ts";

const methodOrPattern = /^[A-Za-z0-9_.*]+$/;

/** By method or pattern; a name goes before patterns, and the longest pattern before shorter ones. */
export const costs = z.record(z.string(), amount(0)).superRefine((value, context) => {
  for (const name of Object.keys(value).filter((each) => !methodOrPattern.test(each))) {
    const message =
      "a method or a pattern such as trace_*, of letters, digits, _, . and *, is needed here";
    context.addIssue({ code: "custom", message, path: [name] });
  }
});
