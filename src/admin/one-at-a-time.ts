// Reads of the bill, of the audit trail and of slow calls take long: each operator has one of them at a time.
import type { Next } from "hono";
import { Mutex } from "../lib/mutex.ts";
import type { AdminAppParts, AdminContext } from "./admin-parts.ts";
import { problems } from "./problem.ts";

/** The most reads of one operator that run or wait. */
const MOST_READS = 8;

/** A step that lets the reads of one operator, on all its routes together, come one after the other. */
export function oneAtATime({ metrics }: Pick<AdminAppParts, "metrics">) {
  // The names of operators come from the configuration.
  const byOperator = new Map<string, { readonly mutex: Mutex; reads: number }>();
  return async (context: AdminContext, next: Next): Promise<void> => {
    const { name } = context.get("operator");
    const own = byOperator.get(name) ?? { mutex: new Mutex(), reads: 0 };
    byOperator.set(name, own);
    if (own.reads >= MOST_READS) {
      metrics.adminRefused("reads");
      throw problems.tooManyReads(MOST_READS);
    }
    own.reads += 1;
    const leave = await own.mutex.enter();
    try {
      // The operator may have gone away while it waited.
      if (!context.req.raw.signal.aborted) await next();
    } finally {
      leave();
      own.reads -= 1;
    }
  };
}
