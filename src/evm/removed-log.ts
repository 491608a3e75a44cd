// How a log is told of that is no longer part of the chain.
import { findMembers } from "../jsonrpc/members.ts";

const TRUE = Buffer.from("true");
const REMOVED = Buffer.from(',"removed":true');

/** @param log As a node wrote it. @returns The same with `removed` true, where it was or at its end. */
export function asRemoved(log: Buffer): Buffer {
  const [removed] = findMembers(log, ["removed"]) ?? [];
  if (removed)
    return Buffer.concat([log.subarray(0, removed.start), TRUE, log.subarray(removed.end)]);
  const end = log.lastIndexOf("}");
  return Buffer.concat([log.subarray(0, end), REMOVED, log.subarray(end)]);
}
