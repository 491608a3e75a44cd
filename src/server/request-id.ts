// Names for requests, so that a caller's complaint finds its line in the log.
import { randomBytes } from "node:crypto";

/** Ids that are unique across processes and cheap to make: a random start and a counter. */
export function requestIds(): () => string {
  const start = randomBytes(6).toString("hex");
  let count = 0;
  return () => {
    count += 1;
    return `${start}-${count.toString(36)}`;
  };
}
