// Answers that one node alone is not believed in: it may lag behind the others.
import type { CallOptions } from "../upstream/asking/call-options.ts";
import type { Reply } from "../upstream/reply.ts";
import { isNull, isUnknownSaying } from "./block-lookup.ts";

/** Null, or words that say the same: the next node is asked, and when all agree it is so. */
export const MAY_LAG: CallOptions = {
  isDoubtful: (reply: Reply) =>
    (reply.kind === "result" && isNull(reply.json)) ||
    (reply.kind === "refused" && isUnknownSaying(reply)),
};
