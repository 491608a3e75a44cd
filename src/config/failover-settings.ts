// How calls are spread over the nodes of a network: the second try of slow ones, and what several must
// agree on.
import { z } from "zod";
import { besideOtherMistakes } from "./mapping.ts";
import { amount, duration, wholeNumber } from "./units.ts";

export const hedging = z
  .strictObject({
    share: amount(0, 1)
      .prefault(0.1)
      .describe("At most so many calls, as a share of all, are given to a second node; 0: none."),
    least: duration.prefault("25ms").describe("A call waits for its node at least so long."),
    most: duration.prefault("2s").describe("And at most so long."),
  })
  .describe("A call that takes longer than the method's 95th percentile is asked of a second node.")
  .transform(({ share, least, most }) => ({ share, leastMs: least, mostMs: most }));

const pattern = /^[A-Za-z0-9_.*]+$/;

const rule = z
  .strictObject({
    ask: wholeNumber(2, 10).prefault(3).describe("How many nodes are asked, of different vendors."),
    agree: wholeNumber(2, 10).prefault(2).describe("How many of them must give the same answer."),
  })
  .refine(({ ask, agree }) => agree <= ask, { error: "cannot want more to agree than are asked" });

/** By method or pattern; the first that fits. */
export const agreement = z
  .record(z.string(), rule)
  .refine((rules) => Object.keys(rules).every((name) => pattern.test(name)), {
    error: "one of the names is no method and no pattern such as eth_*",
    ...besideOtherMistakes,
  })
  .describe(
    "Methods, or patterns, whose answers count when several vendors give the same, since nothing proves them.",
  );
