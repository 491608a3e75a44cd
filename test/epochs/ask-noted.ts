// A call, with what the gateway's headers say of the answer.
import { type Envelope, post } from "../support/ask.ts";

export type NotedReply = Envelope & {
  readonly source: string | null;
  /** Number and hash. */
  readonly block: string | null;
  readonly isCut: boolean;
};

/** One call, with what the headers say of it. */
export async function askNoted(
  url: string,
  method: string,
  params: unknown[],
): Promise<NotedReply> {
  const response = await post(url, JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  const isCut = response.headers.get("x-headgate-truncated") === "true";
  const source = response.headers.get("x-headgate-source");
  const block = response.headers.get("x-headgate-block");
  return { ...((await response.json()) as Envelope), source, block, isCut };
}
