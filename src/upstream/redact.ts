// Removes the secrets of an upstream's address and headers from the replies that callers see.
import type { Secrets } from "../lib/secrets.ts";
import type { MethodTraits } from "../namespaces/known-method.ts";
import { hasOwnWords, type Reply } from "./reply.ts";

/** The reply with `***` for each secret, where the reply may contain the node's own words (`hasOwnWords`). */
export function withoutSecrets(
  reply: Reply,
  method: Pick<MethodTraits, "isOfChain">,
  secrets: Secrets,
): Reply {
  if (secrets.isEmpty || !hasOwnWords(reply, method)) return reply;
  if (reply.kind === "refused") return refusalWithout(reply, secrets);
  const clean = secrets.redactJson(reply.json.toString(), ERROR_MEMBERS);
  if (clean === "unreadable") return { kind: "failed", reason: "malformed answer" };
  return clean === "unchanged" ? reply : { ...reply, json: Buffer.from(clean) };
}

function refusalWithout(reply: Extract<Reply, { kind: "refused" }>, secrets: Secrets): Reply {
  const json = secrets.redactJson(reply.json, ERROR_MEMBERS);
  if (json === "unchanged") return reply;
  const message = secrets.redact(reply.message);
  if (json !== "unreadable") return { ...reply, message, json };
  return { ...reply, message, json: JSON.stringify({ code: reply.code, message }) };
}

/** The members of a JSON-RPC error keep their names, even where a secret is the same. */
const ERROR_MEMBERS = new Set(["code", "message", "data"]);
