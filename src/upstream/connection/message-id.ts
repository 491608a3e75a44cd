// Which call a node's message answers, found without parsing the message.
import { findMembers, textOf } from "../../jsonrpc/members.ts";

/** In bytes: enough for a version and an id. */
export const NEAR_THE_EDGE = 64;

const FIRST = /^\s*\{\s*("jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d+)\s*[,}]/;
/** A quote behind a comma or a brace opens a name: within a string it would be escaped. */
const LAST = /[{,]\s*"id"\s*:\s*(\d+)\s*(,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}$/;

/** undefined when it answers none; NaN when the id is none of ours. */
export function idOf(body: Buffer): number | undefined {
  // Most nodes write the id first; only for the others the whole message is searched.
  const early = idNearStart(body);
  if (early !== undefined) return early;
  const [span] = findMembers(body, ["id"]) ?? [];
  return span && Number(textOf(body, span));
}

export function idNearStart(body: Buffer): number | undefined {
  const id = FIRST.exec(body.toString("latin1", 0, NEAR_THE_EDGE))?.[2];
  return id === undefined ? undefined : Number(id);
}

/** @param body Ends where the message ends. */
export function idNearEnd(body: Buffer): number | undefined {
  const from = Math.max(0, body.length - NEAR_THE_EDGE);
  const id = LAST.exec(body.toString("latin1", from))?.[1];
  return id === undefined ? undefined : Number(id);
}
