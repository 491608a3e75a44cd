// What a node tells of its head and of pending transactions, by itself or when asked.
import { parsed } from "../jsonrpc/raw-json.ts";
import type { MethodTraits } from "../namespaces/known-method.ts";

export type AnnouncedHead = { readonly number: number; readonly hash: string };

/** Where a node's head is; its hash where that is known. */
export type NodeHead = { readonly number: number; readonly hash: string | undefined };

export const NEW_HEADS = '["newHeads"]';
export const NEW_PENDING = '["newPendingTransactions"]';

/** The name under which a node is remembered to lack this subscription, not all of them. */
export const subscribing = (paramsJson: string): string => `eth_subscribe ${paramsJson}`;

/** What is announced may be anything. */
export function headIn(event: Buffer): AnnouncedHead | undefined {
  const header = parsed(event) as { number?: unknown; hash?: unknown } | null | undefined;
  const { number, hash } = header ?? {};
  if (typeof number !== "string" || !/^0x[0-9a-f]{1,13}$/i.test(number)) return undefined;
  if (!isHash(hash)) return undefined;
  return { number: Number(number), hash: hash.toLowerCase() };
}

/** The head that a node tells in an answer; undefined when the answer is about something else. */
export function headInReply(
  { tellsHead }: Pick<MethodTraits, "tellsHead">,
  paramsJson: string,
  json: Buffer,
): number | undefined {
  const text = tellsHead?.(paramsJson) ? parsed(json) : undefined;
  return typeof text === "string" && /^0x[0-9a-f]{1,13}$/i.test(text) ? Number(text) : undefined;
}

export function hashIn(event: Buffer): string | undefined {
  const hash = parsed(event);
  return isHash(hash) ? hash.toLowerCase() : undefined;
}

const isHash = (value: unknown): value is string =>
  typeof value === "string" && /^0x[0-9a-f]{64}$/i.test(value);
