// What calls would cost at a provider, and how long usage is kept.
import { z } from "zod";
import { besideOtherMistakes } from "./mapping.ts";
import { amount, textOf, wholeNumber } from "./units.ts";

const pattern = /^[A-Za-z0-9_.*]+$/;

/** By method or pattern. */
const methodPrices = z
  .record(z.string(), amount(0))
  .refine((byName) => Object.keys(byName).every((name) => pattern.test(name)), {
    error: "one of the names is no method and no pattern such as trace_*",
    ...besideOtherMistakes,
  });

export const prices = z.strictObject({
  currency: textOf(/^[A-Z]{3,5}$/, "a currency such as USD")
    .prefault("USD")
    .describe("The currency of the prices: 3 to 5 capital letters, shown as they are."),
  computeUnits: amount(0)
    .prefault(0)
    .describe("The price of a million compute units, for methods without a price of their own."),
  methods: methodPrices
    .prefault({})
    .describe(
      "The price of a million calls, by method or pattern; a method wins over patterns, of these the longest.",
    ),
});

export const usage = z.strictObject({
  keptDays: wholeNumber(1, 4000)
    .prefault(400)
    .describe("How many days of what each key did are kept."),
});
