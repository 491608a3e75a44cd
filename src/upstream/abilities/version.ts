// Which version of which software a node says it is.
import { parsed } from "../../jsonrpc/parsed.ts";
import type { Reply } from "../reply.ts";
import { LONGEST_VERSION, UNKNOWN_VERSION } from "./ability-record.ts";

/** Told to people: nothing in it may act on a terminal, or be very long. */
export function versionIn(reply: Reply): string {
  const text = reply.kind === "result" ? parsed(reply.json) : undefined;
  if (typeof text !== "string" || text === "") return UNKNOWN_VERSION;
  return text.slice(0, LONGEST_VERSION).replace(/[^\x20-\x7e]/g, "?");
}
